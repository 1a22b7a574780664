// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/map_extension.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/engine/out_of_memory.h"
#include "core/map_update/changed_cubes.h"
#include "core/map_update/changed_tiles.h"
#include "core/map_update/new_points.h"
#include "core/map_update/placed_scans.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Of the points of a scan within kUpdateRangeM that have a surface of the map within some metres:
// the least share with which the map carries the scan.
constexpr double kMinMatched = 0.8;
// The same, for a scan to be aligned with what has been seen beyond the map so far, up to 25 m from
// earlier places of sensors. With 0.8, few scans more than 10 m of way beyond the map of town 103
// were placed.
constexpr double kMinMatchedBeyond = 0.5;
// Between where a scan's motion leads and where it is aligned.
constexpr double kMaxJumpM = 0.3;
// Scans are placed over so much of their ways at a time: little beside the 25 m that they see.
constexpr double kStepM = 5.0;
// The vehicle comes as near to a new tile: what is farther from it is seen through gaps.
constexpr double kNearM = 10.0;
constexpr size_t kMinTilePoints = 100;
// Between where a held-out scan was placed with its pass and where it is aligned with new tiles.
constexpr double kAgreeM = 0.1;
constexpr double kUnreached = std::numeric_limits<double>::infinity();

class Extender {
 public:
  Extender(Engine& engine, const Profile& profile, const UpdateRequest& request,
           const ExtensionOptions& options)
      : engine_(engine),
        profile_(profile),
        request_(request),
        options_(options),
        statistics_(RequiredStatistics({profile})),
        area_(BoundsOf(request.tiles), options.tile_size_m),
        placed_(engine, profile, request),
        ways_(request.scans.size()) {}

  absl::StatusOr<ExtensionProposal> Run() {
    for (const UpdateTile& tile : request_.tiles) {
      VOXLOC_ASSIGN_OR_RETURN(residents_.emplace_back(),
                              engine_.BuildTile(*tile.cloud_map, statistics_));
    }
    VOXLOC_ASSIGN_OR_RETURN(map_, engine_.Compose(residents_, statistics_, nullptr));
    proposal_.counts.scans = request_.scans.size();
    // Beyond the map they are all that tells height, roll and pitch.
    VOXLOC_TRY(placed_.MeasureMotions(TiltPoints::kAll));
    VOXLOC_TRY(FindAnchors());
    MeasureWays();
    for (double way_m = 0.0; way_m < options_.max_way_m; way_m += kStepM) {
      VOXLOC_TRY(PlaceScans(way_m, std::min(way_m + kStepM, options_.max_way_m)));
    }
    for (size_t i = 0; i < ways_.size(); ++i) {
      if (ways_[i].way_m > 0.0 && !placed_.used(i)) ++proposal_.counts.not_accepted;
    }
    std::vector<NewTile> tiles = MakeTiles();
    if (tiles.empty()) return std::move(proposal_);
    VOXLOC_TRY(ExtendMapBy(tiles));
    VOXLOC_TRY(AlignAgain());
    tiles = MakeTiles();
    VOXLOC_TRY(ExtendMapBy(tiles));
    Confirm(std::move(tiles));
    for (const size_t scan : Beyond()) {
      proposal_.placed.push_back({scan, placed_.pose(scan), ways_[scan].way_m});
    }
    return std::move(proposal_);
  }

 private:
  struct Way {
    double way_m = kUnreached;
    size_t from = 0;  // the scan before it on its way
    Pose from_T_scan;
  };

  static std::vector<Bounds> BoundsOf(absl::Span<const UpdateTile> tiles) {
    std::vector<Bounds> bounds;
    for (const UpdateTile& tile : tiles) bounds.push_back(ComputeBounds(*tile.cloud_map));
    return bounds;
  }

  [[nodiscard]] bool IsAccepted(const AlignResult& result) const {
    return result.status.ok() && Judge(result, profile_) == Acceptance::kAccepted;
  }

  absl::Status FindAnchors() {
    absl::Status status;
    placed_.ForEachResult(placed_.Used(), map_, [&](size_t scan, const AlignResult& result) {
      if (result.status.code() == absl::StatusCode::kResourceExhausted) status = result.status;
      if (!IsAccepted(result) || result.after.matched_ratio() < kMinMatched) {
        placed_.LeaveOut(scan);
        return;
      }
      const bool near =
          TranslationDistance(result.map_T_base, placed_.pose(scan)) <= kMaxCorrectionM;
      if (!near) ++proposal_.counts.corrected;
      placed_.Place(scan, result.map_T_base, near);
      if (near) ways_[scan].way_m = 0.0;
    });
    placed_.Refine();
    return status;
  }

  // From the anchors along the motions of each pass, forth and back.
  void MeasureWays() {
    std::vector<std::vector<size_t>> passes(request_.pass_start_ns.size());
    for (size_t i = 0; i < request_.scans.size(); ++i) passes[request_.scans[i].pass].push_back(i);
    const auto reach = [&](size_t from, size_t scan, const Pose& from_T_scan) {
      const double way_m = ways_[from].way_m + from_T_scan.translation.norm();
      if (way_m < ways_[scan].way_m) ways_[scan] = {way_m, from, from_T_scan};
    };
    for (const std::vector<size_t>& scans : passes) {
      for (size_t i = 1; i < scans.size(); ++i) {
        const Pose* motion = placed_.MotionTo(scans[i - 1], scans[i]);
        if (motion != nullptr) reach(scans[i - 1], scans[i], *motion);
      }
      for (size_t i = scans.size(); i-- > 1;) {
        const Pose* motion = placed_.MotionTo(scans[i - 1], scans[i]);
        if (motion != nullptr) reach(scans[i], scans[i - 1], motion->Inverse());
      }
    }
  }

  // Those with ways over `above_m` and up to `to_m`.
  absl::Status PlaceScans(double above_m, double to_m) {
    std::vector<size_t> scans;
    for (size_t i = 0; i < ways_.size(); ++i) {
      if (ways_[i].way_m > above_m && ways_[i].way_m <= to_m) scans.push_back(i);
    }
    if (scans.empty()) return absl::OkStatus();
    std::sort(scans.begin(), scans.end(),
              [&](size_t a, size_t b) { return ways_[a].way_m < ways_[b].way_m; });
    for (const size_t scan : scans) {
      const Way& way = ways_[scan];
      placed_.Place(scan, placed_.pose(way.from) * way.from_T_scan, false);
    }
    VOXLOC_ASSIGN_OR_RETURN(const auto seen, engine_.BuildTile(SeenBeyond(), statistics_));
    auto residents = residents_;
    residents.push_back(seen);
    VOXLOC_ASSIGN_OR_RETURN(map_, engine_.Compose(residents, statistics_, map_.get()));
    VOXLOC_TRY(AlignOnto(scans));
    placed_.Refine();
    return absl::OkStatus();
  }

  // With the map so far. Scans that do not fit stay where they are, and are not used.
  absl::Status AlignOnto(const std::vector<size_t>& scans) {
    absl::Status status;
    placed_.ForEachResult(scans, map_, [&](size_t scan, const AlignResult& result) {
      if (result.status.code() == absl::StatusCode::kResourceExhausted) status = result.status;
      const bool fits = IsAccepted(result) && result.after.matched_ratio() >= kMinMatchedBeyond &&
                        TranslationDistance(result.map_T_base, placed_.pose(scan)) <= kMaxJumpM;
      placed_.Place(scan, fits ? result.map_T_base : placed_.pose(scan), fits);
    });
    return status;
  }

  absl::Status AlignAgain() {
    VOXLOC_TRY(AlignOnto(placed_.Used()));
    placed_.Refine();
    return absl::OkStatus();
  }

  // What the scans that are placed saw beyond the map.
  [[nodiscard]] PointCloud SeenBeyond() const {
    PointCloud cloud;
    for (const size_t scan : placed_.Used()) {
      if (PlacedScans::IsHeldOut(scan)) continue;
      if (cloud.empty()) cloud.origin = placed_.SensorOf(scan).array().round();
      for (const Eigen::Vector3d& point : placed_.VotingPointsOf(scan)) {
        if (!area_.Has(point)) continue;
        const Eigen::Vector3f offset = (point - cloud.origin).cast<float>();
        cloud.PushBack(offset.x(), offset.y(), offset.z());
      }
    }
    return cloud;
  }

  // The scans that are used and that the map does not carry.
  [[nodiscard]] std::vector<size_t> Beyond() const {
    std::vector<size_t> scans;
    for (const size_t scan : placed_.Used()) {
      if (ways_[scan].way_m > 0.0) scans.push_back(scan);
    }
    return scans;
  }

  // Near scans beyond the map, with the longest way of these.
  [[nodiscard]] std::map<TileSquare, double> SquaresNearBy() const {
    std::map<TileSquare, double> squares;
    for (const size_t scan : Beyond()) {
      const Eigen::Vector3d sensor = placed_.SensorOf(scan);
      const Eigen::Vector3d reach(kNearM, kNearM, 0.0);
      const TileSquare low = area_.SquareOf(sensor - reach);
      const TileSquare high = area_.SquareOf(sensor + reach);
      for (int32_t x = low.first; x <= high.first; ++x) {
        for (int32_t y = low.second; y <= high.second; ++y) {
          if (area_.DistanceTo({x, y}, sensor) > kNearM) continue;
          double& way_m = squares[{x, y}];
          way_m = std::max(way_m, ways_[scan].way_m);
        }
      }
    }
    return squares;
  }

  [[nodiscard]] Bounds BoxOf(const std::map<TileSquare, double>& squares) const {
    Bounds box;
    for (const auto& [square, way_m] : squares) {
      const Eigen::Vector2d corner = area_.CornerOf(square);
      const double edge_m = area_.tile_size_m();
      Enlarge({{corner.x(), corner.y(), 0.0}, {corner.x() + edge_m, corner.y() + edge_m, 0.0}, 1},
              box);
    }
    box.min.z() = std::numeric_limits<double>::infinity();
    box.max.z() = -box.min.z();
    for (const size_t scan : Beyond()) {
      box.min.z() = std::min(box.min.z(), placed_.SensorOf(scan).z() - kHeadroomM);
      box.max.z() = std::max(box.max.z(), placed_.SensorOf(scan).z() + kHeadroomM);
    }
    return box;
  }

  std::vector<NewTile> MakeTiles() {
    const std::map<TileSquare, double> squares = SquaresNearBy();
    if (squares.empty()) return {};
    const Bounds box = BoxOf(squares);
    CubeVotes votes(kVoteCubeM, box.min, box.max);
    for (const UpdateTile& tile : request_.tiles) votes.AddMap(*tile.cloud_map);
    proposal_.dropped_passes |= placed_.Vote([](const Eigen::Vector3d&) { return false; }, votes);
    proposal_.votes_memory_bytes = std::max(proposal_.votes_memory_bytes, votes.MemoryBytes());
    const ChangedCubes changed(votes, request_.rule, request_.pass_start_ns);
    std::map<TileSquare, ChangedTile> found;
    for (size_t i = 0; i < votes.cubes().size(); ++i) {
      const VotedCube& cube = votes.cubes()[i];
      const Eigen::Vector3d centre = CellCentre(cube.key, kVoteCubeM);
      const TileSquare square = area_.SquareOf(centre);
      if (cube.map_points > 0 || squares.count(square) == 0 || !area_.Has(centre)) continue;
      found[square].Add(cube, changed.fate(i));
    }
    std::vector<CellKey> added;
    for (const auto& [square, tile] : found) {
      added.insert(added.end(), tile.added.begin(), tile.added.end());
    }
    NewPoints points(kVoteCubeM, added);
    for (const size_t scan : placed_.Used()) {
      if (!PlacedScans::IsHeldOut(scan)) points.Add(placed_.VotingPointsOf(scan));
    }
    std::vector<NewTile> tiles;
    size_t number = 0;
    for (const auto& [square, of_square] : found) {
      std::vector<size_t> chosen(of_square.added.size());
      for (size_t& cube : chosen) cube = number++;
      NewTile tile;
      tile.square = square;
      tile.passes = of_square.passes;
      tile.cubes_new = of_square.added.size();
      tile.cubes_unsettled = of_square.unsettled;
      tile.way_m = squares.at(square);
      tile.cloud_map = CloudOf(square, points.Thin(chosen, SpacingOfMap()));
      if (tile.cloud_map.size() >= kMinTilePoints) tiles.push_back(std::move(tile));
    }
    return tiles;
  }

  [[nodiscard]] PointCloud CloudOf(const TileSquare& square,
                                   const std::vector<Eigen::Vector3d>& points) const {
    PointCloud cloud;
    cloud.origin << area_.CornerOf(square), points.empty() ? 0.0 : std::round(points[0].z());
    for (const Eigen::Vector3d& point : points) {
      const Eigen::Vector3f offset = (point - cloud.origin).cast<float>();
      cloud.PushBack(offset.x(), offset.y(), offset.z());
    }
    return cloud;
  }

  // The median over its tiles.
  [[nodiscard]] double SpacingOfMap() const {
    std::vector<double> spacings;
    for (const UpdateTile& tile : request_.tiles) spacings.push_back(SpacingOf(*tile.cloud_map));
    const auto middle = spacings.begin() + static_cast<std::ptrdiff_t>(spacings.size() / 2);
    std::nth_element(spacings.begin(), middle, spacings.end());
    return *middle;
  }

  absl::Status ExtendMapBy(const std::vector<NewTile>& tiles) {
    auto residents = residents_;
    for (const NewTile& tile : tiles) {
      VOXLOC_ASSIGN_OR_RETURN(residents.emplace_back(),
                              engine_.BuildTile(tile.cloud_map, statistics_));
    }
    VOXLOC_ASSIGN_OR_RETURN(map_, engine_.Compose(residents, statistics_, map_.get()));
    return absl::OkStatus();
  }

  [[nodiscard]] static Eigen::Vector3d CentreOf(const NewTile& tile) {
    const Bounds bounds = ComputeBounds(tile.cloud_map);
    return 0.5 * (bounds.min + bounds.max);
  }

  void Confirm(std::vector<NewTile> tiles) {
    std::set<size_t> agreeing;
    const std::vector<size_t> held_out = placed_.UsedAndHeldOut();
    placed_.ForEachResult(held_out, map_, [&](size_t scan, const AlignResult& result) {
      if (IsAccepted(result) &&
          TranslationDistance(result.map_T_base, placed_.pose(scan)) <= kAgreeM) {
        agreeing.insert(scan);
      }
    });
    proposal_.counts.held_out = held_out.size();
    for (NewTile& tile : tiles) {
      for (const size_t scan : held_out) {
        if (area_.DistanceTo(tile.square, placed_.SensorOf(scan)) > kVoteRangeM) continue;
        ++tile.held_out;
        tile.held_out_agreeing += agreeing.count(scan);
      }
      tile.directions = placed_.DirectionsAt(CentreOf(tile));
      if (2 * tile.held_out_agreeing < std::max<size_t>(1, tile.held_out) ||
          !CoverDirections(tile.passes, tile.directions)) {
        proposal_.unconfirmed_tiles.push_back(tile.square);
      } else {
        proposal_.tiles.push_back(std::move(tile));
      }
    }
  }

  Engine& engine_;
  const Profile& profile_;
  const UpdateRequest& request_;
  const ExtensionOptions& options_;
  const std::vector<CellStatistics> statistics_;
  const NewArea area_;
  std::vector<std::shared_ptr<const ResidentTile>> residents_;  // of the map
  std::shared_ptr<const ResidentMap> map_;                      // with what is new so far
  PlacedScans placed_;
  std::vector<Way> ways_;
  ExtensionProposal proposal_;
};

}  // namespace

absl::StatusOr<ExtensionProposal> ExtendMap(Engine& engine, const Profile& profile,
                                            const UpdateRequest& request,
                                            const ExtensionOptions& options) {
  VOXLOC_TRY(CheckUpdateRequest(request));
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<ExtensionProposal> {
        return Extender(engine, profile, request, options).Run();
      },
      [&] {
        return absl::StrCat("no memory to extend a map by ", request.scans.size(), " scans");
      });
}

}  // namespace voxloc
