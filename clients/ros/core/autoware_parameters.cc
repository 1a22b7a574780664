// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/parameter_row.h"

namespace voxloc::ros {

std::vector<ParameterRow> AutowareParameterRows() {
  using P = Parameters;
  constexpr ActsOn kVehicle = ActsOn::kVehicle;
  constexpr ActsOn kServer = ActsOn::kServer;
  constexpr ActsOn kNotNeeded = ActsOn::kNotNeeded;
  return {
      Row("frame.base_frame", &P::frame, &FrameParameters::base_frame, kVehicle,
          "The vehicle's frame; clouds are placed in it by tf."),
      Row("frame.ndt_base_frame", &P::frame, &FrameParameters::ndt_base_frame, kVehicle,
          "The child frame of the transform that is broadcast with voxloc.tf_output = base."),
      Row("frame.map_frame", &P::frame, &FrameParameters::map_frame, kVehicle,
          "The map's frame; poses on ekf_pose_with_covariance must be in it."),

      Row("sensor_points.timeout_sec", &P::sensor_points, &SensorPointsParameters::timeout_sec,
          kVehicle,
          "Seconds, at least 0; a scan that is older, or whose stamp is farther in the future, is "
          "aligned with a warning."),
      Row("sensor_points.required_distance", &P::sensor_points,
          &SensorPointsParameters::required_distance, kVehicle,
          "Metres, at least 0; a scan whose farthest point is nearer to the base is not sent."),

      Row("ndt.trans_epsilon", &P::ndt, &NdtParameters::trans_epsilon, kServer,
          "Metres and radians, 0 to 100; the search stops at a shorter step "
          "(AlignmentOverrides.transformation_epsilon)."),
      Row("ndt.step_size", &P::ndt, &NdtParameters::step_size, kServer,
          "Metres and radians, over 0 to 100; the longest step (AlignmentOverrides.step_size_m)."),
      Row("ndt.resolution", &P::ndt, &NdtParameters::resolution, kServer,
          "Metres, over 0; the cell size is the map's own, set when it is loaded (voxloc map load "
          "--cell-size); the node warns where the map has another one, and the map feeder creates "
          "its map with it."),
      Row("ndt.max_iterations", &P::ndt, &NdtParameters::max_iterations, kServer,
          "1 to 1000; the most steps of a search (AlignmentOverrides.max_iterations)."),
      Row("ndt.num_threads", &P::ndt, &NdtParameters::num_threads, kNotNeeded,
          "Threads of Autoware's node; the server shares its own among all vehicles."),
      Row("ndt.regularization.enable", &P::ndt, &NdtParameters::regularization_enable, kVehicle,
          "Whether regularization_pose_with_covariance is subscribed to, and its position sent "
          "with "
          "each scan (Scan.reference_position)."),
      Row("ndt.regularization.scale_factor", &P::ndt, &NdtParameters::regularization_scale_factor,
          kServer,
          "At least 0; the weight of the reference position "
          "(RegularizationOptions.scale_factor)."),

      Row("initial_pose_estimation.particles_num", &P::initial_pose_estimation,
          &InitialPoseEstimationParameters::particles_num, kServer,
          "1 to 10000; the poses that ndt_align_srv aligns from (SearchOptions.particles)."),
      Row("initial_pose_estimation.n_startup_trials", &P::initial_pose_estimation,
          &InitialPoseEstimationParameters::n_startup_trials, kServer,
          "At least 1; those that are drawn at random, at most all "
          "(SearchOptions.startup_trials)."),

      Row("validation.initial_pose_timeout_sec", &P::validation,
          &ValidationParameters::initial_pose_timeout_sec, kServer,
          "Seconds, over 0; how far from the scan's stamp the poses may be that its guess is "
          "interpolated from (ValidationOptions.guess_timeout_s)."),
      Row("validation.initial_pose_distance_tolerance_m", &P::validation,
          &ValidationParameters::initial_pose_distance_tolerance_m, kServer,
          "Metres, over 0; how far apart these poses may be "
          "(ValidationOptions.guess_distance_tolerance_m)."),
      Row("validation.initial_to_result_distance_tolerance_m", &P::validation,
          &ValidationParameters::initial_to_result_distance_tolerance_m, kServer,
          "Metres, at least 0; a result farther from its guess has a warning "
          "(ValidationOptions.initial_to_result_distance_tolerance_m)."),
      Row("validation.critical_upper_bound_exe_time_ms", &P::validation,
          &ValidationParameters::critical_upper_bound_exe_time_ms, kVehicle,
          "Milliseconds, at least 0; a scan that takes longer, from the message to its answer, has "
          "a warning."),
      Row("validation.skipping_publish_num", &P::validation,
          &ValidationParameters::skipping_publish_num, kVehicle,
          "At least 1; as many scans in a row without a pose have a warning."),

      Row("score_estimation.converged_param_type", &P::score_estimation,
          &ScoreEstimationParameters::converged_param_type, kServer,
          "0 (transform probability) or 1 (nearest voxel transformation likelihood); the score "
          "that "
          "decides (GateOptions.score_type)."),
      Row("score_estimation.converged_param_transform_probability", &P::score_estimation,
          &ScoreEstimationParameters::converged_param_transform_probability, kServer,
          "Finite; the score must be over it with type 0 (GateOptions.score_threshold)."),
      Row("score_estimation.converged_param_nearest_voxel_transformation_likelihood",
          &P::score_estimation,
          &ScoreEstimationParameters::converged_param_nearest_voxel_transformation_likelihood,
          kServer,
          "Finite; the score must be over it with type 1 (GateOptions.score_threshold), and for "
          "`reliable` of ndt_align_srv with both."),
      Row("score_estimation.no_ground_points.enable", &P::score_estimation,
          &ScoreEstimationParameters::no_ground_points_enable, kServer,
          "Whether the scores without the ground are computed (OutputOptions.no_ground)."),
      Row("score_estimation.no_ground_points.z_margin_for_ground_removal", &P::score_estimation,
          &ScoreEstimationParameters::no_ground_points_z_margin_for_ground_removal, kServer,
          "Metres; points must be higher above the result to count there "
          "(NoGroundOptions.z_margin_m)."),

      Row("covariance.output_pose_covariance", &P::covariance,
          &CovarianceParameters::output_pose_covariance, kServer,
          "36 values, row-major; the fixed covariance, and the floor of the others "
          "(CovarianceOptions.fixed_covariance)."),
      Row("covariance.covariance_estimation.covariance_estimation_type", &P::covariance,
          &CovarianceParameters::covariance_estimation_type, kServer,
          "0 (fixed; with another voxloc.profile than autoware: that profile's own method), 1 "
          "(Laplace), 2 (multi NDT) or 3 (multi NDT score) (CovarianceOptions.method)."),
      Row("covariance.covariance_estimation.initial_pose_offset_model_x", &P::covariance,
          &CovarianceParameters::initial_pose_offset_model_x, kServer,
          "Metres, at most 64 values; offsets along the vehicle for types 2 and 3 "
          "(CovarianceOptions.offset_x_m)."),
      Row("covariance.covariance_estimation.initial_pose_offset_model_y", &P::covariance,
          &CovarianceParameters::initial_pose_offset_model_y, kServer,
          "Metres, as many values; offsets to its left (CovarianceOptions.offset_y_m)."),
      Row("covariance.covariance_estimation.temperature", &P::covariance,
          &CovarianceParameters::temperature, kServer,
          "Over 0; of the softmax of type 3 (CovarianceOptions.temperature)."),
      Row("covariance.covariance_estimation.scale_factor", &P::covariance,
          &CovarianceParameters::scale_factor, kServer,
          "Over 0; a factor on the estimated covariance (CovarianceOptions.scale_factor)."),

      Row("dynamic_map_loading.update_distance", &P::dynamic_map_loading,
          &DynamicMapLoadingParameters::update_distance, kVehicle,
          "Metres, at least 0; how far the vehicle moves between two updates of the map feeder and "
          "of debug/loaded_pointcloud_map. For its own memory the server has "
          "residency.update_distance_m."),
      Row("dynamic_map_loading.map_radius", &P::dynamic_map_loading,
          &DynamicMapLoadingParameters::map_radius, kVehicle,
          "Metres, over 0; around the vehicle, for the same two. The server has "
          "residency.map_radius_m."),
      Row("dynamic_map_loading.lidar_radius", &P::dynamic_map_loading,
          &DynamicMapLoadingParameters::lidar_radius, kVehicle,
          "Metres, at least 0; map_update_status is an error where the last update lies farther "
          "back "
          "than map_radius less this. The server has residency.lidar_radius_m."),
      Row("dynamic_map_loading.publish_loaded_map", &P::dynamic_map_loading,
          &DynamicMapLoadingParameters::publish_loaded_map, kVehicle,
          "Whether debug/loaded_pointcloud_map is published while somebody listens: the server's "
          "map "
          "around the vehicle, fetched after each update_distance."),
  };
}

}  // namespace voxloc::ros
