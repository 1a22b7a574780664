// SPDX-License-Identifier: Apache-2.0

#include "core/engine/search_rules.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "absl/time/clock.h"
#include "core/ndt/chart.h"

namespace voxloc {
namespace {

// Cells of this many times the displacement are large enough: a Gaussian displacement in the plane
// is within 2.5 times its root mean square with a probability of 0.998.
constexpr double kCellsPerDisplacement = 2.5 / kReachPerCell;
// What a scan sees is about this many times its root mean square range across.
constexpr double kExtentPerScale = 2.0;

// Stages after the score stage refine a pose. The ends of earlier ones decide which optimum is
// found, and were chosen without acceleration: with it, 112 in place of 95 of 1,080 far starts are
// lost (docs/notes/precise_design.md).
bool IsAccelerated(const Profile& profile, size_t i) {
  const Stage& stage = profile.stages[i];
  return i > profile.score_stage && stage.curvature == Curvature::kReweighted &&
         !stage.line_search && !stage.step_floor;
}

}  // namespace

double GuessDisplacement(const Matrix6& guess_covariance, double scan_scale_m) {
  const double squared =
      guess_covariance.topLeftCorner<3, 3>().trace() +
      scan_scale_m * scan_scale_m * guess_covariance.bottomRightCorner<3, 3>().trace();
  return std::sqrt(std::max(0.0, squared));
}

size_t EntryStage(const Profile& profile, const std::optional<Matrix6>& guess_covariance,
                  double scan_scale_m) {
  if (!profile.judged) return 0;
  const double displacement_m = guess_covariance.has_value()
                                    ? GuessDisplacement(*guess_covariance, scan_scale_m)
                                    : kDefaultGuessDisplacementM;
  size_t entry = profile.score_stage;
  while (entry > 0) {
    if (profile.stages[entry].cells.cell_size_m >= kCellsPerDisplacement * displacement_m) break;
    if (profile.stages[entry - 1].cells.cell_size_m > kExtentPerScale * scan_scale_m) break;
    --entry;
  }
  return entry;
}

double RotationScaleOf(const PointCloud& scan_base) {
  return RotationScaleOf(RootMeanSquareRange(scan_base));
}

double RotationScaleOf(double root_mean_square_range_m) {
  constexpr double kSmallest = 0.1;
  return std::max(kSmallest, root_mean_square_range_m);
}

bool NeedsScanScale(const Stage& stage) {
  return stage.observed_ratio > 0.0 && stage.rotation_scale_m == 0.0;
}

bool NeedsScanScale(const Profile& profile) {
  return profile.judged || profile.independent_points > 0.0 ||
         std::any_of(profile.stages.begin(), profile.stages.end(),
                     [](const Stage& stage) { return NeedsScanScale(stage); });
}

size_t MaxIterations(const Profile& profile) {
  size_t most = 0;
  for (size_t i = 0; i < profile.stages.size(); ++i) {
    const auto of_stage = static_cast<size_t>(std::max(0, profile.stages[i].max_iterations));
    // The last stage before the score stage, and those of a second attempt.
    const bool may_run_twice = profile.judged && i + 1 >= profile.score_stage;
    most += may_run_twice ? 2 * of_stage : of_stage;
  }
  return most;
}

ndt::GuessPrior MakeGuessPrior(const AlignJob& job, double scan_scale_m) {
  ndt::GuessPrior prior;
  if (!job.prior_covariance.has_value() || job.profile.independent_points == 0.0) return prior;
  const ChartVector guess = ChartFromPose(job.map_T_base_guess);
  const auto axes = ndt::ComputeChartAxes(ndt::ComputeAngleTerms(guess[3], guess[4], guess[5]));
  Eigen::Matrix3d fixed_axes_of_angles;
  for (int i = 0; i < 3; ++i) {
    fixed_axes_of_angles.col(i) = Eigen::Map<const Eigen::Vector3d>(axes.axis[3 + i]);
  }
  Matrix6 chart_of_fixed_axes = Matrix6::Identity();
  chart_of_fixed_axes.bottomRightCorner<3, 3>() = fixed_axes_of_angles.inverse();
  const Matrix6 covariance =
      chart_of_fixed_axes * *job.prior_covariance * chart_of_fixed_axes.transpose();
  prior.active = covariance.allFinite() && (covariance.diagonal().array() > 0.0).all();
  prior.independent_share = job.profile.independent_points / static_cast<double>(job.scan->size());
  prior.observed_share = job.profile.observed_share;
  prior.rotation_scale_m = scan_scale_m;
  for (int i = 0; i < 6; ++i) {
    prior.inverse_variance[i] = 1.0 / covariance(i, i);
    for (int j = 0; j < 6; ++j)
      prior.covariance[i][j] = 0.5 * (covariance(i, j) + covariance(j, i));
  }
  return prior;
}

ndt::SearchRules MakeSearchRules(const AlignJob& job) {
  return MakeSearchRules(job, NeedsScanScale(job.profile) ? RotationScaleOf(*job.scan) : 0.0);
}

ndt::SearchRules MakeSearchRules(const AlignJob& job, double scan_scale_m) {
  const Profile& profile = job.profile;
  ndt::SearchRules rules;
  rules.stages = static_cast<int>(profile.stages.size());
  rules.score_stage = static_cast<int>(profile.score_stage);
  rules.entry = static_cast<int>(EntryStage(profile, job.guess_covariance, scan_scale_m));
  // What lies nearer the score stage finds from the guess without help.
  const double score_cell_size_m = profile.stages[profile.score_stage].cells.cell_size_m;
  rules.judgement = {profile.judged, profile.allowed_loss, kReachPerCell * score_cell_size_m};
  for (size_t i = 0; i < profile.stages.size(); ++i) {
    const Stage& stage = profile.stages[i];
    const double scale_m = NeedsScanScale(stage) ? scan_scale_m : stage.rotation_scale_m;
    rules.stage[i] = {stage.max_step,
                      stage.epsilon,
                      stage.max_iterations,
                      stage.step_floor,
                      stage.line_search,
                      IsAccelerated(profile, i),
                      stage.point_voxel_m > 0.0,
                      {stage.observed_ratio, scale_m}};
  }
  rules.prior = MakeGuessPrior(job, scan_scale_m);
  rules.traced = job.with_trace;
  if (job.regularization_position_map) {
    rules.regularized = true;
    rules.score_includes_regularization = profile.score_includes_regularization;
    rules.reference_x = job.regularization_position_map->x();
    rules.reference_y = job.regularization_position_map->y();
    rules.regularization_scale = profile.regularization_scale;
  }
  return rules;
}

Interrupt CheckInterrupt(const StopToken& stop) {
  if (stop.cancelled && stop.cancelled->load(std::memory_order_relaxed)) {
    return Interrupt::kCancelled;
  }
  if (stop.deadline != absl::InfiniteFuture() && absl::Now() >= stop.deadline) {
    return Interrupt::kDeadline;
  }
  return Interrupt::kNone;
}

IterationTrace MakeTrace(const ndt::IterationRecord& record, const PoseScore& score) {
  const ndt::NewtonDirection& direction = record.direction;
  IterationTrace trace;
  trace.stage = record.stage;
  trace.map_T_base = PoseFromChart(ToEigen(record.from));
  trace.score = score;
  trace.gradient = ToEigen(record.gradient);
  trace.hessian = ToEigen(record.hessian);
  trace.newton_step = ToEigen(direction.unit) * direction.norm * (direction.reversed ? -1.0 : 1.0);
  trace.newton_step_norm = direction.norm;
  trace.step_length = record.length;
  trace.reversed = direction.reversed;
  trace.slope = direction.slope;
  trace.map_T_base_after = PoseFromChart(ToEigen(record.after));
  return trace;
}

}  // namespace voxloc
