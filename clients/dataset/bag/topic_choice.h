// SPDX-License-Identifier: Apache-2.0
//
// Which topics of a recording a drive is made of: the only one of its kind, or the one that the
// user names. Never the first of several. Pure functions.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_TOPIC_CHOICE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_TOPIC_CHOICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"

namespace voxloc::bag {

// The topics with messages of that kind.
[[nodiscard]] std::vector<size_t> TopicsOfKind(const BagContents& contents, MessageKind kind);

// The topic of that name, which must be of one of the kinds and have messages. NotFound lists the
// topics that could be meant and the nearest name; InvalidArgument: another type.
[[nodiscard]] absl::StatusOr<size_t> TopicNamed(const BagContents& contents,
                                                const std::string& name,
                                                const std::vector<MessageKind>& kinds);

// The topic with the clouds: the one named, or the only one. InvalidArgument: several;
// NotFound: none, and what there is instead.
[[nodiscard]] absl::StatusOr<size_t> ChoosePoints(const BagContents& contents,
                                                  const std::string& named);

// The topic with the poses: the one named, which may be one of tf, or the only one of poses or
// odometry; nullopt: there is none, use tf.
[[nodiscard]] absl::StatusOr<std::optional<size_t>> ChoosePoses(const BagContents& contents,
                                                                const std::string& named);

// "/points (sensor_msgs/msg/PointCloud2, 312 messages)".
[[nodiscard]] std::string TopicText(const Topic& topic);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_TOPIC_CHOICE_H_
