// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/topic_choice.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"
#include "core/text/nearest_name.h"

namespace voxloc::bag {
namespace {

std::string TopicsText(const BagContents& contents, const std::vector<size_t>& topics) {
  if (topics.empty()) return "none";
  return absl::StrJoin(topics, ", ", [&](std::string* text, size_t topic) {
    absl::StrAppend(text, TopicText(contents.topics[topic]));
  });
}

std::vector<size_t> AllTopics(const BagContents& contents) {
  std::vector<size_t> all(contents.topics.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<size_t> TopicsOfKinds(const BagContents& contents,
                                  const std::vector<MessageKind>& kinds) {
  std::vector<size_t> topics;
  for (size_t i = 0; i < contents.topics.size(); ++i) {
    const Topic& topic = contents.topics[i];
    if (topic.messages > 0 && absl::c_linear_search(kinds, KindOf(topic))) topics.push_back(i);
  }
  return topics;
}

}  // namespace

std::string TopicText(const Topic& topic) {
  return absl::StrCat(topic.name, " (", topic.type, ", ", topic.messages,
                      topic.messages == 1 ? " message)" : " messages)");
}

std::vector<size_t> TopicsOfKind(const BagContents& contents, MessageKind kind) {
  return TopicsOfKinds(contents, {kind});
}

absl::StatusOr<size_t> TopicNamed(const BagContents& contents, const std::string& name,
                                  const std::vector<MessageKind>& kinds) {
  const std::vector<size_t> fitting = TopicsOfKinds(contents, kinds);
  for (const size_t topic : fitting) {
    if (contents.topics[topic].name == name) return topic;
  }
  for (const Topic& topic : contents.topics) {
    if (topic.name != name) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the topic ", TopicText(topic),
                     " has nothing of the type that is needed here; topics that have: ",
                     TopicsText(contents, fitting)));
  }
  std::vector<std::string> names;
  for (const size_t topic : fitting) names.push_back(contents.topics[topic].name);
  const std::string nearest = NearestName(name, names);
  return absl::NotFoundError(
      absl::StrCat("the bag has no topic ", name,
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                   " Topics of the type that is needed here: ", TopicsText(contents, fitting)));
}

absl::StatusOr<size_t> ChoosePoints(const BagContents& contents, const std::string& named) {
  if (!named.empty()) return TopicNamed(contents, named, {MessageKind::kPointCloud2});
  const std::vector<size_t> topics = TopicsOfKind(contents, MessageKind::kPointCloud2);
  if (topics.size() == 1) return topics[0];
  if (topics.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "the bag has no sensor_msgs/PointCloud2. Compressed clouds and the packets of a sensor's "
        "own driver must be turned into it first, by the driver or point_cloud_transport. Topics: ",
        TopicsText(contents, AllTopics(contents))));
  }
  return absl::InvalidArgumentError(absl::StrCat("the bag has ", topics.size(),
                                                 " topics with clouds; choose one with "
                                                 "--points-topic: ",
                                                 TopicsText(contents, topics)));
}

absl::StatusOr<std::optional<size_t>> ChoosePoses(const BagContents& contents,
                                                  const std::string& named) {
  const std::vector<MessageKind> kinds = {MessageKind::kPose, MessageKind::kPoseWithCovariance,
                                          MessageKind::kOdometry};
  if (!named.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(const size_t topic,
                            TopicNamed(contents, named,
                                       {MessageKind::kPose, MessageKind::kPoseWithCovariance,
                                        MessageKind::kOdometry, MessageKind::kTransforms}));
    return std::optional<size_t>(topic);
  }
  const std::vector<size_t> topics = TopicsOfKinds(contents, kinds);
  if (topics.empty()) return std::optional<size_t>();
  if (topics.size() == 1) return std::optional<size_t>(topics[0]);
  return absl::InvalidArgumentError(absl::StrCat("the bag has ", topics.size(),
                                                 " topics with poses; choose one with "
                                                 "--poses-topic, which can also be /tf: ",
                                                 TopicsText(contents, topics)));
}

}  // namespace voxloc::bag
