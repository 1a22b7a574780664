// SPDX-License-Identifier: Apache-2.0
//
// Every parameter of the node, typed, with its default: those of Autoware's ndt_scan_matcher under
// their own names and values, and those of the bridge under `voxloc`. parameter_table.h has their
// names, where each acts, and how they are read. A plain value.

#ifndef VOXLOC_CLIENTS_ROS_CORE_PARAMETERS_H_
#define VOXLOC_CLIENTS_ROS_CORE_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace voxloc::ros {

struct FrameParameters {
  std::string base_frame = "base_link";
  std::string ndt_base_frame = "ndt_base_link";
  std::string map_frame = "map";
};

struct SensorPointsParameters {
  double timeout_sec = 1.0;
  double required_distance = 10.0;
};

struct NdtParameters {
  double trans_epsilon = 0.01;
  double step_size = 0.1;
  double resolution = 2.0;
  int64_t max_iterations = 30;
  int64_t num_threads = 4;
  bool regularization_enable = false;
  double regularization_scale_factor = 0.01;
};

struct InitialPoseEstimationParameters {
  int64_t particles_num = 200;
  int64_t n_startup_trials = 100;
};

struct ValidationParameters {
  double initial_pose_timeout_sec = 1.0;
  double initial_pose_distance_tolerance_m = 10.0;
  double initial_to_result_distance_tolerance_m = 3.0;
  double critical_upper_bound_exe_time_ms = 100.0;
  int64_t skipping_publish_num = 5;
};

struct ScoreEstimationParameters {
  int64_t converged_param_type = 1;
  double converged_param_transform_probability = 3.0;
  double converged_param_nearest_voxel_transformation_likelihood = 2.3;
  bool no_ground_points_enable = false;
  double no_ground_points_z_margin_for_ground_removal = 0.8;
};

struct CovarianceParameters {
  // 36 values, row-major.
  std::vector<double> output_pose_covariance = {
      0.0225, 0, 0, 0,        0, 0, 0, 0.0225, 0, 0, 0,        0, 0, 0, 0.0225, 0, 0, 0,
      0,      0, 0, 0.000625, 0, 0, 0, 0,      0, 0, 0.000625, 0, 0, 0, 0,      0, 0, 0.000625};
  int64_t covariance_estimation_type = 0;
  std::vector<double> initial_pose_offset_model_x = {0.0, 0.0, 0.5, -0.5, 1.0, -1.0};
  std::vector<double> initial_pose_offset_model_y = {0.5, -0.5, 0.0, 0.0, 0.0, 0.0};
  double temperature = 0.05;
  double scale_factor = 1.0;
};

struct DynamicMapLoadingParameters {
  double update_distance = 20.0;
  double map_radius = 150.0;
  double lidar_radius = 100.0;
  bool publish_loaded_map = false;
};

// voxloc.*: the server, and what Autoware's node has no parameter for.
struct BridgeParameters {
  std::string server = "127.0.0.1:50051";
  std::string map = "map";
  std::string vehicle;  // empty: the node's name
  std::string profile = "autoware";
  bool use_line_search = false;
  std::string sensor;  // of the server's calibration; empty: "default"

  bool tls_enable = false;
  std::string tls_ca_file;
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string tls_server_name;
  std::string token;
  std::string token_file;
  bool allow_insecure_token = false;

  std::string points_encoding = "auto";  // auto, as_is, float32, int16
  double points_int16_scale_m = 0.005;
  std::string points_time_field = "none";  // none, auto, or a field's name
  bool points_drop_not_finite = false;
  double points_min_range_m = 0.0;
  double points_max_range_m = 0.0;
  std::vector<double> points_crop_min;  // x, y, z in the base frame; empty: no box
  std::vector<double> points_crop_max;
  std::vector<std::string> points_extra_topics;
  double points_max_stamp_difference_sec = 0.1;
  bool points_transform_at_stamp = false;

  std::string guess_source = "poses";   // poses, odometry
  std::string twist_source = "server";  // server, topic, odometry
  std::string odom_frame;               // empty: scans bring no odometry
  std::string tf_output = "base";       // base, odom, none
  double tf_tolerance_sec = 0.0;
  bool activate_at_start = false;
  bool from_last_pose = false;
  bool fusion = false;

  bool shadow = false;
  double shadow_max_position_m = 0.02;
  double shadow_max_rotation_deg = 0.2;

  double deadline_sec = 0.0;
  bool confidence = true;
  double min_confidence = 0.0;              // 0: as the rule says
  std::string acceptance_rule = "profile";  // profile, reference, strict
  bool recovery_enable = false;
  int64_t recovery_lost_after_scans = 10;
  double recovery_initial_radius_m = 5.0;
  double recovery_max_radius_m = 50.0;
  bool recovery_apply = false;

  int64_t search_seed = 0;
  int64_t search_guided_batch = 20;
  double search_timeout_sec = 30.0;

  bool pointcloud_map = false;
  bool map_feeder_enable = false;
  std::string map_feeder_map = "map_from_vehicles";
};

struct Parameters {
  FrameParameters frame;
  SensorPointsParameters sensor_points;
  NdtParameters ndt;
  InitialPoseEstimationParameters initial_pose_estimation;
  ValidationParameters validation;
  ScoreEstimationParameters score_estimation;
  CovarianceParameters covariance;
  DynamicMapLoadingParameters dynamic_map_loading;
  BridgeParameters voxloc;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_PARAMETERS_H_
