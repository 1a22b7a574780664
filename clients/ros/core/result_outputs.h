// SPDX-License-Identifier: Apache-2.0
//
// From the server's answer to everything that Autoware's node publishes for a scan: what, with
// which values, and when (poses only where the result was accepted; the rest for every scan that
// was aligned). For one thread.

#ifndef VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_
#define VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_

#include <cstdint>
#include <optional>

#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::ros {

// What the bridge knows of a scan in addition to its answer.
struct ScanContext {
  uint64_t number = 0;  // in the order of sending, counted from 1
  int64_t stamp_ns = 0;
  double execution_time_ms = 0.0;           // from the message to here
  std::optional<Matrix6> guess_covariance;  // of the pose that the guess was interpolated from
};

class ResultOutputs {
 public:
  // Both outlive it.
  ResultOutputs(const Parameters& parameters, Output& output)
      : parameters_(parameters), output_(output) {}

  // Publishes. True: the pose was. An answer without a pose publishes nothing. Where answers come
  // out of order, the transform of the newest scan stays.
  bool Publish(const v1::AlignmentResult& result, const ScanContext& scan);

 private:
  void PublishNumber(Topic topic, int64_t stamp_ns, double value) {
    output_.Publish(topic, Float32Stamped{stamp_ns, static_cast<float>(value)});
  }
  void PublishTransform(const v1::AlignmentResult& result, const Pose& map_T_base,
                        const ScanContext& scan);
  void PublishPose(const v1::AlignmentResult& result, const Pose& map_T_base, int64_t stamp_ns);
  void PublishInitialToResult(const v1::AlignmentResult& result, const Pose& map_T_base,
                              const ScanContext& scan);
  void PublishClouds(const v1::AlignmentResult& result, int64_t stamp_ns);
  void PublishCovarianceSearch(const v1::AlignmentResult& result, const Pose& map_T_base,
                               int64_t stamp_ns);

  const Parameters& parameters_;
  Output& output_;
  uint64_t last_transform_ = 0;  // number of its scan
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_
