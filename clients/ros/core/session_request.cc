// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/session_request.h"

#include <algorithm>
#include <limits>

#include "clients/cpp/messages.h"

namespace voxloc::ros {
namespace {

// Disables a check of the server that the vehicle does itself: eleven days.
constexpr double kDisabledLimitS = 1e6;

// Autoware's defaults are those of the profile "autoware". With another profile they would override
// its values, so only parameters that differ from their defaults are sent.
const Parameters& Defaults() {
  static const Parameters* const kDefaults = new Parameters();
  return *kDefaults;
}

void AddOverrides(const NdtParameters& ndt, v1::AlignmentOptions* options) {
  const NdtParameters& defaults = Defaults().ndt;
  if (ndt.trans_epsilon != defaults.trans_epsilon) {
    options->mutable_overrides()->mutable_transformation_epsilon()->set_value(ndt.trans_epsilon);
  }
  if (ndt.step_size != defaults.step_size) {
    options->mutable_overrides()->mutable_step_size_m()->set_value(ndt.step_size);
  }
  if (ndt.max_iterations != defaults.max_iterations) {
    options->mutable_overrides()->mutable_max_iterations()->set_value(
        static_cast<uint32_t>(ndt.max_iterations));
  }
  if (ndt.regularization_enable) {
    v1::RegularizationOptions& pull = *options->mutable_overrides()->mutable_regularization();
    pull.mutable_enable()->set_value(true);
    pull.mutable_scale_factor()->set_value(ndt.regularization_scale_factor);
  }
}

void AddScores(const ScoreEstimationParameters& score, v1::GateOptions* gate) {
  const ScoreEstimationParameters& defaults = Defaults().score_estimation;
  const bool by_tp = score.converged_param_type == 0;
  const double threshold = by_tp ? score.converged_param_transform_probability
                                 : score.converged_param_nearest_voxel_transformation_likelihood;
  if (score.converged_param_type == defaults.converged_param_type &&
      threshold == defaults.converged_param_nearest_voxel_transformation_likelihood) {
    return;
  }
  gate->set_score_type(by_tp ? v1::SCORE_TYPE_TRANSFORM_PROBABILITY : v1::SCORE_TYPE_NVTL);
  gate->mutable_score_threshold()->set_value(threshold);
}

void AddValidation(const ValidationParameters& validation, v1::ValidationOptions* options) {
  options->mutable_guess_timeout_s()->set_value(validation.initial_pose_timeout_sec);
  options->mutable_guess_distance_tolerance_m()->set_value(
      validation.initial_pose_distance_tolerance_m);
  options->mutable_initial_to_result_distance_tolerance_m()->set_value(
      validation.initial_to_result_distance_tolerance_m);
  options->mutable_required_distance_m()->set_value(0.0);
  options->mutable_max_execution_time_s()->set_value(kDisabledLimitS);
  options->mutable_max_delay_s()->set_value(kDisabledLimitS);
  options->mutable_max_skipped_scans()->set_value(std::numeric_limits<uint32_t>::max());
}

v1::CovarianceMethod MethodOf(int64_t covariance_estimation_type) {
  switch (covariance_estimation_type) {
    case 1:
      return v1::COVARIANCE_METHOD_LAPLACE;
    case 2:
      return v1::COVARIANCE_METHOD_MULTI_NDT;
    case 3:
      return v1::COVARIANCE_METHOD_MULTI_NDT_SCORE;
    default:
      return v1::COVARIANCE_METHOD_UNSPECIFIED;
  }
}

void AddCovariance(const CovarianceParameters& covariance, v1::AlignmentOptions* options) {
  const CovarianceParameters& defaults = Defaults().covariance;
  v1::CovarianceOptions chosen;
  chosen.set_method(MethodOf(covariance.covariance_estimation_type));
  if (covariance.output_pose_covariance != defaults.output_pose_covariance) {
    for (const double value : covariance.output_pose_covariance) {
      chosen.add_fixed_covariance(value);
    }
  }
  if (covariance.initial_pose_offset_model_x != defaults.initial_pose_offset_model_x ||
      covariance.initial_pose_offset_model_y != defaults.initial_pose_offset_model_y) {
    for (const double value : covariance.initial_pose_offset_model_x) chosen.add_offset_x_m(value);
    for (const double value : covariance.initial_pose_offset_model_y) chosen.add_offset_y_m(value);
  }
  if (covariance.temperature != defaults.temperature) {
    chosen.mutable_temperature()->set_value(covariance.temperature);
  }
  if (covariance.scale_factor != defaults.scale_factor) {
    chosen.mutable_scale_factor()->set_value(covariance.scale_factor);
  }
  if (chosen.ByteSizeLong() > 0) *options->mutable_covariance() = std::move(chosen);
}

}  // namespace

client::ChannelOptions ChannelOptionsFrom(const BridgeParameters& parameters) {
  client::ChannelOptions options;
  options.server = parameters.server;
  options.tls = parameters.tls_enable;
  options.tls_ca_file = parameters.tls_ca_file;
  options.tls_certificate_file = parameters.tls_certificate_file;
  options.tls_key_file = parameters.tls_key_file;
  options.tls_server_name = parameters.tls_server_name;
  options.token = parameters.token;
  options.token_file = parameters.token_file;
  options.allow_insecure_token = parameters.allow_insecure_token;
  return options;
}

CloudEncodingOptions EncodingFrom(const BridgeParameters& parameters) {
  CloudEncodingOptions options;
  const std::string& encoding = parameters.points_encoding;
  options.encoding = encoding == "as_is"     ? CloudEncoding::kAsIs
                     : encoding == "float32" ? CloudEncoding::kFloat32
                     : encoding == "int16"   ? CloudEncoding::kInt16
                                             : CloudEncoding::kAuto;
  options.int16_scale_m = parameters.points_int16_scale_m;
  options.time.any = parameters.points_time_field == "auto";
  if (!options.time.any && parameters.points_time_field != "none") {
    options.time.name = parameters.points_time_field;
  }
  options.preparation.drop_not_finite = parameters.points_drop_not_finite;
  options.preparation.min_range_m = parameters.points_min_range_m;
  options.preparation.max_range_m = parameters.points_max_range_m;
  if (!parameters.points_crop_min.empty()) {
    options.preparation.crop_base =
        CloudPreparation::Box{Eigen::Vector3d(parameters.points_crop_min.data()),
                              Eigen::Vector3d(parameters.points_crop_max.data())};
  }
  return options;
}

v1::ScanSetup SetupFrom(const Parameters& parameters, const std::string& node_name) {
  const BridgeParameters& bridge = parameters.voxloc;
  v1::ScanSetup setup;
  setup.set_map(bridge.map);
  setup.set_vehicle(bridge.vehicle.empty() ? node_name : bridge.vehicle);
  v1::AlignmentOptions& options = *setup.mutable_options();
  options.set_profile(bridge.profile);
  options.set_sensor(bridge.sensor);
  AddOverrides(parameters.ndt, &options);
  if (bridge.use_line_search) {
    options.mutable_overrides()->set_line_search(v1::LINE_SEARCH_MORE_THUENTE);
  }
  AddScores(parameters.score_estimation, options.mutable_gate());
  AddValidation(parameters.validation, options.mutable_gate()->mutable_validation());
  if (bridge.min_confidence > 0.0) {
    options.mutable_gate()->mutable_min_confidence()->set_value(bridge.min_confidence);
  }
  if (bridge.acceptance_rule == "reference") {
    options.mutable_gate()->set_rule(v1::ACCEPTANCE_RULE_REFERENCE);
  } else if (bridge.acceptance_rule == "strict") {
    options.mutable_gate()->set_rule(v1::ACCEPTANCE_RULE_STRICT);
  }
  AddCovariance(parameters.covariance, &options);
  setup.mutable_output()->set_no_confidence(!bridge.confidence);
  return setup;
}

v1::OutputOptions OutputsFor(const Parameters& parameters, const Output& output) {
  v1::OutputOptions options;
  options.set_diagnostics(true);
  options.set_no_confidence(!parameters.voxloc.confidence);
  options.set_trace(output.HasSubscribers(Topic::kNdtMarker));
  const bool scores = output.HasSubscribers(Topic::kVoxelScorePoints);
  options.set_point_scores(scores);
  options.set_point_colors(scores);
  options.set_aligned_cloud(scores || output.HasSubscribers(Topic::kPointsAligned));
  const ScoreEstimationParameters& score = parameters.score_estimation;
  if (score.no_ground_points_enable) {
    v1::NoGroundOptions& no_ground = *options.mutable_no_ground();
    no_ground.set_z_margin_m(score.no_ground_points_z_margin_for_ground_removal);
    no_ground.set_cloud(output.HasSubscribers(Topic::kPointsAlignedNoGround));
  }
  return options;
}

v1::OpenSession OpenSessionFrom(const Parameters& parameters, const std::string& node_name,
                                bool simulated_clock) {
  const BridgeParameters& bridge = parameters.voxloc;
  v1::OpenSession open;
  *open.mutable_setup() = SetupFrom(parameters, node_name);
  open.mutable_setup()->mutable_output()->set_diagnostics(true);
  open.set_clock(simulated_clock ? v1::STAMP_CLOCK_OWN : v1::STAMP_CLOCK_UNIX);
  open.mutable_limits()->set_max_waiting_scans(1);
  open.mutable_limits()->set_timeout_s(bridge.deadline_sec);
  open.set_from_last_pose(bridge.from_last_pose);
  if (bridge.fusion) open.mutable_fusion();
  if (bridge.recovery_enable) {
    v1::RecoveryOptions& recovery = *open.mutable_recovery();
    recovery.set_lost_after_scans(static_cast<uint32_t>(bridge.recovery_lost_after_scans));
    recovery.set_initial_radius_m(bridge.recovery_initial_radius_m);
    recovery.set_max_radius_m(bridge.recovery_max_radius_m);
    recovery.set_apply(bridge.recovery_apply);
  }
  return open;
}

v1::BeginUpdate BeginUpdateFrom(const Parameters& parameters, const std::string& map, bool exists) {
  v1::BeginUpdate begin;
  begin.set_map(map);
  begin.set_create(true);
  if (!exists && parameters.ndt.resolution != Defaults().ndt.resolution) {
    begin.mutable_options()->mutable_cell_size_m()->set_value(parameters.ndt.resolution);
  }
  return begin;
}

void EncodeCovariance(const Matrix6& covariance, v1::PoseWithCovariance* message) {
  for (int i = 0; i < 36; ++i) message->add_covariance(covariance(i / 6, i % 6));
}

v1::EstimateInitialPoseRequest SearchFrom(const Parameters& parameters,
                                          const std::string& node_name, const v1::Scan& scan,
                                          const PoseWithCovarianceStamped* prior_map,
                                          bool report_particles) {
  v1::EstimateInitialPoseRequest request;
  *request.mutable_setup() = SetupFrom(parameters, node_name);
  *request.mutable_scan() = scan;
  const InitialPoseEstimationParameters& search = parameters.initial_pose_estimation;
  request.mutable_search()->set_particles(static_cast<uint32_t>(search.particles_num));
  request.mutable_search()->set_startup_trials(
      static_cast<uint32_t>(std::min(search.n_startup_trials, search.particles_num)));
  request.mutable_search()->set_guided_batch(
      static_cast<uint32_t>(parameters.voxloc.search_guided_batch));
  request.mutable_search()->set_seed(static_cast<uint64_t>(parameters.voxloc.search_seed));
  if (prior_map == nullptr) {
    request.mutable_whole_map();
  } else {
    client::EncodePose(prior_map->pose, request.mutable_prior()->mutable_pose());
    EncodeCovariance(prior_map->covariance, request.mutable_prior());
  }
  request.set_timeout_s(parameters.voxloc.search_timeout_sec);
  request.set_report_particles(report_particles);
  return request;
}

}  // namespace voxloc::ros
