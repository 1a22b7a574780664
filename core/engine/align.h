// SPDX-License-Identifier: Apache-2.0
//
// What engines are asked and answer: where is this scan in this map, and how well does it fit at
// these poses?

#ifndef VOXLOC_CORE_ENGINE_ALIGN_H_
#define VOXLOC_CORE_ENGINE_ALIGN_H_

#include <Eigen/Core>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/iteration_trace.h"
#include "core/engine/profile.h"
#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"
#include "core/ndt/point_terms.h"
#include "core/ndt/pose_score.h"
#include "core/ndt/termination.h"

namespace voxloc {

// Evaluation passes: additional evaluations at the final pose of an alignment, in the same call:
// sums over groups of points, with derivatives, and scores of single points. The estimates
// (covariance, confidence) are computed from them.
constexpr size_t kMaxPasses = 4;        // of a job
constexpr size_t kMaxPointGroups = 64;  // of a pass

// Groups of a cloud's points, each of which is summed on its own. A point may be in none.
struct PointGroups {
  std::vector<uint32_t> places;  // of finite points in the cloud, group after group
  std::vector<uint32_t> ends;    // where each group ends in `places`, ascending
};

struct EvaluationPass {
  std::shared_ptr<const PointCloud> cloud;    // base frame; null: the job's scan
  std::shared_ptr<const PointGroups> groups;  // of that cloud; null: no sums
  // Under the cells of the profile's score stage. Otherwise of the stage whose search ended at the
  // pose; of the last stage where nothing was searched.
  bool score_stage = false;
  // Only the cell that a point lies in counts, whatever the stage's search says.
  bool own_cell_only = false;
  // Of the points in groups where `groups` is set, of none where it is empty; else of all.
  bool with_point_scores = false;
};

// At the pose, with every point of the group: also where the stage searches with fewer.
struct GroupSums {
  PoseSums score;
  // Of the score, exact, about fixed map axes through the base's origin, order x y z rx ry rz, per
  // metre and radian; with the boundary of the search's reach (ndt::ReachBoundary) in the Hessian.
  // `old_pitch` means nothing here.
  ndt::DerivativeSums<double> derivatives;
};

struct PassResult {
  std::vector<GroupSums> groups;
  // Best pair of each point of the cloud, 0 where unmatched or left out; empty unless wanted.
  std::vector<float> point_scores;
};

// WorkClass: the purpose of an engine call, which determines its scheduling priority. Results do
// not depend on it. A device runs tracking first; it splits other work into slices, so that
// tracking can run between them.
//
// Tiles and maps are always mapping.
enum class WorkClass {
  kTracking,   // a scan whose vehicle waits for its pose, and the estimates that belong to it
  kSearching,  // candidates of a search for a pose
  kScoring,    // poses that a client asks about
  kMapping,    // building and composing
};

// Ends a search early. Engines poll it before every iteration. On a device, the waiting call
// forwards `cancelled` at once, and the device sees it one iteration later.
struct StopToken {
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null
  absl::Time deadline = absl::InfiniteFuture();
};

// A job's clouds and groups in the engine's own layout. Engine::Pack makes it in any thread, so
// that the thread that calls Align for a batch does not have to pack its scans one by one.
// Immutable.
class PackedJob {
 public:
  virtual ~PackedJob() = default;
};

struct AlignJob {
  std::shared_ptr<const ResidentMap> map;
  std::shared_ptr<const PointCloud> scan;  // base frame; finite points
  Pose map_T_base_guess;
  // Of the guess, about fixed map axes; decides where a judged profile is entered.
  std::optional<Matrix6> guess_covariance;
  // How far the search may lead from the guess along what the scan does not observe, likewise (see
  // Profile::independent_points): the guess's covariance or, of a result that odometry carried on,
  // that of the odometry alone. nullopt: as far as the score leads.
  std::optional<Matrix6> prior_covariance;
  Profile profile;  // its cell statistics must be among the map's
  WorkClass work_class = WorkClass::kTracking;
  // A reference position (GNSS) that pulls along the heading; nullopt: none.
  std::optional<Eigen::Vector3d> regularization_position_map;
  StopToken stop;
  bool with_trace = false;
  bool with_point_scores = false;
  // Measure the device launch that this job is part of. Costs a few microseconds.
  bool with_device_times = false;
  // What is evaluated once more at the answer; at most kMaxPasses.
  std::vector<EvaluationPass> passes;
  // No search: the passes are evaluated at the guess. Of the result, only the status, the pose, the
  // point scores and the passes mean anything.
  bool passes_only = false;
  // From Engine::Pack, for this scan, these passes and these point voxels of the stages; the rest
  // of the job may change. Null, or of another job: Align packs the job itself.
  std::shared_ptr<const PackedJob> packed;
};

// The same job with another guess, without covariances of it.
[[nodiscard]] AlignJob WithGuess(AlignJob job, const Pose& map_T_base_guess);
// One such job for each guess, in their order, without traces and point scores.
[[nodiscard]] std::vector<AlignJob> JobsFrom(AlignJob job,
                                             absl::Span<const Pose> map_T_base_guesses);

[[nodiscard]] absl::string_view ToString(Termination termination);

// Where a device with memory of its own spent its time, by its own clock, on a launch: all jobs
// that it aligned together.
struct DeviceTimes {
  size_t device = 0;  // place among EngineInfo::parts; 0 where there are none
  double upload_s = 0.0;
  double kernel_s = 0.0;
  // Of what the kernel does not write to the host's memory by itself.
  double download_s = 0.0;
  // True in one result of each launch, so that callers can count a launch once.
  bool first_of_launch = false;
};

struct AlignResult {
  // Not ok when this job could not be run (a map without the profile's cells, an empty scan): the
  // other fields then mean nothing. A search that found nothing is ok.
  absl::Status status;
  Pose map_T_base;
  Termination termination = Termination::kConverged;
  PoseScore before;  // at the guess, under the cells of the profile's score stage
  PoseScore after;   // at map_T_base, under the same
  // The stage whose search ended at map_T_base; the score stage where that is the guess.
  int stage = 0;
  ChartVector gradient = ChartVector::Zero();  // at map_T_base, under the cells of that stage
  Matrix6 hessian = Matrix6::Zero();           // of the score, which is maximised
  int iterations = 0;                          // over all stages
  int evaluations = 0;
  int oscillations = 0;                  // longest run of reversals in the last stage
  bool reached_iteration_limit = false;  // of the last stage
  std::vector<IterationTrace> trace;     // empty unless wanted
  // Best pair of each point under the score stage, 0 where unmatched; empty unless wanted.
  std::vector<float> point_scores;
  std::vector<PassResult> passes;  // one a pass of the job, in their order
  // Where the job wants them; of a job that could run. Nullopt: the engine computes on the host.
  std::optional<DeviceTimes> device_times;
};

// A search that hit its iteration limit is accepted nevertheless if it oscillated around an
// optimum: more than this many reversals in a row.
constexpr int kMaxOscillations = 10;

// A result is accepted if the search finished, its score is above the profile's threshold, and it
// ended below the iteration limit or oscillated around an optimum.
enum class Acceptance { kAccepted, kLowScore, kNotConverged };

struct Judgement {
  bool finished = false;  // neither interrupted nor overflowed
  bool under_iteration_limit = false;
  bool oscillating = false;     // more than `max_oscillations` reversals in a row
  double score = 0.0;           // the one that the profile judges by
  bool over_threshold = false;  // score > threshold
  Acceptance acceptance = Acceptance::kNotConverged;
};
[[nodiscard]] Judgement JudgeInDetail(const AlignResult& result, const Profile& profile,
                                      int max_oscillations = kMaxOscillations);
[[nodiscard]] Acceptance Judge(const AlignResult& result, const Profile& profile);

// The distance of the scan's farthest point from the base, metres; 0 for an empty scan.
[[nodiscard]] double MaxPointDistance(const PointCloud& scan_base);

// Whether a scan of this reach at this pose can come within `margin_m` of the map's bounds on every
// axis. False: no point of the scan can have a map cell near it, provided that no cell is larger
// than the margin.
[[nodiscard]] bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m,
                            double margin_m);

// The result of an alignment in which no point has a cell near it, without calling an engine: one
// evaluation at the guess, and no step.
[[nodiscard]] AlignResult ResultOutOfMap(const PointCloud& scan_base, const Pose& map_T_base_guess,
                                         bool with_point_scores);

// The distance from the bounds of a map, metres, within which a stage of the profile still matches
// points with cells.
[[nodiscard]] double MatchMargin(const Profile& profile);

// Scoring, without a search.
struct ScoreRequest {
  std::shared_ptr<const ResidentMap> map;
  std::shared_ptr<const PointCloud> scan;  // base frame; finite points
  std::vector<Pose> map_T_base;            // M poses
  Stage stage;                             // cells, search and outlier ratio are used
  WorkClass work_class = WorkClass::kScoring;
  StopToken stop;
  bool with_point_scores = false;
};

struct ScoreResult {
  std::vector<PoseScore> poses;  // M
  // Best pair of each point, 0 where unmatched: M rows of N, row-major; empty unless wanted.
  std::vector<float> point_scores;
};

// An empty result with memory allocated for every pose, and for every point of every pose if the
// request has point scores.
[[nodiscard]] inline ScoreResult MakeScoreResult(const ScoreRequest& request) {
  ScoreResult result;
  result.poses.resize(request.map_T_base.size());
  if (request.with_point_scores) {
    result.point_scores.assign(result.poses.size() * request.scan->size(), 0.0F);
  }
  return result;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_ALIGN_H_
