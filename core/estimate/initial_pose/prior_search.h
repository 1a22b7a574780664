// SPDX-License-Identifier: Apache-2.0
//
// A vehicle's pose from a prior: particles drawn from it and aligned, the later ones where a
// tree-structured Parzen estimator expects good scores, as Autoware's ndt_align_srv has it; but in
// batches (ParzenEstimator says by which rule), and with the same answer for the same seed.
//
// A particle's trial is the pose that it ended at, with its transform probability; the answer is
// ranked by NVTL. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"

namespace voxloc {

// RandomDraws: seeded random numbers. The standard fixes its generators but not its distributions,
// so these are written out: the same seed draws the same with every library. A plain value; one
// thread at a time per instance.
class RandomDraws {
 public:
  explicit RandomDraws(uint64_t seed) : generator_(seed) {}

  // Evenly in [low, high), in 2^53 steps.
  [[nodiscard]] double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(generator_() >> 11) * 0x1p-53);
  }

  // By Box and Muller; two draws each.
  [[nodiscard]] double Normal(double mean, double sigma) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform(0.0, 1.0)));
    return mean + sigma * radius * std::cos(Uniform(0.0, 2.0 * M_PI));
  }

 private:
  std::mt19937_64 generator_;
};

constexpr size_t kMaxGuidedBatch = 256;

struct PriorSearchOptions {
  Pose map_T_base;                       // the prior's mean; its yaw is not used
  Matrix6 covariance = Matrix6::Zero();  // positive definite; only its diagonal is used
  size_t particles = 200;                // 1 to max_particles
  // Particles drawn from the prior before the estimator guides the search; 1 to particles. Equal to
  // `particles`: all are drawn from the prior.
  size_t startup_trials = 100;
  // Particles of the guided phase that are proposed, and aligned, at a time: 1 to kMaxGuidedBatch.
  // 1 is Autoware's rule. Up to 20 found vehicles as often in `voxloc_bench initial-pose`, 50 less
  // often: the estimator then learns from too few rounds.
  size_t guided_batch = 20;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidatePriorSearch(const PriorSearchOptions& options,
                                               size_t max_particles);

// All start-up particles are one call of the engine, and each guided batch is one; the observer,
// which may be empty, is called after each. A deadline that passes is no error: what has been found
// by then is the answer, which may be nothing. InvalidArgument: the options, or what the engine
// says of the job, as is FailedPrecondition. Cancelled.
[[nodiscard]] absl::StatusOr<PoseSearchResult> SearchAroundPrior(
    Engine& engine, const PoseSearchJob& job, const PriorSearchOptions& options,
    const PoseSearchObserver& observer);

// The height of a prior that has none: poses from RViz, and from GNSS without an altitude, lie at
// z = 0 whatever the ground's height in the map is. Thread-safe: no shared state.
struct PriorHeight {
  double z_m = 0.0;      // of the base, map frame
  double sigma_m = 0.0;  // at least the prior's
};

// Where the base stands on the map's surface around the prior: the lowest level cells there, and
// over them the base as the scan's lowest points have it. nullopt: the prior's height fits a level
// cell, to 3 standard deviations and the reach of a search, or there is none around it.
[[nodiscard]] std::optional<PriorHeight> HeightOnSurface(absl::Span<const MapCell> cells,
                                                         double cell_size_m,
                                                         const PointCloud& scan_base,
                                                         const PriorSearchOptions& prior);

// The same of the map's cells of these statistics; `bounds`: the map's. Errors are those of the
// map.
[[nodiscard]] absl::StatusOr<std::optional<PriorHeight>> HeightOnSurface(
    const ResidentMap& map, size_t statistics_index, const Bounds& bounds,
    const PointCloud& scan_base, const PriorSearchOptions& prior);

// Kernel densities over planar poses: a product of three normal densities around every centre, with
// Autoware's widths, yaw on the circle. Height and tilt do not count: they follow from the ground.
struct PlanarPose {
  double x_m = 0.0;
  double y_m = 0.0;
  double yaw_rad = 0.0;  // [-pi, pi]
};

// Standard deviations of a kernel.
constexpr double kParzenWidthM = 0.25;  // along x and y
constexpr double kParzenWidthRad = 2.5 * 3.14159265358979323846 / 180.0;

// log(exp(a) + exp(b)), without overflow.
[[nodiscard]] double LogAddExp(double a, double b);

// All poses against all centres: the logarithm of the sum of the kernels, each of which integrates
// to 1, at every pose. Minus infinity without centres.
[[nodiscard]] std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                                absl::Span<const PlanarPose> centers);

// A pose as it is drawn and compared: x, y, z in metres; roll, pitch, yaw as ROS has them.
using PoseParameters = Eigen::Matrix<double, 6, 1>;

[[nodiscard]] PoseParameters ParametersFromPose(const Pose& map_T_base);
[[nodiscard]] Pose PoseFromParameters(const PoseParameters& parameters);

// x, y, z, roll and pitch are normal and independent; yaw is anything.
struct ParzenPrior {
  using Vector5 = Eigen::Matrix<double, 5, 1>;
  Vector5 mean = Vector5::Zero();
  Vector5 sigma = Vector5::Zero();
};

// ParzenEstimator: a tree-structured Parzen estimator over poses, with Autoware's numbers. Told
// where trials ended and how well, it proposes poses to try: of many drawn from the prior, those
// that lie near good trials and far from bad ones. One thread at a time per instance.
//
// Autoware proposes one pose, waits for its trial, and proposes the next. Here q poses can be
// proposed at once and aligned as one batch ("constant liar"): until its trial ends, a proposal
// counts as a bad trial at the proposed pose, so that the next proposals of the batch lie elsewhere
// instead of crowding around the same maximum. With q = 1 the rule is Autoware's.
class ParzenEstimator {
 public:
  // Proposals are draws from the prior while it knows of fewer than `startup_trials`, or of fewer
  // than ten.
  ParzenEstimator(const ParzenPrior& prior, size_t startup_trials, uint64_t seed);

  // A trial that ended there; a larger score is better, and one that is no number is worst.
  void AddTrial(const PoseParameters& parameters, double score);

  [[nodiscard]] std::vector<PoseParameters> Propose(size_t count);

 private:
  struct Trial {
    PlanarPose pose;
    double score;
  };

  [[nodiscard]] PoseParameters Draw();

  const ParzenPrior prior_;
  const size_t startup_trials_;
  RandomDraws random_;
  std::vector<Trial> trials_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
