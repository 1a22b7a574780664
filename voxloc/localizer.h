// SPDX-License-Identifier: Apache-2.0
//
// voxloc inside a program: where was this scan taken, in this map?
//
//   absl::StatusOr<voxloc::Map> map = voxloc::Map::FromFile("town.pcd");
//   auto localizer = voxloc::Localizer::Create(*map);
//   auto found = (*localizer)->Align(scan_base, map_T_base_guess);
//   if (found.ok() && found->accepted) Use(found->map_T_base, found->covariance);
//
// The results are those of the service for the same scan, guess and profile, to the last bit.
//
// Frames: the map, and the vehicle's base. A pose `map_T_base` maps points of the base into the
// map; lengths are metres, angles radians. Covariances are about fixed map axes through the base's
// origin, in the order x y z rx ry rz.
//
// Errors are absl::Status: InvalidArgument names the argument, its value and what is allowed;
// ResourceExhausted: there is no memory, on the host or the device, and everything stays usable.

#ifndef VOXLOC_LOCALIZER_H_
#define VOXLOC_LOCALIZER_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/iteration_trace.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "core/ndt/pose_score.h"
#include "core/tracking/alignment_status.h"

namespace voxloc {

// The points of a map, in tiles by id. A value: copies share the points of their tiles, which never
// change. Any number of threads may read one.
class Map {
 public:
  using Tiles = std::map<std::string, std::shared_ptr<const PointCloud>>;

  // One tile with the id "map". InvalidArgument: columns of different lengths.
  [[nodiscard]] static absl::StatusOr<Map> FromPoints(PointCloud points_map);

  // A cloud file (core/cloud/io/cloud_file.h) as one tile, or every cloud of a folder and the
  // folders in it, as Autoware has maps (.txt and .csv only as files); ids are the files' paths in
  // the folder. NotFound: there is none; else the errors of ReadCloud.
  [[nodiscard]] static absl::StatusOr<Map> FromFile(const std::string& path);

  // Replaces a tile of this id. InvalidArgument: columns of different lengths.
  [[nodiscard]] absl::Status AddTile(const std::string& id, PointCloud points_map);
  // Whether there was one.
  bool RemoveTile(const std::string& id) { return tiles_.erase(id) > 0; }

  [[nodiscard]] const Tiles& tiles() const { return tiles_; }

 private:
  Tiles tiles_;
};

struct LocalizerOptions {
  // A built-in profile, "precise" or "autoware", or a file of one (*.yaml, docs/profiles.md).
  std::string profile = "precise";
  // "cpu"; "cuda" is the first GPU, "cuda:1" the second. A GPU is checked against the CPU first.
  std::string device = "cpu";
  // That work on a call, the caller's among them. 0: one for each processor of the process.
  size_t threads = 0;
};

// A scan that is to be aligned.
struct AlignRequest {
  PointCloud points_base;  // points that are not finite are left out
  Pose map_T_base_guess;
  // Of the guess. It keeps the pose near the guess along what the scan does not observe, and lets
  // such a result be accepted.
  std::optional<Matrix6> guess_covariance = std::nullopt;
  // How the base moved when the scan was taken: what late stamps and sweeps add to the covariance.
  std::optional<Twist> base_twist = std::nullopt;
  double timeout_s = 0.0;          // 0: none. What it stops has the status kDeadline
  bool with_trace = false;         // fills Alignment::trace
  bool with_point_scores = false;  // fills Alignment::point_scores
};

struct Alignment {
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();
  bool accepted = false;  // whether to believe the pose
  AlignmentStatus status = AlignmentStatus::kOk;
  std::string detail;  // why it is not kOk, with the values; else empty
  // The probability that the pose is right along what the scan observes. nullopt: not known.
  std::optional<double> confidence;
  PoseScore score;  // with the profile's cells for scores
  int iterations = 0;
  std::vector<IterationTrace> trace;
  // The best cell's score of each point that is finite, in their order; 0: no cell is near it.
  std::vector<float> point_scores;
};

// A scan whose pose is not known.
struct LocateRequest {
  PointCloud points_base;  // points that are not finite are left out
  // The box that the base is in, map frame; without points: anywhere in the map.
  Bounds within_map;
  double timeout_s = 0.0;     // 0: none. After it, the best so far
  size_t max_hypotheses = 5;  // 1 to 100
  uint64_t seed = 0;
};

struct Location {
  std::vector<Alignment> hypotheses;  // most confident first; may be empty
  bool reliable = false;              // the first fits well
  bool ambiguous = false;             // the second explains the scan nearly as well
  bool timed_out = false;
};

// Aligns scans with a map that it holds in the memory of one device. Thread-safe: any number of
// threads may align while another sets a map, and each result is of one map. The same request gives
// the same bits, whatever the batch, the other threads and their number.
class Localizer {
 public:
  // Blocks until the map is there. InvalidArgument: the profile or the device. FailedPrecondition:
  // this build or machine has no such device. NotFound: the profile's file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Localizer>> Create(
      const Map& map, const LocalizerOptions& options = {});
  ~Localizer();
  Localizer(const Localizer&) = delete;
  Localizer& operator=(const Localizer&) = delete;

  // Replaces the map. Only tiles that are not shared with the last one are built. Calls that have
  // begun end on the map that they began with. On an error, the last map stays.
  [[nodiscard]] absl::Status SetMap(const Map& map);

  // InvalidArgument: no finite point, a guess that is not finite, a covariance that is not positive
  // definite.
  [[nodiscard]] absl::StatusOr<Alignment> Align(AlignRequest request) const;
  [[nodiscard]] absl::StatusOr<Alignment> Align(PointCloud points_base,
                                                const Pose& map_T_base_guess) const;
  // One result a request, in their order: those of Align, sooner.
  [[nodiscard]] std::vector<absl::StatusOr<Alignment>> AlignBatch(
      std::vector<AlignRequest> requests) const;

  // InvalidArgument: no finite point, a box that does not touch the map, or one too large to
  // search.
  [[nodiscard]] absl::StatusOr<Location> Locate(LocateRequest request) const;

  // How well the scan fits at each pose, without a search, with the profile's cells for scores.
  [[nodiscard]] absl::StatusOr<std::vector<PoseScore>> Score(
      PointCloud points_base, absl::Span<const Pose> map_T_base) const;

  // "cpu" or "cuda", and the processor's or the card's name.
  [[nodiscard]] std::string device() const;
  // Of the map, on the device.
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  struct Impl;
  explicit Localizer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc

#endif  // VOXLOC_LOCALIZER_H_
