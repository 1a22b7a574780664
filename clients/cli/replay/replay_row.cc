// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_row.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "absl/status/statusor.h"
#include "clients/cli/output/message_json.h"
#include "clients/cli/output/result_text.h"
#include "clients/cpp/messages.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {
namespace {

void FillEstimates(const v1::AlignmentResult& result, ReplayRow* row) {
  row->protection = ProtectionJson(result);
  if (result.has_confidence()) row->confidence = result.confidence().value();
  row->unobserved_axes = UnobservedAxes(result);
  row->weak_axes = WeakAxes(result);
  row->least_observed = LeastObservedJson(result);
  row->sigma_shares = SharesOf(result);
  if (result.map_t_base().covariance_size() != 36) return;
  row->covariance.assign(result.map_t_base().covariance().begin(),
                         result.map_t_base().covariance().end());
  using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
  const Eigen::Matrix3d position =
      Eigen::Map<const RowMajor6>(row->covariance.data()).topLeftCorner<3, 3>();
  const double largest = position.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff();
  row->position_sigma_m = std::sqrt(std::max(largest, 0.0));
}

}  // namespace

void FillRow(const v1::AlignmentResult& result, double latency_ms, ReplayRow* row) {
  row->answered = result.status() != v1::ALIGNMENT_STATUS_SUPERSEDED;
  row->accepted = result.accepted();
  row->status = client::StatusName(result.status());
  row->detail = result.detail();
  row->latency_ms = latency_ms;
  row->engine_ms = 1e3 * result.timings().align_s();
  row->queue_ms = 1e3 * result.timings().queue_wait_s();
  row->server_ms = 1e3 * result.timings().server_s();
  row->map_revision = result.map_revision();
  row->tiles_missing = result.tiles_missing();
  row->engine = result.engine();
  row->diagnostics = DiagnosticsJson(result);
  row->trace = TraceJson(result);
  if (result.has_recovery()) row->recovery = MessageJson(result.recovery());
  if (!result.has_map_t_base()) return;
  const absl::StatusOr<Pose> pose = client::DecodePose(result.map_t_base().pose());
  if (!pose.ok()) return;
  row->map_T_base = *pose;
  row->translation_error_m = TranslationDistance(*pose, row->truth_map_T_base);
  row->rotation_error_deg = kDegreesPerRadian * RotationDistance(*pose, row->truth_map_T_base);
  FillEstimates(result, row);
  row->score = result.scores().score();
  row->transform_probability = result.scores().transform_probability();
  row->nvtl = result.scores().nvtl();
  row->matched_ratio = result.scores().matched_ratio();
  row->iterations = result.iterations();
  row->evaluations = result.evaluations();
  row->termination = client::TerminationName(result.termination_reason());
  row->points_used = result.points().used();
}

}  // namespace voxloc::cli
