// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/align_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/search_client.h"
#include "clients/ros/core/result_outputs.h"
#include "clients/ros/core/serial_worker.h"
#include "clients/ros/core/session_request.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// Added to the search's timeout for the call, so that a search that times out still returns its
// best pose.
constexpr double kCallMarginS = 5.0;

AlignResponse Failure(std::string detail) {
  AlignResponse response;
  response.detail = std::move(detail);
  return response;
}

void SetHeightOnly(v1::EstimateInitialPoseRequest* request) {
  // For z, roll and pitch, which planar poses do not have: 0.5 m and 1 degree (sigma).
  constexpr double kVariances[6] = {0.25, 0.25, 0.25, 3e-4, 3e-4, 3e-4};
  request->mutable_search()->set_particles(1);
  request->mutable_search()->set_startup_trials(1);
  request->set_report_particles(false);
  v1::PoseWithCovariance& prior = *request->mutable_prior();
  for (int axis = 0; axis < 6; ++axis) {
    if (prior.covariance(7 * axis) > 0.0) continue;
    for (int other = 0; other < 6; ++other) {
      prior.set_covariance(6 * axis + other, 0.0);
      prior.set_covariance(6 * other + axis, 0.0);
    }
    prior.set_covariance(7 * axis, kVariances[axis]);
  }
}

}  // namespace

// Responds exactly once, at the latest in the destructor.
class AlignService::OneTimeResponse {
 public:
  explicit OneTimeResponse(AlignDone done) : done_(std::move(done)) {}
  ~OneTimeResponse() {
    AlignResponse response;
    response.detail = "the node is being shut down";
    Respond(response);
  }
  OneTimeResponse(const OneTimeResponse&) = delete;
  OneTimeResponse& operator=(const OneTimeResponse&) = delete;

  void Respond(const AlignResponse& response) {
    if (const AlignDone done = std::exchange(done_, nullptr)) done(response);
  }

 private:
  AlignDone done_;
};

void AlignService::HandleCall(const AlignCall& call, OneTimeResponse& answer) {
  StatusReport report(node_name_, kAlignServiceStatus);
  report.SetInt("service_call_time_stamp", call.now_ns);
  const AlignResponse response = SearchAndReport(call, report);
  report.SetBool("is_succeed_service", response.success);
  if (call.height_only) {
    answer.Respond(response);
    return;
  }
  if (!response.success) report.Warn(absl::StrCat("ndt_align failed: ", response.detail));
  // This service may already be destroyed when the task runs; the ports are not.
  publish_([output = ports_.output, stamp_ns = call.now_ns, status = report.Status()] {
    output->PublishDiagnostics(stamp_ns, status);
  });
  answer.Respond(response);
}

AlignResponse AlignService::SearchAndReport(const AlignCall& call, StatusReport& report) {
  std::optional<PoseWithCovarianceStamped> prior_map;
  if (call.prior.has_value()) {
    absl::StatusOr<PoseWithCovarianceStamped> prior = InMap(*call.prior);
    report.SetBool("is_succeed_transform_initial_pose", prior.ok());
    if (!prior.ok()) {
      report.Error(prior.status().message());
      return Failure(std::string(prior.status().message()));
    }
    prior_map = *std::move(prior);
    if (call.before_search) call.before_search(prior_map->pose.translation, report);
  }
  if (call.scan == nullptr) {
    report.SetBool("is_set_map_points", call.map_known);
    report.SetBool("is_set_sensor_points", false);
    return Failure("no scan has passed the checks yet; is the topic of points there?");
  }
  const absl::StatusOr<v1::SearchResult> result =
      Search(call, prior_map.has_value() ? &*prior_map : nullptr);
  // A search that could not be made, and one that found no cell, have no map to Autoware.
  const bool has_map = result.ok() && !result->hypotheses().empty();
  report.SetBool("is_set_map_points", has_map);
  if (!has_map) {
    AlignResponse failure =
        Failure(result.ok() ? absl::StrCat("no part of the map '", result->map(),
                                           "' lies where the pose was searched")
                            : std::string(result.status().message()));
    if (result.ok()) failure.prior_height_shift_m = result->prior_height_shift_m();
    return failure;
  }
  report.SetBool("is_set_sensor_points", true);
  AlignResponse response = ResponseFrom(*result, call, report);
  response.prior_height_shift_m = result->prior_height_shift_m();
  return response;
}

absl::StatusOr<PoseWithCovarianceStamped> AlignService::InMap(
    const PoseWithCovarianceStamped& prior) {
  VOXLOC_ASSIGN_OR_RETURN(const Pose pose,
                          PoseFromQuaternion(prior.pose.translation, prior.pose.rotation));
  PoseWithCovarianceStamped moved = prior;
  moved.pose = pose;
  const std::string& map_frame = parameters_.frame.map_frame;
  if (prior.header.frame_id == map_frame) return moved;
  const absl::StatusOr<Pose> map_T_frame =
      ports_.transforms->Lookup(map_frame, prior.header.frame_id, std::nullopt);
  if (!map_T_frame.ok()) {
    return absl::NotFoundError(absl::StrCat("the pose cannot be moved from frame '",
                                            prior.header.frame_id, "' into '", map_frame,
                                            "': ", map_T_frame.status().message()));
  }
  moved.header.frame_id = map_frame;
  moved.pose = *map_T_frame * pose;
  return moved;
}

absl::StatusOr<v1::SearchResult> AlignService::Search(const AlignCall& call,
                                                      const PoseWithCovarianceStamped* prior_map) {
  const bool particles = ports_.output->HasSubscribers(Topic::kMonteCarloInitialPoseMarker);
  v1::EstimateInitialPoseRequest request =
      SearchFrom(parameters_, node_name_, *call.scan, prior_map, particles);
  if (call.height_only) SetHeightOnly(&request);
  const auto observe = [this](const v1::SearchProgress& progress) {
    if (progress.particles_size() > 0) {
      const Header header{ports_.clock->NowNs(), parameters_.frame.map_frame};
      std::vector<ArrowMarker> markers;
      for (const v1::SearchParticle& particle : progress.particles()) {
        std::vector<ArrowMarker> arrows = ParticleMarkers(particle, header);
        std::move(arrows.begin(), arrows.end(), std::back_inserter(markers));
      }
      publish_([output = ports_.output, markers = std::move(markers)] {
        output->Publish(Topic::kMonteCarloInitialPoseMarker, markers);
      });
    }
    return !stopping_.load();
  };
  return client::EstimateInitialPose(channel_, request, observe,
                                     parameters_.voxloc.search_timeout_sec + kCallMarginS);
}

AlignResponse AlignService::ResponseFrom(const v1::SearchResult& result, const AlignCall& call,
                                         StatusReport& report) {
  const v1::PoseHypothesis& best = result.hypotheses(0);
  const absl::StatusOr<Pose> map_T_base = client::DecodePose(best.map_t_base().pose());
  if (!map_T_base.ok()) return Failure(std::string(map_T_base.status().message()));
  const double nvtl = best.scores().nvtl();
  report.SetDouble("best_particle_score", nvtl);
  AlignResponse response;
  response.success = true;
  response.reliable =
      nvtl > parameters_.score_estimation.converged_param_nearest_voxel_transformation_likelihood;
  response.ambiguous = result.ambiguous();
  response.pose_with_covariance.header.frame_id = parameters_.frame.map_frame;
  response.pose_with_covariance.pose = *map_T_base;
  if (call.prior.has_value()) {
    response.pose_with_covariance.header.stamp_ns = call.prior->header.stamp_ns;
    response.pose_with_covariance.covariance = call.prior->covariance;
  } else {
    response.pose_with_covariance.header.stamp_ns = call.scan->stamp_ns();
  }
  return response;
}

void AlignService::Call(AlignCall call, AlignDone done) {
  auto answer = std::make_shared<OneTimeResponse>(std::move(done));
  auto task = [this, call = std::move(call), answer] { HandleCall(call, *answer); };
  if (worker_.Post(std::move(task))) return;
  answer->Respond(Failure(absl::StrCat("at most ", kMaxWaiting, " searches can wait")));
}

}  // namespace voxloc::ros
