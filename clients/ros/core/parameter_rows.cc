// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>

#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros {
namespace {

// The contract's limits of iterations, steps and batches; the server's of particles.
constexpr double kMaxIterations = 1000.0;
constexpr double kMaxStep = 100.0;
constexpr double kMaxParticles = 10'000.0;
constexpr double kMaxGuidedBatch = 256.0;
constexpr double kMaxScans = std::numeric_limits<uint32_t>::max();

}  // namespace

std::vector<ParameterRow> ParameterRows(Parameters& p) {
  constexpr ActsOn kVehicle = ActsOn::kVehicle;
  constexpr ActsOn kServer = ActsOn::kServer;
  constexpr ActsOn kNotNeeded = ActsOn::kNotNeeded;
  return {
      // Of Autoware's node, in the order of its file.
      {"frame.base_frame", &p.frame.base_frame, kVehicle, Any(),
       "The vehicle's frame; clouds are placed in it by tf."},
      {"frame.ndt_base_frame", &p.frame.ndt_base_frame, kVehicle, Any(),
       "The child frame of the transform that is broadcast with voxloc.tf_output = base."},
      {"frame.map_frame", &p.frame.map_frame, kVehicle, Any(),
       "The map's frame; poses on ekf_pose_with_covariance must be in it."},

      {"sensor_points.timeout_sec", &p.sensor_points.timeout_sec, kVehicle, AtLeast(0.0),
       "Seconds, at least 0; a scan that is older, or whose stamp is farther in the future, is "
       "aligned with a warning."},
      {"sensor_points.required_distance", &p.sensor_points.required_distance, kVehicle,
       AtLeast(0.0),
       "Metres, at least 0; a scan whose farthest point is nearer to the base is not sent."},

      {"ndt.trans_epsilon", &p.ndt.trans_epsilon, kServer, AtLeast(0.0, kMaxStep),
       "Metres and radians, 0 to 100; the search stops at a shorter step "
       "(AlignmentOverrides.transformation_epsilon)."},
      {"ndt.step_size", &p.ndt.step_size, kServer, Over(0.0, kMaxStep),
       "Metres and radians, over 0 to 100; the longest step (AlignmentOverrides.step_size_m)."},
      {"ndt.resolution", &p.ndt.resolution, kServer, Over(0.0),
       "Metres, over 0; the cell size is the map's own, set when it is loaded (voxloc map load "
       "--cell-size); the node warns where the map has another one, and the map feeder creates its "
       "map with it."},
      {"ndt.max_iterations", &p.ndt.max_iterations, kServer, AtLeast(1.0, kMaxIterations),
       "1 to 1000; the most steps of a search (AlignmentOverrides.max_iterations)."},
      {"ndt.num_threads", &p.ndt.num_threads, kNotNeeded, Any(),
       "Threads of Autoware's node; the server shares its own among all vehicles."},
      {"ndt.regularization.enable", &p.ndt.regularization_enable, kVehicle, Any(),
       "Whether regularization_pose_with_covariance is subscribed to, and its position sent with "
       "each scan (Scan.reference_position)."},
      {"ndt.regularization.scale_factor", &p.ndt.regularization_scale_factor, kServer, AtLeast(0.0),
       "At least 0; the weight of the reference position (RegularizationOptions.scale_factor)."},

      {"initial_pose_estimation.particles_num", &p.initial_pose_estimation.particles_num, kServer,
       AtLeast(1.0, kMaxParticles),
       "1 to 10000; the poses that ndt_align_srv aligns from (SearchOptions.particles)."},
      {"initial_pose_estimation.n_startup_trials", &p.initial_pose_estimation.n_startup_trials,
       kServer, AtLeast(1.0),
       "At least 1; those that are drawn at random, at most all (SearchOptions.startup_trials)."},

      {"validation.initial_pose_timeout_sec", &p.validation.initial_pose_timeout_sec, kServer,
       Over(0.0),
       "Seconds, over 0; how far from the scan's stamp the poses may be that its guess is "
       "interpolated from (ValidationOptions.guess_timeout_s)."},
      {"validation.initial_pose_distance_tolerance_m",
       &p.validation.initial_pose_distance_tolerance_m, kServer, Over(0.0),
       "Metres, over 0; how far apart these poses may be "
       "(ValidationOptions.guess_distance_tolerance_m)."},
      {"validation.initial_to_result_distance_tolerance_m",
       &p.validation.initial_to_result_distance_tolerance_m, kServer, AtLeast(0.0),
       "Metres, at least 0; a result farther from its guess has a warning "
       "(ValidationOptions.initial_to_result_distance_tolerance_m)."},
      {"validation.critical_upper_bound_exe_time_ms",
       &p.validation.critical_upper_bound_exe_time_ms, kVehicle, AtLeast(0.0),
       "Milliseconds, at least 0; a scan that takes longer, from the message to its answer, has a "
       "warning."},
      {"validation.skipping_publish_num", &p.validation.skipping_publish_num, kVehicle,
       AtLeast(1.0), "At least 1; as many scans in a row without a pose have a warning."},

      {"score_estimation.converged_param_type", &p.score_estimation.converged_param_type, kServer,
       AtLeast(0.0, 1.0),
       "0 (transform probability) or 1 (nearest voxel transformation likelihood); the score that "
       "decides (GateOptions.score_type)."},
      {"score_estimation.converged_param_transform_probability",
       &p.score_estimation.converged_param_transform_probability, kServer, Finite(),
       "Finite; the score must be over it with type 0 (GateOptions.score_threshold)."},
      {"score_estimation.converged_param_nearest_voxel_transformation_likelihood",
       &p.score_estimation.converged_param_nearest_voxel_transformation_likelihood, kServer,
       Finite(),
       "Finite; the score must be over it with type 1 (GateOptions.score_threshold), and for "
       "`reliable` of ndt_align_srv with both."},
      {"score_estimation.no_ground_points.enable", &p.score_estimation.no_ground_points_enable,
       kServer, Any(),
       "Whether the scores without the ground are computed (OutputOptions.no_ground)."},
      {"score_estimation.no_ground_points.z_margin_for_ground_removal",
       &p.score_estimation.no_ground_points_z_margin_for_ground_removal, kServer, Finite(),
       "Metres; points must be higher above the result to count there "
       "(NoGroundOptions.z_margin_m)."},

      {"covariance.output_pose_covariance", &p.covariance.output_pose_covariance, kServer, Any(),
       "36 values, row-major; the fixed covariance, and the floor of the others "
       "(CovarianceOptions.fixed_covariance)."},
      {"covariance.covariance_estimation.covariance_estimation_type",
       &p.covariance.covariance_estimation_type, kServer, AtLeast(0.0, 3.0),
       "0 (fixed; with another voxloc.profile than autoware: that profile's own method), 1 "
       "(Laplace), 2 (multi NDT) or 3 (multi NDT score) (CovarianceOptions.method)."},
      {"covariance.covariance_estimation.initial_pose_offset_model_x",
       &p.covariance.initial_pose_offset_model_x, kServer, Any(),
       "Metres, at most 64 values; offsets along the vehicle for types 2 and 3 "
       "(CovarianceOptions.offset_x_m)."},
      {"covariance.covariance_estimation.initial_pose_offset_model_y",
       &p.covariance.initial_pose_offset_model_y, kServer, Any(),
       "Metres, as many values; offsets to its left (CovarianceOptions.offset_y_m)."},
      {"covariance.covariance_estimation.temperature", &p.covariance.temperature, kServer,
       Over(0.0), "Over 0; of the softmax of type 3 (CovarianceOptions.temperature)."},
      {"covariance.covariance_estimation.scale_factor", &p.covariance.scale_factor, kServer,
       Over(0.0), "Over 0; a factor on the estimated covariance (CovarianceOptions.scale_factor)."},

      {"dynamic_map_loading.update_distance", &p.dynamic_map_loading.update_distance, kVehicle,
       AtLeast(0.0),
       "Metres, at least 0; how far the vehicle moves between two updates of the map feeder and of "
       "debug/loaded_pointcloud_map. For its own memory the server has "
       "residency.update_distance_m."},
      {"dynamic_map_loading.map_radius", &p.dynamic_map_loading.map_radius, kVehicle, Over(0.0),
       "Metres, over 0; around the vehicle, for the same two. The server has "
       "residency.map_radius_m."},
      {"dynamic_map_loading.lidar_radius", &p.dynamic_map_loading.lidar_radius, kVehicle,
       AtLeast(0.0),
       "Metres, at least 0; map_update_status is an error where the last update lies farther back "
       "than map_radius less this. The server has residency.lidar_radius_m."},
      {"dynamic_map_loading.publish_loaded_map", &p.dynamic_map_loading.publish_loaded_map,
       kVehicle, Any(),
       "Whether debug/loaded_pointcloud_map is published while somebody listens: the server's map "
       "around the vehicle, fetched after each update_distance."},

      // Of the bridge.
      {"voxloc.server", &p.voxloc.server, kVehicle, Any(),
       "HOST:PORT or unix:PATH of the server, or several separated by commas, in the order in "
       "which they are tried."},
      {"voxloc.map", &p.voxloc.map, kServer, Any(),
       "Name of the map on the server (ScanSetup.map)."},
      {"voxloc.vehicle", &p.voxloc.vehicle, kServer, Any(),
       "Name of the vehicle in the server's logs, metrics and access rules, at most 128 bytes; "
       "empty: the node's name (ScanSetup.vehicle)."},
      {"voxloc.profile", &p.voxloc.profile, kServer, Any(),
       "Profile of the alignment (AlignmentOptions.profile). With another than autoware, "
       "Autoware's parameters act only where they differ from their defaults."},
      {"voxloc.use_line_search", &p.voxloc.use_line_search, kServer, Any(),
       "Whether the length of each step is searched, up to ndt.step_size "
       "(AlignmentOverrides.line_search): Autoware's use_line_search, which is in its code without "
       "a parameter, and off. false: as the profile has it."},
      {"voxloc.sensor", &p.voxloc.sensor, kServer, Any(),
       "Name of the sensor in the server's calibration; empty: default (AlignmentOptions.sensor)."},
      {"voxloc.tls.enable", &p.voxloc.tls_enable, kVehicle, Any(),
       "Whether the connection is encrypted and the server proves its name."},
      {"voxloc.tls.ca_file", &p.voxloc.tls_ca_file, kVehicle, Any(),
       "PEM file of the authorities that vouch for the server; empty: the system's."},
      {"voxloc.tls.certificate_file", &p.voxloc.tls_certificate_file, kVehicle, Any(),
       "PEM file of the vehicle's own certificate; empty: none."},
      {"voxloc.tls.key_file", &p.voxloc.tls_key_file, kVehicle, Any(),
       "PEM file of its key; empty: none."},
      {"voxloc.tls.server_name", &p.voxloc.tls_server_name, kVehicle, Any(),
       "The name that the server's certificate must have; empty: the host of the address."},
      {"voxloc.token", &p.voxloc.token, kVehicle, Any(),
       "Bearer token that goes with each call; empty: none. Other nodes can read parameters: "
       "prefer voxloc.token_file."},
      {"voxloc.token_file", &p.voxloc.token_file, kVehicle, Any(),
       "File of the token, read for every call and session; empty: none."},
      {"voxloc.allow_insecure_token", &p.voxloc.allow_insecure_token, kVehicle, Any(),
       "Whether a token may leave the machine without TLS."},

      {"voxloc.points.encoding", &p.voxloc.points_encoding, kVehicle,
       OneOf("auto, as_is, float32, int16"),
       "auto, as_is, float32 or int16: how points travel; only int16 rounds them."},
      {"voxloc.points.int16_scale_m", &p.voxloc.points_int16_scale_m, kVehicle, Over(0.0, 1.0),
       "Metres per unit of int16, over 0 to 1; points beyond 32767 units on an axis are left out."},
      {"voxloc.points.time_field", &p.voxloc.points_time_field, kVehicle, Any(),
       "none, auto or a field's name: which times of points are sent, so that the server deskews "
       "the scan. none is right for clouds that are deskewed already."},
      {"voxloc.points.drop_not_finite", &p.voxloc.points_drop_not_finite, kVehicle, Any(),
       "Whether points that are not finite are left out before sending."},
      {"voxloc.points.min_range_m", &p.voxloc.points_min_range_m, kVehicle, AtLeast(0.0),
       "Metres from the sensor, at least 0; nearer points are left out before sending."},
      {"voxloc.points.max_range_m", &p.voxloc.points_max_range_m, kVehicle, AtLeast(0.0),
       "Metres from the sensor; farther points are left out before sending; 0: none are."},
      {"voxloc.points.crop_min", &p.voxloc.points_crop_min, kVehicle, Any(),
       "x, y, z in metres in the base frame; points outside of the box from here to crop_max are "
       "left out before sending; empty: no box."},
      {"voxloc.points.crop_max", &p.voxloc.points_crop_max, kVehicle, Any(),
       "x, y, z in metres, none below crop_min; empty: no box."},
      {"voxloc.points.extra_topics", &p.voxloc.points_extra_topics, kVehicle, Any(),
       "Topics of more LiDARs, at most 15, whose clouds join those of points_raw in one scan."},
      {"voxloc.points.max_stamp_difference_sec", &p.voxloc.points_max_stamp_difference_sec,
       kVehicle, Over(0.0, 1.0),
       "Seconds, over 0 to 1; clouds join whose stamps differ by at most this."},
      {"voxloc.points.transform_at_stamp", &p.voxloc.points_transform_at_stamp, kVehicle, Any(),
       "Whether the mount is looked up at the cloud's stamp, for sensors that move on the vehicle, "
       "in place of the latest one, as Autoware does."},

      {"voxloc.guess_source", &p.voxloc.guess_source, kVehicle, OneOf("poses, odometry"),
       "poses (of ekf_pose_with_covariance, as Autoware) or odometry (the last accepted result, "
       "carried on by voxloc.odom_frame; the first from initialpose)."},
      {"voxloc.twist_source", &p.voxloc.twist_source, kVehicle, OneOf("server, topic, odometry"),
       "server (from the poses around the scan), topic (twist or twist_with_covariance) or "
       "odometry (from tf): the motion that scans with times of points are deskewed by."},
      {"voxloc.odom_frame", &p.voxloc.odom_frame, kVehicle, Any(),
       "Frame of the vehicle's odometry in tf, sent with each scan where it is known at its stamp "
       "(Scan.odom_t_base); empty: none."},
      {"voxloc.tf_output", &p.voxloc.tf_output, kVehicle, OneOf("base, odom, none"),
       "base (map to frame.ndt_base_frame for each aligned scan, as Autoware), odom (map to "
       "voxloc.odom_frame for each accepted one, as Nav2 expects) or none."},
      {"voxloc.tf_tolerance_sec", &p.voxloc.tf_tolerance_sec, kVehicle, AtLeast(0.0),
       "Seconds, at least 0, that transforms are stamped later than their scans."},
      {"voxloc.activate_at_start", &p.voxloc.activate_at_start, kVehicle, Any(),
       "Whether the node is active before trigger_node_srv is called."},
      {"voxloc.from_last_pose", &p.voxloc.from_last_pose, kServer, Any(),
       "Whether a session begins where the vehicle was last (OpenSession.from_last_pose)."},
      {"voxloc.fusion", &p.voxloc.fusion, kServer, Any(),
       "Whether the session fuses accepted results with the odometry of voxloc.odom_frame in a "
       "filter (OpenSession.fusion), whose pose is published on fused_pose_with_covariance and "
       "broadcast with voxloc.tf_output = odom."},

      {"voxloc.shadow", &p.voxloc.shadow, kVehicle, Any(),
       "Whether the node runs beside the vehicle's localizer and compares itself with it: topics "
       "and services are offered under shadow/, nothing is broadcast to /tf, and the node is "
       "active from the start."},
      {"voxloc.shadow_max_position_m", &p.voxloc.shadow_max_position_m, kVehicle, AtLeast(0.0),
       "Metres, at least 0; shadow_status warns of a larger difference of position."},
      {"voxloc.shadow_max_rotation_deg", &p.voxloc.shadow_max_rotation_deg, kVehicle,
       AtLeast(0.0, 180.0),
       "Degrees, 0 to 180; shadow_status warns of a larger difference of rotation."},

      {"voxloc.deadline_sec", &p.voxloc.deadline_sec, kServer, AtLeast(0.0),
       "Seconds from receipt, at least 0, after which the answer to a scan is of no use; 0: none "
       "(SessionLimits.timeout_s)."},
      {"voxloc.confidence", &p.voxloc.confidence, kServer, Any(),
       "Whether the probability that a pose is right is published (Confidence.value)."},
      {"voxloc.min_confidence", &p.voxloc.min_confidence, kServer, AtLeast(0.0, 1.0),
       "0 to 1; a result whose confidence is lower is not published (GateOptions.min_confidence); "
       "0: the limit of the rule."},
      {"voxloc.acceptance_rule", &p.voxloc.acceptance_rule, kServer,
       OneOf("profile, reference, strict"),
       "profile (reference for autoware, strict for others), reference (as Autoware) or strict "
       "(also by confidence and by what the scan observes): what is published (GateOptions.rule)."},
      {"voxloc.recovery.enable", &p.voxloc.recovery_enable, kServer, Any(),
       "Whether the server looks for the vehicle once lost (OpenSession.recovery)."},
      {"voxloc.recovery.lost_after_scans", &p.voxloc.recovery_lost_after_scans, kServer,
       AtLeast(1.0, kMaxScans),
       "At least 1; scans in a row without an accepted result before it does."},
      {"voxloc.recovery.initial_radius_m", &p.voxloc.recovery_initial_radius_m, kServer, Over(0.0),
       "Metres, over 0; radius of the first search."},
      {"voxloc.recovery.max_radius_m", &p.voxloc.recovery_max_radius_m, kServer, Any(),
       "Metres, at least initial_radius_m; radius that it grows to."},
      {"voxloc.recovery.apply", &p.voxloc.recovery_apply, kServer, Any(),
       "Whether a confirmed pose is taken as the vehicle's."},

      {"voxloc.search.seed", &p.voxloc.search_seed, kServer, AtLeast(0.0),
       "At least 0; seed of the searches (SearchOptions.seed)."},
      {"voxloc.search.guided_batch", &p.voxloc.search_guided_batch, kServer,
       AtLeast(1.0, kMaxGuidedBatch),
       "1 to 256; poses of ndt_align_srv after n_startup_trials that are chosen, and aligned, at a "
       "time (SearchOptions.guided_batch). 1: each by the scores of all before it, as Autoware; "
       "slower, above all on a GPU."},
      {"voxloc.search.timeout_sec", &p.voxloc.search_timeout_sec, kServer, Over(0.0),
       "Seconds, over 0, after which a search gives its best pose so far."},

      {"voxloc.pointcloud_map", &p.voxloc.pointcloud_map, kVehicle, Any(),
       "Whether the map that is published on pointcloud_map becomes voxloc.map on the server, in "
       "place of what this map had."},
      {"voxloc.map_feeder.enable", &p.voxloc.map_feeder_enable, kVehicle, Any(),
       "Whether the tiles of pcd_loader_service are brought to the server."},
      {"voxloc.map_feeder.map", &p.voxloc.map_feeder_map, kServer, Any(),
       "Name of the map that they become part of; nothing is removed from it. Scans are aligned to "
       "voxloc.map."},
  };
}

}  // namespace voxloc::ros
