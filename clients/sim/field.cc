// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/scenes.h"

namespace voxloc::sim {
namespace {

constexpr double kTrackSpacing_m = 80.0;
constexpr double kMissingTracks = 0.25;
constexpr double kBorder_m = 10.0;
constexpr double kClearOfTracks_m = 3.0;
constexpr double kSquareMetresPerHectare = 1e4;

// Streams of chance, one per concern, so that more posts do not move the tracks.
enum Stream : uint64_t { kTracks = 1, kRelief, kPosts };

}  // namespace

OptionRows ListOptions(const FieldOptions& options) {
  return {{"seed", options.seed},
          {"size_m", options.size_m, "size", 100.0, 2000.0},
          {"relief_m", options.relief_m, "relief", 0.0, 20.0},
          {"posts_per_hectare", options.posts_per_hectare, "posts per hectare", 0.0, 100.0}};
}

absl::StatusOr<World> BuildField(const FieldOptions& options, double sight_m) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  StreetNetwork tracks(0.5 * options.size_m - kBorder_m, kTrackSpacing_m, kMissingTracks,
                       Random(options.seed, kTracks));
  Ground ground = RollingGround(0.5 * options.size_m + sight_m, options.relief_m,
                                Random(options.seed, kRelief));
  const double half = ground.half_size_m();
  const auto places = static_cast<uint64_t>(4.0 * half * half / kSquareMetresPerHectare *
                                            options.posts_per_hectare);
  std::vector<Solid> solids;
  for (uint64_t i = 0; i < places; ++i) {
    Random random(options.seed, kPosts, i);
    const double x = random.Uniform(-half, half);
    const double y = random.Uniform(-half, half);
    const bool tree = random.Chance(1.0 / 3.0);
    const double height_m = random.Uniform(1.5, 4.0);
    if (tracks.ClearanceFromStreets({x, y}) < kClearOfTracks_m) continue;
    const LocalFrame frame = {{x, y, ground.Height(x, y)}, Eigen::Matrix3d::Identity()};
    if (tree) {
      AddTree(frame, height_m, Random(random.Next()), solids);
    } else {
      AddCylinder(frame, Label::kPole, {0.0, 0.0, -0.3}, random.Uniform(0.05, 0.12), height_m,
                  solids);
    }
  }
  return World{std::move(tracks), Scene(std::move(ground), std::move(solids))};
}

}  // namespace voxloc::sim
