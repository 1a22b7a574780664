// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/messages.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "clients/dataset/bag/byte_reader.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc::bag {
namespace {

// The representation identifiers of CDR (OMG DDSI-RTPS, table 10.3): two bytes, before two of
// options.
constexpr absl::string_view kCdrBigEndian("\x00\x00", 2);
constexpr absl::string_view kCdrLittleEndian("\x00\x01", 2);
constexpr size_t kCdrHeadBytes = 4;

// Reads a message's body in its encoding.
class Body {
 public:
  static absl::StatusOr<Body> Of(const Topic& topic, absl::string_view bytes) {
    if (topic.encoding == "ros1") return Body(ByteReader(bytes), true);
    if (topic.encoding != "cdr") {
      return absl::InvalidArgumentError(absl::StrCat("messages of ", topic.name,
                                                     " must be encoded as cdr or ros1 (got '",
                                                     topic.encoding, "')"));
    }
    const absl::string_view representation = bytes.substr(0, 2);
    if (bytes.size() < kCdrHeadBytes ||
        (representation != kCdrBigEndian && representation != kCdrLittleEndian)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a message of ", topic.name, " must begin as plain CDR does, with 0 0 or 0 1"));
    }
    ByteReader::Rules rules;
    rules.big_endian = representation == kCdrBigEndian;
    rules.max_alignment = 8;
    rules.strings_end_with_zero = true;
    return Body(ByteReader(bytes.substr(kCdrHeadBytes), rules), false);
  }

  ByteReader& reader() { return reader_; }

  ros::Header Header() {
    ros::Header header;
    if (ros1_) reader_.Read<uint32_t>();  // seq
    header.stamp_ns = Stamp_ns();
    header.frame_id = Frame();
    return header;
  }

  int64_t Stamp_ns() {
    // ROS 2's seconds have a sign.
    const int64_t seconds =
        ros1_ ? int64_t{reader_.Read<uint32_t>()} : int64_t{reader_.Read<int32_t>()};
    return seconds * 1'000'000'000 + reader_.Read<uint32_t>();
  }

  std::string Text() { return std::string(reader_.String()); }

  std::string Frame() { return std::string(absl::StripPrefix(reader_.String(), "/")); }

  PoseMessage StampedPose(bool has_child) {
    const ros::Header header = Header();
    PoseMessage pose;
    pose.stamp_ns = header.stamp_ns;
    pose.parent = header.frame_id;
    if (has_child) pose.child = Frame();
    for (int i = 0; i < 3; ++i) pose.translation[i] = reader_.Read<double>();
    for (int i = 0; i < 4; ++i) pose.rotation.coeffs()[i] = reader_.Read<double>();  // x y z w
    return pose;
  }

  absl::Status Checked(const Topic& topic) const {
    if (reader_.ok()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", topic.name, " (", topic.type, ") ends too early"));
  }

 private:
  Body(const ByteReader& reader, bool ros1) : reader_(reader), ros1_(ros1) {}

  ByteReader reader_;
  bool ros1_;
};

}  // namespace

MessageKind KindOf(const Topic& topic) {
  const std::string type = topic.Type();
  if (type == "sensor_msgs/msg/PointCloud2") return MessageKind::kPointCloud2;
  if (type == "geometry_msgs/msg/PoseStamped") return MessageKind::kPose;
  if (type == "geometry_msgs/msg/PoseWithCovarianceStamped") {
    return MessageKind::kPoseWithCovariance;
  }
  if (type == "nav_msgs/msg/Odometry") return MessageKind::kOdometry;
  if (type == "tf2_msgs/msg/TFMessage" || type == "tf/msg/tfMessage") {
    return MessageKind::kTransforms;
  }
  if (type == "diagnostic_msgs/msg/DiagnosticArray") return MessageKind::kDiagnostics;
  for (const char* package : {"autoware_internal_debug_msgs", "tier4_debug_msgs"}) {
    if (type == absl::StrCat(package, "/msg/Float32Stamped") ||
        type == absl::StrCat(package, "/msg/Int32Stamped")) {
      return MessageKind::kNumber;
    }
  }
  return MessageKind::kOther;
}

absl::StatusOr<ros::Header> DecodeHeader(const Topic& topic, absl::string_view bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  ros::Header header = body.Header();
  VOXLOC_TRY(body.Checked(topic));
  return header;
}

absl::StatusOr<PoseMessage> DecodePose(const Topic& topic, absl::string_view bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  // What follows, covariances and twists, is not needed.
  PoseMessage pose = body.StampedPose(/*has_child=*/KindOf(topic) == MessageKind::kOdometry);
  VOXLOC_TRY(body.Checked(topic));
  return pose;
}

absl::StatusOr<std::vector<PoseMessage>> DecodeTransforms(const Topic& topic,
                                                          absl::string_view bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  std::vector<PoseMessage> transforms;
  const auto count = body.reader().Read<uint32_t>();
  for (uint32_t i = 0; i < count && body.reader().ok(); ++i) {
    PoseMessage transform = body.StampedPose(/*has_child=*/true);
    if (body.reader().ok()) transforms.push_back(std::move(transform));
  }
  VOXLOC_TRY(body.Checked(topic));
  return transforms;
}

absl::StatusOr<NumberMessage> DecodeNumber(const Topic& topic, absl::string_view bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  NumberMessage number;
  number.stamp_ns = body.Stamp_ns();
  number.value = absl::EndsWith(topic.type, "Int32Stamped")
                     ? static_cast<double>(body.reader().Read<int32_t>())
                     : static_cast<double>(body.reader().Read<float>());
  VOXLOC_TRY(body.Checked(topic));
  return number;
}

absl::StatusOr<std::vector<DiagnosticMessage>> DecodeDiagnostics(const Topic& topic,
                                                                 absl::string_view bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  body.Header();
  std::vector<DiagnosticMessage> statuses;
  const auto count = body.reader().Read<uint32_t>();
  for (uint32_t i = 0; i < count && body.reader().ok(); ++i) {
    DiagnosticMessage status;
    status.level = body.reader().Read<uint8_t>();
    status.name = body.Text();
    status.message = body.Text();
    body.Text();  // the hardware's id
    const auto values = body.reader().Read<uint32_t>();
    for (uint32_t k = 0; k < values && body.reader().ok(); ++k) {
      std::string key = body.Text();
      status.values[std::move(key)] = body.Text();
    }
    if (body.reader().ok()) statuses.push_back(std::move(status));
  }
  VOXLOC_TRY(body.Checked(topic));
  return statuses;
}

absl::Status DecodePointCloud2(const Topic& topic, absl::string_view bytes, CloudMessage* cloud) {
  VOXLOC_ASSIGN_OR_RETURN(Body body, Body::Of(topic, bytes));
  ByteReader& reader = body.reader();
  ros::PointCloud2View& view = cloud->view;
  view.header = body.Header();
  view.height = reader.Read<uint32_t>();
  view.width = reader.Read<uint32_t>();
  cloud->fields.clear();
  const auto fields = reader.Read<uint32_t>();
  for (uint32_t i = 0; i < fields && reader.ok(); ++i) {
    ros::PointField field;
    field.name = std::string(reader.String());
    field.offset = reader.Read<uint32_t>();
    field.datatype = reader.Read<uint8_t>();
    field.count = reader.Read<uint32_t>();
    if (reader.ok()) cloud->fields.push_back(std::move(field));
  }
  view.is_bigendian = reader.Read<uint8_t>() != 0;
  view.point_step = reader.Read<uint32_t>();
  view.row_step = reader.Read<uint32_t>();
  const absl::string_view data = reader.Block();
  reader.Read<uint8_t>();  // is_dense, which nobody can rely on
  VOXLOC_TRY(body.Checked(topic));
  view.fields = cloud->fields;
  view.data = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  return absl::OkStatus();
}

std::string TopicText(const Topic& topic) {
  return absl::StrCat(topic.name, " (", topic.type, ", ", topic.messages,
                      topic.messages == 1 ? " message)" : " messages)");
}

std::string TopicsText(const BagContents& contents, const std::vector<size_t>& topics) {
  if (topics.empty()) return "none";
  return absl::StrJoin(topics, ", ", [&](std::string* text, size_t topic) {
    absl::StrAppend(text, TopicText(contents.topics[topic]));
  });
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
    std::vector<size_t> all(contents.topics.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return absl::NotFoundError(absl::StrCat(
        "the bag has no sensor_msgs/PointCloud2. Compressed clouds and the packets of a sensor's "
        "own driver must be turned into it first, by the driver or point_cloud_transport. Topics: ",
        TopicsText(contents, all)));
  }
  return absl::InvalidArgumentError(absl::StrCat("the bag has ", topics.size(),
                                                 " topics with clouds; choose one with "
                                                 "--points-topic: ",
                                                 TopicsText(contents, topics)));
}

absl::StatusOr<std::optional<size_t>> ChoosePoses(const BagContents& contents,
                                                  const std::string& named) {
  std::vector<MessageKind> kinds = {MessageKind::kPose, MessageKind::kPoseWithCovariance,
                                    MessageKind::kOdometry};
  if (!named.empty()) {
    kinds.push_back(MessageKind::kTransforms);
    VOXLOC_ASSIGN_OR_RETURN(const size_t topic, TopicNamed(contents, named, kinds));
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
