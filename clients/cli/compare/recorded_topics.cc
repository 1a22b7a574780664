// SPDX-License-Identifier: Apache-2.0
//
// ChooseRecordedTopics. Autoware's launch files remap the node's points_raw,
// ekf_pose_with_covariance and poses; its other topics stay in its namespace,
// /localization/pose_estimator.

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "clients/cli/compare/recorded_run.h"
#include "clients/dataset/bag/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

using bag::MessageKind;

constexpr char kInitialPose[] = "initial_pose_with_covariance";

// A topic that is wanted, and where to look for it.
struct TopicRole {
  const char* what;
  const char* flag;
  std::vector<const char*> names;  // ends of its name; an earlier one is preferred
  std::vector<MessageKind> kinds;
};

bool EndsWithName(const std::string& topic, absl::string_view name) {
  return absl::EndsWith(topic, absl::StrCat("/", name));
}

std::string NamespaceOf(const std::string& topic) { return topic.substr(0, topic.rfind('/')); }

// Those in which there is what only a scan matcher publishes.
std::set<std::string> NodeNamespaces(const bag::BagContents& contents) {
  std::set<std::string> namespaces;
  const auto add = [&](MessageKind kind, const char* name) {
    for (const size_t topic : bag::TopicsOfKind(contents, kind)) {
      const std::string& full = contents.topics[topic].name;
      if (EndsWithName(full, name)) namespaces.insert(NamespaceOf(full));
    }
  };
  add(MessageKind::kPoseWithCovariance, kInitialPose);
  for (const RecordedValue& value : kRecordedValues) {
    // Other nodes of Autoware publish their times by the same name.
    if (value.key != absl::string_view("time_ms")) add(MessageKind::kNumber, value.topic);
  }
  return namespaces;
}

// `named`: by the user; empty: not. Empty: the bag has none.
absl::StatusOr<std::string> ChooseNamespace(const bag::BagContents& contents,
                                            const std::string& named) {
  const std::set<std::string> namespaces = NodeNamespaces(contents);
  const std::string listed = absl::StrJoin(namespaces, ", ");
  if (!named.empty()) {
    const std::string wanted(absl::StripSuffix(named, "/"));
    if (namespaces.count(wanted) > 0) return wanted;
    return absl::NotFoundError(absl::StrCat(
        "--node-namespace must be one in which the bag has topics of a scan matcher (got ", named,
        "; there are: ", listed.empty() ? "none" : listed, ")"));
  }
  if (namespaces.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bag has ", namespaces.size(),
                     " scan matchers; choose one with --node-namespace: ", listed));
  }
  return namespaces.empty() ? std::string() : *namespaces.begin();
}

// nullopt: there is none.
absl::StatusOr<std::optional<size_t>> FindTopic(const bag::BagContents& contents,
                                                const TopicRole& role,
                                                const std::string& node_namespace) {
  for (const char* name : role.names) {
    std::vector<size_t> matches;
    std::vector<size_t> in_namespace;
    for (const size_t topic : bag::TopicsOfKinds(contents, role.kinds)) {
      const std::string& full = contents.topics[topic].name;
      if (!EndsWithName(full, name)) continue;
      matches.push_back(topic);
      if (NamespaceOf(full) == node_namespace) in_namespace.push_back(topic);
    }
    if (in_namespace.size() == 1) matches = std::move(in_namespace);
    if (matches.size() == 1) return std::optional<size_t>(matches[0]);
    if (matches.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bag has ", matches.size(), " topics with ", role.what,
                       "; choose one with ", role.flag, ": ", bag::TopicsText(contents, matches)));
    }
  }
  return std::optional<size_t>();
}

absl::StatusOr<size_t> NeedTopic(const bag::BagContents& contents, const TopicRole& role,
                                 const std::string& named, const std::string& node_namespace) {
  if (!named.empty()) return bag::TopicNamed(contents, named, role.kinds);
  VOXLOC_ASSIGN_OR_RETURN(const std::optional<size_t> found,
                          FindTopic(contents, role, node_namespace));
  if (found.has_value()) return *found;
  return absl::NotFoundError(absl::StrCat(
      "the bag has no ", role.what, " in a topic that ends in ", absl::StrJoin(role.names, ", "),
      "; name one with ", role.flag, ". Topics of such a type: ",
      bag::TopicsText(contents, bag::TopicsOfKinds(contents, role.kinds))));
}

}  // namespace

absl::StatusOr<RecordedTopics> ChooseRecordedTopics(const bag::BagContents& contents,
                                                    const RecordedNames& names, bool poses,
                                                    bool guesses) {
  const TopicRole points_role = {"clouds",
                                 "--points-topic",
                                 {"util/downsample/pointcloud", "points_raw"},
                                 {MessageKind::kPointCloud2}};
  const TopicRole poses_role = {"poses of a localizer",
                                "--poses-topic",
                                {"ndt_pose_with_covariance", "ndt_pose",
                                 "pose_estimator/pose_with_covariance", "pose_estimator/pose"},
                                {MessageKind::kPose, MessageKind::kPoseWithCovariance}};
  const TopicRole guesses_role = {
      "guesses",
      "--guesses-topic",
      {kInitialPose, "ekf_pose_with_covariance",
       "pose_twist_fusion_filter/biased_pose_with_covariance"},
      {MessageKind::kPose, MessageKind::kPoseWithCovariance, MessageKind::kOdometry}};
  RecordedTopics topics;
  VOXLOC_ASSIGN_OR_RETURN(const std::string node_namespace,
                          ChooseNamespace(contents, names.node_namespace));
  if (poses) {
    VOXLOC_ASSIGN_OR_RETURN(topics.poses,
                            NeedTopic(contents, poses_role, names.poses_topic, node_namespace));
  }
  if (guesses) {
    VOXLOC_ASSIGN_OR_RETURN(topics.guesses,
                            NeedTopic(contents, guesses_role, names.guesses_topic, node_namespace));
  }
  std::optional<size_t> points;
  if (names.points_topic.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(points, FindTopic(contents, points_role, node_namespace));
  }
  if (!points.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(points, bag::ChoosePoints(contents, names.points_topic));
  }
  topics.points = *points;
  for (size_t i = 0; i < contents.topics.size(); ++i) {
    const bag::Topic& topic = contents.topics[i];
    if (topic.messages == 0) continue;
    const MessageKind kind = bag::KindOf(topic);
    if (kind == MessageKind::kDiagnostics && topic.name == "/diagnostics") topics.diagnostics = i;
    for (size_t k = 0; k < kRecordedValues.size(); ++k) {
      if (kind == MessageKind::kNumber &&
          topic.name == absl::StrCat(node_namespace, "/", kRecordedValues[k].topic)) {
        topics.values[k] = i;
      }
    }
  }
  return topics;
}

}  // namespace voxloc::cli
