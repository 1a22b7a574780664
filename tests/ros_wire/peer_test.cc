// SPDX-License-Identifier: Apache-2.0
//
// The peer's own parts, on two participants that reach each other over UDP only: clouds of each
// size arrive unchanged, static transforms reach those who come late, and services behave as those
// of rmw_cyclonedds.

#include "tests/ros_wire/peer.h"

#include <dds/ddsi/ddsi_serdata.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/ros_wire/loopback_domain.h"
#include "tests/ros_wire/service.h"
#include "tests/support/eventually.h"

namespace voxloc::ros_wire {
namespace {

constexpr int kGroups = 1;
constexpr int kClouds = 20;

// A node in a domain of Cyclone of its own.
class LoneNode {
 public:
  explicit LoneNode(const std::string& settings) {
    absl::StatusOr<JoinedDomain> domain = JoinedDomain::Join(settings);
    EXPECT_TRUE(domain.ok()) << domain.status();
    if (!domain.ok()) return;
    domain_ = std::make_unique<JoinedDomain>(*std::move(domain));
    absl::StatusOr<std::unique_ptr<Node>> node = Node::Create(domain_->id(), kGroups);
    EXPECT_TRUE(node.ok()) << node.status();
    if (node.ok()) node_ = *std::move(node);
  }

  [[nodiscard]] bool ok() const { return node_ != nullptr; }
  Node& operator*() { return *node_; }
  Node* operator->() { return node_.get(); }

 private:
  std::unique_ptr<JoinedDomain> domain_;
  std::unique_ptr<Node> node_;
};

Cloud RandomCloud(size_t bytes, uint32_t seed) {
  Cloud cloud;
  cloud.stamp_ns = 1'700'000'000'123'456'789 + seed;
  cloud.frame_id = "lidar";
  cloud.fields = {{"x", 0, FieldType::kFloat32, 1},
                  {"y", 4, FieldType::kFloat32, 1},
                  {"z", 8, FieldType::kFloat32, 1},
                  {"intensity", 12, FieldType::kUint8, 1}};
  cloud.point_step = 16;
  cloud.width = static_cast<uint32_t>(bytes / cloud.point_step);
  cloud.row_step = cloud.width * cloud.point_step;
  std::mt19937 random(seed);
  cloud.data.resize(size_t{cloud.row_step});
  for (char& byte : cloud.data) byte = static_cast<char>(random());
  return cloud;
}

class WireTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<LoopbackDomain> domain = LoopbackDomain::Claim();
    ASSERT_TRUE(domain.ok()) << domain.status();
    domain_ = std::make_unique<LoopbackDomain>(*std::move(domain));
  }

  [[nodiscard]] std::string Settings() const { return domain_->Settings(); }

  // Sends clouds of a size from one node to another, each once the last has arrived; how many came,
  // all as they were sent.
  int CloudsThatArrive(const std::string& settings, const Qos& qos, size_t bytes) {
    LoneNode sender(settings);
    LoneNode receiver(settings);
    if (!sender.ok() || !receiver.ok()) return -1;
    std::vector<Cloud> sent;
    for (uint32_t i = 0; i < kClouds; ++i) sent.push_back(RandomCloud(bytes, i));
    std::atomic<bool> matched{false};
    std::atomic<int> arrived{0};
    receiver->Subscribe<PointCloud2Message>(
        0, "/points_raw", qos, [&](const PointCloud2Message& message) {
          const Cloud cloud = FromWire(message);
          if (cloud.stamp_ns == 0) {
            matched = true;
            return;
          }
          const auto number = static_cast<size_t>(cloud.stamp_ns - sent.front().stamp_ns);
          const Cloud& as_sent = sent.at(number);
          EXPECT_EQ(cloud.frame_id, as_sent.frame_id);
          EXPECT_EQ(cloud.width, as_sent.width);
          EXPECT_EQ(cloud.fields.at(3).name, "intensity");
          EXPECT_EQ(cloud.fields.at(3).offset, 12U);
          EXPECT_TRUE(cloud.data == as_sent.data) << "cloud " << number << " was changed";
          ++arrived;
        });
    const auto writer = sender->Advertise<PointCloud2Message>("/points_raw", qos);
    // The writer knows the reader before the reader knows the writer, and what is best effort is
    // lost meanwhile.
    const Cloud empty;
    EXPECT_TRUE(Eventually([&] {
      EXPECT_TRUE(writer.Write(CloudOnWire(empty).message()));
      return matched.load();
    }));
    for (int i = 0; i < kClouds; ++i) {
      EXPECT_TRUE(writer.Write(CloudOnWire(sent[static_cast<size_t>(i)]).message()));
      // A best effort cloud that was lost does not come.
      const absl::Duration wait = qos.reliable ? kTestTimeout : absl::Seconds(1);
      (void)Eventually([&] { return arrived > i; }, wait);
    }
    EXPECT_TRUE(sender->status().ok() && receiver->status().ok());
    receiver->Stop();
    return arrived;
  }

  std::unique_ptr<LoopbackDomain> domain_;
};

TEST_F(WireTest, ReliableCloudsOfEachSizeArriveUnchanged) {
  for (const size_t bytes : {100'000U, 1'000'000U, 4'000'000U}) {
    EXPECT_EQ(CloudsThatArrive(Settings(), kDefaultQos, bytes), kClouds) << bytes << " bytes";
  }
}

// The file that users are given, with the loopback of the test added.
TEST_F(WireTest, BestEffortCloudsOf4MbArriveWithTheSettingsForUsers) {
  constexpr int kReceiveBuffer = 4 << 20;  // as the file asks for
  const int granted = GrantedReceiveBuffer(kReceiveBuffer);
  const std::string settings =
      "file://" VOXLOC_SOURCE_DIR "/clients/ros/cyclonedds.xml," + Settings();
  if (granted < kReceiveBuffer) {
    EXPECT_FALSE(JoinedDomain::Join(settings).ok())
        << "started without the receive buffer that the settings ask for";
    GTEST_SKIP() << "net.core.rmem_max must be at least " << kReceiveBuffer << " (got " << granted
                 << ")";
  }
  // A best effort cloud may be lost on a machine that is busy.
  EXPECT_GE(CloudsThatArrive(settings, kSensorDataQos, 4'000'000), kClouds - 2);
}

TEST_F(WireTest, NodesOfAnotherDomainHearNothing) {
  const absl::StatusOr<LoopbackDomain> other = LoopbackDomain::Claim();
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->id(), domain_->id());
  LoneNode here(Settings());
  LoneNode there(other->Settings());
  LoneNode also_here(Settings());
  ASSERT_TRUE(here.ok() && there.ok() && also_here.ok());
  const auto writer = here->Advertise<TfMessage>("/tf", kTfQos);
  there->Subscribe<TfMessage>(0, "/tf", kTfQos, [](const TfMessage& /*message*/) {});
  also_here->Subscribe<TfMessage>(0, "/tf", kTfQos, [](const TfMessage& /*message*/) {});
  ASSERT_TRUE(Eventually([&] { return writer.readers() > 0; }));
  EXPECT_EQ(writer.readers(), 1U);
}

TEST_F(WireTest, StaticTransformsReachThoseWhoComeLate) {
  LoneNode early(Settings());
  ASSERT_TRUE(early.ok());
  const auto writer = early->Advertise<TfMessage>("/tf_static", kTfStaticQos);
  TransformStampedMessage transform =
      ToWire(StampedTransform{0, "base_link", "lidar", {{1.0, 2.0, 3.0}, {}}});
  const std::string parent = "base_link";
  const std::string child = "lidar";
  transform.header.frame_id = Borrow(parent);
  transform.child_frame_id = Borrow(child);
  transform.transform.rotation.w = 1.0;
  TfMessage message{};
  message.transforms._length = message.transforms._maximum = 1;
  message.transforms._buffer = &transform;
  ASSERT_TRUE(writer.Write(message));

  LoneNode late(Settings());
  ASSERT_TRUE(late.ok());
  absl::Mutex mutex;
  std::vector<StampedTransform> received;
  late->Subscribe<TfMessage>(0, "/tf_static", kTfStaticQos, [&](const TfMessage& tf) {
    const absl::MutexLock lock(&mutex);
    received = FromWire(tf);
  });
  EXPECT_TRUE(Eventually([&] {
    const absl::MutexLock lock(&mutex);
    return received.size() == 1;
  }));
  late->Stop();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].child_frame_id, "lidar");
  EXPECT_EQ(received[0].frame_T_child.translation, Eigen::Vector3d(1.0, 2.0, 3.0));
}

// Plain CDR, little endian, written down by hand: each number is aligned to its size.
class Cdr {
 public:
  template <typename Number>
  Cdr& Put(Number number) {
    bytes_.resize((bytes_.size() + sizeof number - 1) / sizeof number * sizeof number, '\0');
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Cdr& Put(const std::string& text) {
    Put(static_cast<uint32_t>(text.size() + 1));
    bytes_.append(text.c_str(), text.size() + 1);
    return *this;
  }
  // With the header that names the encoding, which does not count for the alignment.
  [[nodiscard]] std::string Message() const { return std::string("\x00\x01\x00\x00", 4) + bytes_; }

 private:
  std::string bytes_;
};

// The bytes of the sample that the reader has.
std::string TakeBytes(dds_entity_t reader) {
  ddsi_serdata* sample = nullptr;
  dds_sample_info_t info;
  if (dds_takecdr(reader, &sample, 1, &info, DDS_ANY_STATE) != 1) return "";
  std::string bytes(ddsi_serdata_size(sample), '\0');
  ddsi_serdata_to_ser(sample, 0, bytes.size(), bytes.data());
  ddsi_serdata_unref(sample);
  return bytes;
}

TEST_F(WireTest, ARequestHasTheBytesThatRosGivesIt) {
  LoneNode sender(Settings());
  LoneNode receiver(Settings());
  ASSERT_TRUE(sender.ok() && receiver.ok());
  const std::string name = "rq/ndt_align_srvRequest";
  const dds_entity_t reader =
      receiver->MakeReader(Descriptor<AlignRequest>(), name, kDefaultQos, "");
  const Writer<AlignRequest> writer(
      sender->MakeWriter(Descriptor<AlignRequest>(), name, kDefaultQos, ""));
  ASSERT_TRUE(Eventually([&] { return writer.readers() == 1; }));
  StampedPose pose{1'700'000'000'000'000'042, "map", {{1.5, -2.5, 3.5}, {0.5, 0.1, 0.2, 0.3}}, {}};
  pose.covariance[35] = 7.0;
  AlignRequest request{};
  request.guid = 0x1122334455667788;
  request.seq = 9;
  request.pose_with_covariance = ToWire(pose);
  ASSERT_TRUE(writer.Write(request));

  Cdr expected;
  expected.Put(uint64_t{0x1122334455667788}).Put(int64_t{9});
  expected.Put(int32_t{1'700'000'000}).Put(uint32_t{42}).Put(std::string("map"));
  for (const double number : {1.5, -2.5, 3.5, 0.1, 0.2, 0.3, 0.5}) expected.Put(number);
  for (int i = 0; i < 35; ++i) expected.Put(0.0);
  expected.Put(7.0);
  std::string bytes;
  ASSERT_TRUE(Eventually([&] { return !(bytes = TakeBytes(reader)).empty(); }));
  EXPECT_TRUE(bytes == expected.Message());
}

TEST_F(WireTest, ACloudHasTheBytesThatRosGivesIt) {
  LoneNode sender(Settings());
  LoneNode receiver(Settings());
  ASSERT_TRUE(sender.ok() && receiver.ok());
  const dds_entity_t reader =
      receiver->MakeReader(Descriptor<PointCloud2Message>(), "rt/points_raw", kDefaultQos, "");
  const auto writer = sender->Advertise<PointCloud2Message>("/points_raw", kDefaultQos);
  ASSERT_TRUE(Eventually([&] { return writer.readers() == 1; }));
  Cloud cloud = RandomCloud(32, 1);
  cloud.stamp_ns = 3'000'000'004;
  ASSERT_TRUE(writer.Write(CloudOnWire(cloud).message()));

  Cdr expected;
  expected.Put(int32_t{3}).Put(uint32_t{4}).Put(std::string("lidar"));
  expected.Put(uint32_t{1}).Put(uint32_t{2});  // height, width
  expected.Put(uint32_t{4});                   // fields: name, offset, datatype, count
  expected.Put(std::string("x")).Put(uint32_t{0}).Put(uint8_t{7}).Put(uint32_t{1});
  expected.Put(std::string("y")).Put(uint32_t{4}).Put(uint8_t{7}).Put(uint32_t{1});
  expected.Put(std::string("z")).Put(uint32_t{8}).Put(uint8_t{7}).Put(uint32_t{1});
  expected.Put(std::string("intensity")).Put(uint32_t{12}).Put(uint8_t{2}).Put(uint32_t{1});
  expected.Put(uint8_t{0});                      // is_bigendian
  expected.Put(uint32_t{16}).Put(uint32_t{32});  // point_step, row_step
  expected.Put(uint32_t{32});                    // data
  for (const char byte : cloud.data) expected.Put(byte);
  expected.Put(uint8_t{1});  // is_dense
  std::string bytes;
  ASSERT_TRUE(Eventually([&] { return !(bytes = TakeBytes(reader)).empty(); }));
  std::string message = expected.Message();
  // Filled up to a multiple of 4, which the header's last byte counts.
  message.at(3) = static_cast<char>(bytes.size() - message.size());
  EXPECT_EQ(bytes.size(), (message.size() + 3) / 4 * 4);
  EXPECT_TRUE(bytes.substr(0, message.size()) == message);
}

using SetBoolServer = ServiceServer<SetBoolRequest, SetBoolResponse>;
using SetBoolClient = ServiceClient<SetBoolRequest, SetBoolResponse>;

TEST_F(WireTest, RepliesReachTheClientThatAsked) {
  LoneNode serving(Settings());
  LoneNode first(Settings());
  LoneNode second(Settings());
  ASSERT_TRUE(serving.ok() && first.ok() && second.ok());
  SetBoolClient one(*first, 0, "/trigger_node_srv");
  SetBoolClient two(*second, 0, "/trigger_node_srv");
  EXPECT_FALSE(one.IsAvailable());
  EXPECT_FALSE(one.Call(
      {}, [](const SetBoolResponse& /*reply*/) {}, absl::Milliseconds(20)))
      << "a reply without a server";
  const SetBoolServer server(*serving, 0, "/trigger_node_srv",
                             [](const SetBoolRequest& request, const SetBoolServer::Reply& reply) {
                               const std::string text = request.data ? "on" : "off";
                               SetBoolResponse response{};
                               response.success = request.data;
                               response.message = Borrow(text);
                               EXPECT_TRUE(reply(response));
                             });
  ASSERT_TRUE(Eventually([&] { return one.IsAvailable() && two.IsAvailable(); }));
  const auto ask = [](SetBoolClient& client, bool data) {
    SetBoolRequest request{};
    request.data = data;
    for (int i = 0; i < 50; ++i) {
      bool success = !data;
      std::string text;
      EXPECT_TRUE(client.Call(
          request,
          [&](const SetBoolResponse& reply) {
            success = reply.success;
            text = reply.message;
          },
          kTestTimeout));
      EXPECT_EQ(success, data);
      EXPECT_EQ(text, data ? "on" : "off");
    }
  };
  std::thread other([&] { ask(two, false); });
  ask(one, true);
  other.join();
  for (LoneNode* node : {&serving, &first, &second}) {
    EXPECT_TRUE((*node)->status().ok()) << (*node)->status();
    (*node)->Stop();
  }
}

// A server's replies go to the readers of all its clients, and a reader has bounds.
TEST_F(WireTest, RepliesToOthersLeaveTheOneThatAClientHasYetToTake) {
  LoneNode serving(Settings());
  LoneNode first(Settings());
  LoneNode second(Settings());
  ASSERT_TRUE(serving.ok() && first.ok() && second.ok());
  const SetBoolServer server(*serving, 0, "/trigger_node_srv",
                             [](const SetBoolRequest& request, const SetBoolServer::Reply& reply) {
                               const std::string text;
                               SetBoolResponse response{};
                               response.success = request.data;
                               response.message = Borrow(text);
                               EXPECT_TRUE(reply(response));
                             });
  SetBoolClient slow(*first, 0, "/trigger_node_srv");
  SetBoolClient busy(*second, 0, "/trigger_node_srv");
  ASSERT_TRUE(Eventually([&] { return slow.IsAvailable() && busy.IsAvailable(); }));
  const auto nothing = [](const SetBoolResponse& /*reply*/) {};
  // Now the server knows both, and the calls below are sent once.
  ASSERT_TRUE(slow.Call({}, nothing, kTestTimeout));
  ASSERT_TRUE(busy.Call({}, nothing, kTestTimeout));

  absl::Notification is_held;
  absl::Notification go_on;
  const dds_entity_t held =
      first->MakeReader(Descriptor<AlignRequest>(), "rq/holdRequest", kDefaultQos, "");
  first->Dispatch(0, held, [&] {
    Node::TakeAll<AlignRequest>(held, [&](const AlignRequest&, const dds_sample_info_t&) {
      is_held.Notify();
      go_on.WaitForNotification();
    });
  });
  const Writer<AlignRequest> holder(
      second->MakeWriter(Descriptor<AlignRequest>(), "rq/holdRequest", kDefaultQos, ""));
  ASSERT_TRUE(Eventually([&] { return holder.readers() == 1; }));
  ASSERT_TRUE(holder.Write(AlignRequest{}));
  is_held.WaitForNotification();
  std::thread asking([&] { EXPECT_TRUE(slow.Call({}, nothing, kTestTimeout)); });
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(busy.Call({}, nothing, kTestTimeout));
  go_on.Notify();
  asking.join();
  for (LoneNode* node : {&serving, &first, &second}) (*node)->Stop();
}

}  // namespace
}  // namespace voxloc::ros_wire
