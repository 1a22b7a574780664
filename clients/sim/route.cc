// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/part_chain.h"
#include "clients/sim/random.h"
#include "clients/sim/road_clearing.h"
#include "clients/sim/scenes.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kTownSize_m = 300.0;
constexpr double kMotorwayLength_m = 1500.0;
constexpr double kGap_m = 80.0;     // of open land between two parts
constexpr int kTownPaths = 20;      // are tried; the longest is driven
constexpr double kBeyond_m = 60.0;  // of ground before the first and behind the last part

// The speeds at which the parts are driven as scenes of their own, and 50 km/h in between.
constexpr double kTownSpeed_mps = 8.0;
constexpr double kRoadSpeed_mps = 14.0;
constexpr double kGarageSpeed_mps = 4.0;

// From a junction to the lanes of the roads that meet there.
constexpr double kMotorwayClear_m = 30.0;
constexpr double kTunnelClear_m = 10.0;
constexpr double kGarageClear_m = 6.0;
// Straight ends of a motorway, and how much of its ground belongs to it there.
constexpr double kMotorwaySight_m = 30.0;
constexpr double kMotorwayVerge_m = 8.0;   // less than the half width of its road bed
constexpr double kRoadEnd_m = 1.0;         // of a road that is not cleared
constexpr double kGarageHeadroom_m = 2.0;  // of its entrance: under beams and pipes

constexpr double kHillBeside_m = 3.0;  // from the inner face of a tunnel's wall to the hill's foot
constexpr double kCover_m = 3.0;       // of the hill above the crown
constexpr double kPortalReach_m = 14.0;
constexpr double kPortalThickness_m = 0.6;
constexpr int kVaultSteps = 6;  // from the springing to the crown

// Streams of chance, one per concern.
enum Stream : uint64_t { kSeeds = 1, kPaths, kRoadside };

// Appends junctions up to `to` to the path, which passes none twice.
bool FindPath(const StreetNetwork& network, int to, Random& random, std::vector<bool>& passed,
              std::vector<int>& path) {
  const int from = path.back();
  if (from == to) return true;
  std::vector<std::pair<uint64_t, int>> choices;
  for (const int i : network.StreetsAt(from)) {
    const Street& street = network.streets()[static_cast<size_t>(i)];
    const uint64_t key = random.Next();
    choices.emplace_back(key, street.from == from ? street.to : street.from);
  }
  std::sort(choices.begin(), choices.end());
  for (const auto& choice : choices) {
    const int junction = choice.second;
    if (passed[static_cast<size_t>(junction)]) continue;
    passed[static_cast<size_t>(junction)] = true;
    path.push_back(junction);
    if (FindPath(network, to, random, passed, path)) return true;
    path.pop_back();
  }
  return false;
}

std::vector<int> WindingPath(const StreetNetwork& network, int from, int to, Random random) {
  std::vector<int> longest;
  for (int i = 0; i < kTownPaths; ++i) {
    std::vector<int> path = {from};
    std::vector<bool> passed(network.junctions().size(), false);
    passed[static_cast<size_t>(from)] = true;
    if (FindPath(network, to, random, passed, path) && path.size() > longest.size()) {
      longest = std::move(path);
    }
  }
  return longest;
}

// The junction in the middle of a town's western (-1) or eastern (1) border.
int BorderJunction(const StreetNetwork& network, double side) {
  constexpr double kBorderDepth_m = 13.0;  // over twice the 6 m by which junctions leave their line
  double outermost_m = 0.0;
  for (const Eigen::Vector2d& at : network.junctions()) {
    outermost_m = std::max(outermost_m, side * at.x());
  }
  int middle = 0;
  double least_m = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < network.junctions().size(); ++i) {
    const Eigen::Vector2d& at = network.junctions()[i];
    if (side * at.x() < outermost_m - kBorderDepth_m || std::abs(at.y()) >= least_m) continue;
    least_m = std::abs(at.y());
    middle = static_cast<int>(i);
  }
  return middle;
}

// The street between two junctions, in this direction.
Street StreetBetween(const StreetNetwork& network, int from, int to) {
  for (const int i : network.StreetsAt(from)) {
    Street street = network.streets()[static_cast<size_t>(i)];
    if (street.from == from && street.to == to) return street;
    if (street.from != to || street.to != from) continue;
    std::swap(street.parking[0], street.parking[1]);
    std::swap(street.from_elevation_m, street.to_elevation_m);
    return street;
  }
  return {};
}

// A wall around the mouth of a tunnel that leads to +x, the origin in its middle on the road.
void AddPortal(const Builder& portal, const PassageOptions& tunnel) {
  const double half = 0.5 * tunnel.width_m;
  const double springing = tunnel.height_m / 3.0;
  const double rise = tunnel.height_m - springing;
  const auto add = [&](double side, double in, double out, double low, double high) {
    portal.Box({-kPortalThickness_m, std::min(side * in, side * out), low},
               {0.05, std::max(side * in, side * out), high});
  };
  for (const double side : {-1.0, 1.0}) {
    add(side, half, half + kPortalReach_m, -1.0, tunnel.height_m + kCover_m);
    // In the corners between the vault and a rectangle, steps that close what the vault leaves.
    for (int i = 0; i < kVaultSteps; ++i) {
      const double from = 0.5 * M_PI * i / kVaultSteps;
      const double to = 0.5 * M_PI * (i + 1) / kVaultSteps;
      add(side, half * std::cos(to), half, springing + rise * std::sin(from),
          springing + rise * std::sin(to));
    }
    add(side, 0.0, half, tunnel.height_m, tunnel.height_m + kCover_m);
  }
}

class RouteWorldBuilder {
 public:
  explicit RouteWorldBuilder(const RouteOptions& options)
      : options_(options), seeds_(options.seed, kSeeds) {}

  absl::StatusOr<World> Build() && {
    VOXLOC_TRY(AddTown());
    VOXLOC_TRY(AddTunnel());
    VOXLOC_TRY(AddMotorway());
    VOXLOC_TRY(AddTown());
    VOXLOC_TRY(AddGarage());
    std::vector<Solid> solids;
    std::vector<SceneObject> objects;
    chain_.AppendContents(solids, objects);
    for (size_t i = 0; i + 1 < chain_.size(); ++i) AddRoadside(i, solids);
    ClearRoads(roads_, solids, objects);
    AddPortals(solids);
    // The middle of the chain is the world's.
    const Eigen::Vector2d middle(0.5 * (chain_.LowX(0) + chain_.HighX(chain_.size() - 1)),
                                 junctions_[junctions_.size() / 2].y());
    const Eigen::Vector3d moved(middle.x(), middle.y(), 0.0);
    for (Solid& solid : solids) solid.center -= moved;
    for (SceneObject& object : objects) object.frame.origin -= moved;
    Ground ground = chain_.MakeGround(middle, kBeyond_m);
    for (Eigen::Vector2d& junction : junctions_) junction -= middle;
    World world{StreetNetwork(std::move(junctions_), std::move(streets_)),
                Scene(std::move(ground), std::move(solids)), std::move(objects)};
    world.parts = std::move(parts_);
    return world;
  }

 private:
  void BeginPart(const char* name) { parts_.push_back({name, streets_.size()}); }

  // Goes on from the last junction to another, on a street like the one given.
  void DriveTo(const Eigen::Vector2d& junction, Street street, double limit_mps) {
    street.from = static_cast<int>(junctions_.size()) - 1;
    street.to = street.from + 1;
    street.one_way = true;
    street.speed_limit_mps = limit_mps;
    junctions_.push_back(junction);
    streets_.push_back(street);
  }
  void DriveAlong(const std::vector<int>& path, double limit_mps) {
    const size_t part = chain_.size() - 1;
    const StreetNetwork& network = chain_.world(part).streets;
    for (size_t i = 1; i < path.size(); ++i) {
      const Eigen::Vector2d& to = network.junctions()[static_cast<size_t>(path[i])];
      DriveTo(chain_.ToChain(part, to), StreetBetween(network, path[i - 1], path[i]), limit_mps);
    }
  }

  // Places a part and drives to its entry: through open land, in whose middle the road passes from
  // the last part's kind of junction to this one's.
  void AddPart(const char* name, ChainPart part, double clear_m,
               double headroom_m = ClearedRoad().headroom_m) {
    chain_.Append(std::move(part));
    const size_t last = chain_.size() - 1;
    const Eigen::Vector2d entry = chain_.ToChain(last, entry_);
    if (last == 0) {
      junctions_.push_back(entry);
    } else {
      BeginPart("road");
      const Eigen::Vector2d from = junctions_.back();
      const Eigen::Vector2d middle(0.5 * (chain_.HighX(last - 1) + chain_.LowX(last)),
                                   0.5 * (from.y() + entry.y()));
      Street road;
      road.clear_m = clear_m_;
      DriveTo(middle, road, kRoadSpeed_mps);
      road.clear_m = clear_m;
      DriveTo(entry, road, kRoadSpeed_mps);
      // Up to where the parts begin, whose own things end there.
      const Eigen::Vector2d end = kRoadEnd_m * (entry - from).normalized();
      ClearedRoad cleared;
      cleared.from = chain_.OnGround(from + end);
      cleared.to = chain_.OnGround(middle);
      roads_.push_back(cleared);
      cleared.from = cleared.to;
      cleared.to = chain_.OnGround(entry - end);
      cleared.headroom_m = headroom_m;
      roads_.push_back(cleared);
    }
    clear_m_ = clear_m;
    BeginPart(name);
  }

  absl::Status AddTown() {
    TownOptions options;
    options.seed = seeds_.Next();
    options.size_m = kTownSize_m;
    VOXLOC_ASSIGN_OR_RETURN(World town, BuildTown(options));
    const StreetNetwork& streets = town.streets;
    const int from = BorderJunction(streets, -1.0);
    const int to = BorderJunction(streets, 1.0);
    const std::vector<int> path = WindingPath(streets, from, to, Random(options.seed, kPaths));
    const Eigen::Vector2d entry = streets.junctions()[static_cast<size_t>(from)];
    const Eigen::Vector2d exit = streets.junctions()[static_cast<size_t>(to)];
    const double half_m = town.scene.ground().half_size_m();
    entry_ = entry;
    AddPart("town", {std::move(town), 0.0, entry, exit, half_m + entry.x(), half_m - exit.x()},
            kJunctionClearRadius_m);
    DriveAlong(path, kTownSpeed_mps);
    return absl::OkStatus();
  }

  absl::Status AddTunnel() {
    tunnel_ = SeededPassage(seeds_.Next(), Roof::kVault);
    tunnel_.heading_deg = 0.0;
    tunnel_.length_m = options_.tunnel_length_m - 2.0 * kTunnelClear_m;
    VOXLOC_ASSIGN_OR_RETURN(World tunnel, BuildPassage(tunnel_, Roof::kVault, 0.0));
    const double half_m = 0.5 * options_.tunnel_length_m;
    const double foot_m = 0.5 * tunnel_.width_m + kHillBeside_m;
    const double top_m = tunnel_.height_m + kCover_m;
    ChainPart part = {std::move(tunnel), 0.0, {-half_m, 0.0}, {half_m, 0.0}, 0.0, 0.0};
    // It buries the vault, from a few metres behind the portals on.
    part.hill_m = [half_m, foot_m, top_m](const Eigen::Vector2d& place) {
      const double inside_m = half_m - std::abs(place.x()) - kHillBeside_m;
      return std::clamp(std::min(std::abs(place.y()) - foot_m, inside_m), 0.0, top_m);
    };
    entry_ = part.entry;
    AddPart("tunnel", std::move(part), kTunnelClear_m);
    tunnel_part_ = chain_.size() - 1;
    DriveAlong({0, 1}, kRoadSpeed_mps);
    return absl::OkStatus();
  }

  absl::Status AddMotorway() {
    MotorwayOptions options;
    options.seed = seeds_.Next();
    options.length_m = kMotorwayLength_m;
    VOXLOC_ASSIGN_OR_RETURN(World motorway, BuildMotorway(options, kMotorwaySight_m));
    const std::vector<Eigen::Vector2d>& junctions = motorway.streets.junctions();
    std::vector<int> path;
    for (size_t i = 0; i < junctions.size(); ++i) path.push_back(static_cast<int>(i));
    entry_ = junctions.front();
    const Eigen::Vector2d exit = junctions.back();
    const Eigen::Vector2d chord = exit - entry_;
    AddPart("motorway",
            {std::move(motorway), -std::atan2(chord.y(), chord.x()), entry_, exit, kMotorwayVerge_m,
             kMotorwayVerge_m},
            kMotorwayClear_m);
    const size_t first = streets_.size();
    DriveAlong(path, std::numeric_limits<double>::infinity());
    // Its ends are driven, too.
    streets_[first].clear_m = streets_.back().clear_m = kMotorwayClear_m;
    return absl::OkStatus();
  }

  absl::Status AddGarage() {
    GarageOptions options;
    options.seed = seeds_.Next();
    VOXLOC_ASSIGN_OR_RETURN(World garage, BuildGarage(options));
    const std::vector<Eigen::Vector2d>& junctions = garage.streets.junctions();
    const Eigen::Vector2d north = junctions[kNorthWest] - junctions[kSouthWest];
    const double yaw = -std::atan2(north.y(), north.x());
    const double half_m = garage.scene.ground().half_size_m();
    entry_ = junctions[kSouthWest];
    // The garage's north is ahead.
    const double before_m = half_m + entry_.dot(north.normalized());
    AddPart("garage", {std::move(garage), yaw, entry_, entry_, before_m, 2.0 * half_m - before_m},
            kGarageClear_m, kGarageHeadroom_m);
    // Around the lower storey, up the ramp that begins at its southern aisle, around the upper one.
    constexpr int kUp = kGarageJunctions;
    DriveAlong(
        {kSouthWest, kNorthWest, kNorthRamp, kNorthEast, kSouthEast, kSouthRamp, kUp + kNorthRamp,
         kUp + kNorthWest, kUp + kSouthWest, kUp + kSouthRamp, kUp + kSouthEast, kUp + kNorthEast},
        kGarageSpeed_mps);
    return absl::OkStatus();
  }

  void AddPortals(std::vector<Solid>& solids) const {
    for (const double end : {-1.0, 1.0}) {
      const Eigen::Vector2d mouth(0.5 * end * options_.tunnel_length_m, 0.0);
      const LocalFrame frame = {chain_.OnGround(chain_.ToChain(tunnel_part_, mouth)),
                                YawRotation(end < 0.0 ? 0.0 : M_PI)};
      AddPortal({frame, Label::kBuilding, solids}, tunnel_);
    }
  }

  // Trees, lamp posts and signs along the road behind a part.
  void AddRoadside(size_t part, std::vector<Solid>& solids) const {
    Random random(options_.seed, kRoadside, part);
    const double road_y = roads_[2 * part].to.y();
    double x = chain_.HighX(part) + random.Uniform(2.0, 6.0);
    while (x < chain_.LowX(part + 1) - 2.0) {
      const double side = random.Chance(0.5) ? 1.0 : -1.0;
      const double out_m = random.Uniform(5.0, 14.0);
      const double kind = random.Uniform();
      const uint64_t key = random.Next();
      const LocalFrame frame = {chain_.OnGround({x, road_y + side * out_m}),
                                YawRotation(side < 0.0 ? 0.0 : M_PI)};
      if (kind < 0.5) {
        AddTree(frame, 4.0, Random(key), solids);
      } else if (kind < 0.75) {
        AddLampPost(frame, Random(key), solids);
      } else {
        AddTrafficSign(frame, Random(key), solids);
      }
      x += random.Uniform(4.0, 10.0);
    }
  }

  RouteOptions options_;
  Random seeds_;
  PartChain chain_{kGap_m};
  PassageOptions tunnel_;
  size_t tunnel_part_ = 0;
  Eigen::Vector2d entry_ = Eigen::Vector2d::Zero();  // of the part being placed, in its own frame
  double clear_m_ = 0.0;                             // at the last part's junctions
  std::vector<Eigen::Vector2d> junctions_;
  std::vector<Street> streets_;
  std::vector<WorldPart> parts_;
  std::vector<ClearedRoad> roads_;
};

}  // namespace

OptionRows ListOptions(const RouteOptions& options) {
  return {{"seed", options.seed},
          {"tunnel_length_m", options.tunnel_length_m, "tunnel length", 100.0, 2000.0}};
}

absl::StatusOr<World> BuildRoute(const RouteOptions& options) {
  VOXLOC_TRY(Validate(options));
  return RouteWorldBuilder(options).Build();
}

}  // namespace voxloc::sim
