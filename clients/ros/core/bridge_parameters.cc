// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/parameter_row.h"

namespace voxloc::ros {
namespace {

template <typename Value>
ParameterRow Own(const char* name, Value BridgeParameters::*member, ActsOn acts_on,
                 const char* meaning) {
  return Row(name, &Parameters::voxloc, member, acts_on, meaning);
}

}  // namespace

std::vector<ParameterRow> BridgeParameterRows() {
  using B = BridgeParameters;
  constexpr ActsOn kVehicle = ActsOn::kVehicle;
  constexpr ActsOn kServer = ActsOn::kServer;
  return {
      Own("voxloc.server", &B::server, kVehicle,
          "HOST:PORT or unix:PATH of the server, or several separated by commas, in the order in "
          "which they are tried."),
      Own("voxloc.map", &B::map, kServer, "Name of the map on the server (ScanSetup.map)."),
      Own("voxloc.vehicle", &B::vehicle, kServer,
          "Name of the vehicle in the server's logs, metrics and access rules, at most 128 bytes; "
          "empty: the node's name (ScanSetup.vehicle)."),
      Own("voxloc.profile", &B::profile, kServer,
          "Profile of the alignment (AlignmentOptions.profile). With another than autoware, "
          "Autoware's parameters act only where they differ from their defaults."),
      Own("voxloc.sensor", &B::sensor, kServer,
          "Name of the sensor in the server's calibration; empty: default "
          "(AlignmentOptions.sensor)."),
      Own("voxloc.tls.enable", &B::tls_enable, kVehicle,
          "Whether the connection is encrypted and the server proves its name."),
      Own("voxloc.tls.ca_file", &B::tls_ca_file, kVehicle,
          "PEM file of the authorities that vouch for the server; empty: the system's."),
      Own("voxloc.tls.certificate_file", &B::tls_certificate_file, kVehicle,
          "PEM file of the vehicle's own certificate; empty: none."),
      Own("voxloc.tls.key_file", &B::tls_key_file, kVehicle, "PEM file of its key; empty: none."),
      Own("voxloc.tls.server_name", &B::tls_server_name, kVehicle,
          "The name that the server's certificate must have; empty: the host of the address."),
      Own("voxloc.token", &B::token, kVehicle,
          "Bearer token that goes with each call; empty: none. Other nodes can read parameters: "
          "prefer voxloc.token_file."),
      Own("voxloc.token_file", &B::token_file, kVehicle,
          "File of the token, read for every call and session; empty: none."),
      Own("voxloc.allow_insecure_token", &B::allow_insecure_token, kVehicle,
          "Whether a token may leave the machine without TLS."),

      Own("voxloc.points.encoding", &B::points_encoding, kVehicle,
          "auto, as_is, float32 or int16: how points travel; only int16 rounds them."),
      Own("voxloc.points.int16_scale_m", &B::points_int16_scale_m, kVehicle,
          "Metres per unit of int16, over 0 to 1; points beyond 32767 units on an axis are left "
          "out."),
      Own("voxloc.points.time_field", &B::points_time_field, kVehicle,
          "none, auto or a field's name: which times of points are sent, so that the server "
          "deskews "
          "the scan. none is right for clouds that are deskewed already."),
      Own("voxloc.points.drop_not_finite", &B::points_drop_not_finite, kVehicle,
          "Whether points that are not finite are left out before sending."),
      Own("voxloc.points.min_range_m", &B::points_min_range_m, kVehicle,
          "Metres from the sensor, at least 0; nearer points are left out before sending."),
      Own("voxloc.points.max_range_m", &B::points_max_range_m, kVehicle,
          "Metres from the sensor; farther points are left out before sending; 0: none are."),
      Own("voxloc.points.crop_min", &B::points_crop_min, kVehicle,
          "x, y, z in metres in the base frame; points outside of the box from here to crop_max "
          "are "
          "left out before sending; empty: no box."),
      Own("voxloc.points.crop_max", &B::points_crop_max, kVehicle,
          "x, y, z in metres, none below crop_min; empty: no box."),
      Own("voxloc.points.extra_topics", &B::points_extra_topics, kVehicle,
          "Topics of more LiDARs, at most 15, whose clouds join those of points_raw in one scan."),
      Own("voxloc.points.max_stamp_difference_sec", &B::points_max_stamp_difference_sec, kVehicle,
          "Seconds, over 0 to 1; clouds join whose stamps differ by at most this."),
      Own("voxloc.points.transform_at_stamp", &B::points_transform_at_stamp, kVehicle,
          "Whether the mount is looked up at the cloud's stamp, for sensors that move on the "
          "vehicle, in place of the latest one, as Autoware does."),

      Own("voxloc.guess_source", &B::guess_source, kVehicle,
          "poses (of ekf_pose_with_covariance, as Autoware) or odometry (the last accepted result, "
          "carried on by voxloc.odom_frame; the first from initialpose)."),
      Own("voxloc.twist_source", &B::twist_source, kVehicle,
          "server (from the poses around the scan), topic (twist or twist_with_covariance) or "
          "odometry (from tf): the motion that scans with times of points are deskewed by."),
      Own("voxloc.odom_frame", &B::odom_frame, kVehicle,
          "Frame of the vehicle's odometry in tf, sent with each scan where it is known at its "
          "stamp "
          "(Scan.odom_t_base); empty: none."),
      Own("voxloc.tf_output", &B::tf_output, kVehicle,
          "base (map to frame.ndt_base_frame for each aligned scan, as Autoware), odom (map to "
          "voxloc.odom_frame for each accepted one, as Nav2 expects) or none."),
      Own("voxloc.tf_tolerance_sec", &B::tf_tolerance_sec, kVehicle,
          "Seconds, at least 0, that transforms are stamped later than their scans."),
      Own("voxloc.activate_at_start", &B::activate_at_start, kVehicle,
          "Whether the node is active before trigger_node_srv is called."),
      Own("voxloc.from_last_pose", &B::from_last_pose, kServer,
          "Whether a session begins where the vehicle was last (OpenSession.from_last_pose)."),

      Own("voxloc.deadline_sec", &B::deadline_sec, kServer,
          "Seconds from receipt, at least 0, after which the answer to a scan is of no use; 0: "
          "none "
          "(SessionLimits.timeout_s)."),
      Own("voxloc.confidence", &B::confidence, kServer,
          "Whether the probability that a pose is right is published (Confidence.value)."),
      Own("voxloc.min_confidence", &B::min_confidence, kServer,
          "0 to 1; a result whose confidence is lower is not published "
          "(GateOptions.min_confidence); 0: the limit of the rule."),
      Own("voxloc.acceptance_rule", &B::acceptance_rule, kServer,
          "profile (reference for autoware, strict for others), reference (as Autoware) or strict "
          "(also by confidence and by what the scan observes): what is published "
          "(GateOptions.rule)."),
      Own("voxloc.recovery.enable", &B::recovery_enable, kServer,
          "Whether the server looks for the vehicle once lost (OpenSession.recovery)."),
      Own("voxloc.recovery.lost_after_scans", &B::recovery_lost_after_scans, kServer,
          "At least 1; scans in a row without an accepted result before it does."),
      Own("voxloc.recovery.initial_radius_m", &B::recovery_initial_radius_m, kServer,
          "Metres, over 0; radius of the first search."),
      Own("voxloc.recovery.max_radius_m", &B::recovery_max_radius_m, kServer,
          "Metres, at least initial_radius_m; radius that it grows to."),
      Own("voxloc.recovery.apply", &B::recovery_apply, kServer,
          "Whether a confirmed pose is taken as the vehicle's."),

      Own("voxloc.search.seed", &B::search_seed, kServer,
          "At least 0; seed of the searches (SearchOptions.seed)."),
      Own("voxloc.search.timeout_sec", &B::search_timeout_sec, kServer,
          "Seconds, over 0, after which a search gives its best pose so far."),

      Own("voxloc.map_feeder.enable", &B::map_feeder_enable, kVehicle,
          "Whether the tiles of pcd_loader_service are brought to the server."),
      Own("voxloc.map_feeder.map", &B::map_feeder_map, kServer,
          "Name of the map that they become part of; nothing is removed from it. Scans are aligned "
          "to voxloc.map."),
  };
}

}  // namespace voxloc::ros
