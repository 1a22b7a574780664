// SPDX-License-Identifier: Apache-2.0
//
// The ROS 2 types that the peer and the adapter exchange, by short names, and what Cyclone DDS
// knows of each (Descriptor). The structures are those that idlc makes of idl/: plain C, whose
// strings and sequences belong to whoever filled them.

#ifndef VOXLOC_TESTS_ROS_WIRE_WIRE_TYPES_H_
#define VOXLOC_TESTS_ROS_WIRE_WIRE_TYPES_H_

#include <dds/dds.h>

#include "autoware_internal_debug_msgs.h"
#include "autoware_internal_localization_msgs.h"
#include "autoware_map_msgs.h"
#include "builtin_interfaces.h"
#include "diagnostic_msgs.h"
#include "geometry_msgs.h"
#include "rosgraph_msgs.h"
#include "sensor_msgs.h"
#include "std_msgs.h"
#include "std_srvs.h"
#include "tf2_msgs.h"
#include "visualization_msgs.h"

namespace voxloc::ros_wire {

using TimeMessage = builtin_interfaces_msg_dds__Time_;
using HeaderMessage = std_msgs_msg_dds__Header_;
using PointMessage = geometry_msgs_msg_dds__Point_;
using QuaternionMessage = geometry_msgs_msg_dds__Quaternion_;
using Vector3Message = geometry_msgs_msg_dds__Vector3_;
using TwistMessage = geometry_msgs_msg_dds__Twist_;
using PoseMessage = geometry_msgs_msg_dds__Pose_;
using TransformStampedMessage = geometry_msgs_msg_dds__TransformStamped_;
using PointFieldMessage = sensor_msgs_msg_dds__PointField_;
using KeyValueMessage = diagnostic_msgs_msg_dds__KeyValue_;
using DiagnosticStatusMessage = diagnostic_msgs_msg_dds__DiagnosticStatus_;
using MarkerMessage = visualization_msgs_msg_dds__Marker_;
using MapCellMessage = autoware_map_msgs_msg_dds__PointCloudMapCellWithID_;

// What a topic or a service can be of.
template <typename Sample>
[[nodiscard]] const dds_topic_descriptor_t& Descriptor() = delete;

// A short name for a type, and its descriptor.
#define VOXLOC_WIRE_TYPE(name, c_name)                                    \
  using name = c_name;                                                    \
  template <>                                                             \
  [[nodiscard]] inline const dds_topic_descriptor_t& Descriptor<name>() { \
    return c_name##_desc;                                                 \
  }

VOXLOC_WIRE_TYPE(PointCloud2Message, sensor_msgs_msg_dds__PointCloud2_)
VOXLOC_WIRE_TYPE(PoseArrayMessage, geometry_msgs_msg_dds__PoseArray_)
VOXLOC_WIRE_TYPE(PoseStampedMessage, geometry_msgs_msg_dds__PoseStamped_)
VOXLOC_WIRE_TYPE(PoseWithCovarianceStampedMessage,
                 geometry_msgs_msg_dds__PoseWithCovarianceStamped_)
VOXLOC_WIRE_TYPE(TwistStampedMessage, geometry_msgs_msg_dds__TwistStamped_)
VOXLOC_WIRE_TYPE(TwistWithCovarianceStampedMessage,
                 geometry_msgs_msg_dds__TwistWithCovarianceStamped_)
VOXLOC_WIRE_TYPE(TfMessage, tf2_msgs_msg_dds__TFMessage_)
VOXLOC_WIRE_TYPE(ClockMessage, rosgraph_msgs_msg_dds__Clock_)
VOXLOC_WIRE_TYPE(DiagnosticArrayMessage, diagnostic_msgs_msg_dds__DiagnosticArray_)
VOXLOC_WIRE_TYPE(MarkerArrayMessage, visualization_msgs_msg_dds__MarkerArray_)
VOXLOC_WIRE_TYPE(Float32StampedMessage, autoware_internal_debug_msgs_msg_dds__Float32Stamped_)
VOXLOC_WIRE_TYPE(Int32StampedMessage, autoware_internal_debug_msgs_msg_dds__Int32Stamped_)

VOXLOC_WIRE_TYPE(SetBoolRequest, std_srvs_srv_dds__SetBool_Request_)
VOXLOC_WIRE_TYPE(SetBoolResponse, std_srvs_srv_dds__SetBool_Response_)
VOXLOC_WIRE_TYPE(EmptyRequest, std_srvs_srv_dds__Empty_Request_)
VOXLOC_WIRE_TYPE(EmptyResponse, std_srvs_srv_dds__Empty_Response_)
VOXLOC_WIRE_TYPE(AlignRequest,
                 autoware_internal_localization_msgs_srv_dds__PoseWithCovarianceStamped_Request_)
VOXLOC_WIRE_TYPE(AlignResponse,
                 autoware_internal_localization_msgs_srv_dds__PoseWithCovarianceStamped_Response_)
VOXLOC_WIRE_TYPE(MapLoadRequest, autoware_map_msgs_srv_dds__GetDifferentialPointCloudMap_Request_)
VOXLOC_WIRE_TYPE(MapLoadResponse, autoware_map_msgs_srv_dds__GetDifferentialPointCloudMap_Response_)

#undef VOXLOC_WIRE_TYPE

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_WIRE_TYPES_H_
