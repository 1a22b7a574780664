// SPDX-License-Identifier: Apache-2.0
//
// Makes the requests to the server from the node's parameters: session, outputs with subscribers,
// and connection options. Pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SESSION_REQUEST_H_
#define VOXLOC_CLIENTS_ROS_CORE_SESSION_REQUEST_H_

#include <string>

#include "clients/cpp/channel.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "voxloc/v1/localization_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::ros {

[[nodiscard]] client::ChannelOptions ChannelOptionsFrom(const BridgeParameters& parameters);

[[nodiscard]] CloudEncodingOptions EncodingFrom(const BridgeParameters& parameters);

// Map, vehicle and options of every call with scans. The checks that the bridge does itself (delay,
// distance, execution time, skipped scans) are switched off at the server, so that each warns once.
[[nodiscard]] v1::ScanSetup SetupFrom(const Parameters& parameters, const std::string& node_name);

// The outputs of answers: those whose topics have subscribers now.
[[nodiscard]] v1::OutputOptions OutputsFor(const Parameters& parameters, const Output& output);

[[nodiscard]] v1::OpenSession OpenSessionFrom(const Parameters& parameters,
                                              const std::string& node_name, bool simulated_clock);

// A change of a map of the server. Where the map is not there yet, it gets cells of ndt.resolution.
[[nodiscard]] v1::BeginUpdate BeginUpdateFrom(const Parameters& parameters, const std::string& map,
                                              bool exists);

// Row-major.
void EncodeCovariance(const Matrix6& covariance, v1::PoseWithCovariance* message);

// A search around a prior, as ndt_align_srv makes it; without a prior, of the whole map.
[[nodiscard]] v1::EstimateInitialPoseRequest SearchFrom(const Parameters& parameters,
                                                        const std::string& node_name,
                                                        const v1::Scan& scan,
                                                        const PoseWithCovarianceStamped* prior_map,
                                                        bool report_particles);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SESSION_REQUEST_H_
