// SPDX-License-Identifier: Apache-2.0
//
// The trace context that goes with calls, over real connections.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kTraceTimeout_s = 20.0;
constexpr char kFirst[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kSecond[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

TEST(Traceparent, IsWhatTheRecommendationSays) {
  for (const char* good :
       {kFirst, kSecond, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more.of;it"}) {
    EXPECT_TRUE(IsTraceparent(good)) << good;
  }
  const std::string first = kFirst;
  const std::string later = "cc" + first.substr(2);
  for (const std::string& bad :
       {std::string(), first.substr(1), first + "-", first + "0", "ff" + first.substr(2),
        "0" + first.substr(1, 0) + "g" + first.substr(2), first.substr(0, 54) + "G",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
        std::string("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01"), later + "x",
        later + "-line\n", later + "-" + std::string(1000, 'a'), std::string(55, '-'),
        first.substr(0, 10) + std::string(1, '\0') + first.substr(11)}) {
    EXPECT_FALSE(IsTraceparent(bad)) << bad;
  }
}

// What came as metadata, call by call.
class TracedCalls : public ::testing::Test {
 protected:
  FakeBehaviour Remembers() {
    FakeBehaviour behaviour;
    behaviour.get_server_info = [this](grpc::ServerContext* context, v1::GetServerInfoResponse*) {
      std::string joined;
      const auto range = context->client_metadata().equal_range("traceparent");
      for (auto value = range.first; value != range.second; ++value) {
        absl::StrAppend(&joined, std::string(value->second.data(), value->second.size()), "|");
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      received_.push_back(joined);
      return grpc::Status::OK;
    };
    return behaviour;
  }
  std::vector<std::string> came() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return received_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> received_;
};

TEST_F(TracedCalls, BringTheContextOfTheChannel) {
  const FakeServer server(Remembers());
  for (const char* traceparent : {kFirst, ""}) {
    ChannelOptions options;
    options.server = server.address();
    options.traceparent = traceparent;
    const auto channel = Channel::Create(options);
    ASSERT_TRUE(channel.ok()) << channel.status();
    EXPECT_TRUE(GetServerInfo(*channel, kTraceTimeout_s).ok());
  }
  EXPECT_THAT(came(), ElementsAre(absl::StrCat(kFirst, "|"), ""));
}

TEST_F(TracedCalls, AskForTheContextAsEachBegins) {
  const FakeServer server(Remembers());
  std::string current = kFirst;
  ChannelOptions options;
  options.server = server.address();
  options.current_traceparent = [&current] { return current; };
  const auto channel = Channel::Create(options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  for (const char* next : {kFirst, kSecond, "", "malformed\n"}) {
    current = next;
    EXPECT_TRUE(GetServerInfo(*channel, kTraceTimeout_s).ok());
  }
  EXPECT_THAT(came(), ElementsAre(absl::StrCat(kFirst, "|"), absl::StrCat(kSecond, "|"), "", ""));
}

TEST_F(TracedCalls, AMalformedContextIsRefusedAtTheBeginning) {
  ChannelOptions options;
  options.server = "localhost:1";
  options.traceparent = "00-malformed";
  const absl::Status malformed = Channel::Create(options).status();
  EXPECT_EQ(malformed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(malformed.message()), HasSubstr("(got '00-malformed')"));
  options.traceparent = kFirst;
  options.current_traceparent = [] { return std::string(kFirst); };
  EXPECT_THAT(std::string(Channel::Create(options).status().message()), HasSubstr("not both"));
}

TEST(TraceparentOfTheEnvironment, IsTakenWhereItIsOne) {
  EXPECT_EQ(setenv("TRACEPARENT", kFirst, 1), 0);
  EXPECT_EQ(TraceparentOfEnvironment(), kFirst);
  EXPECT_EQ(setenv("TRACEPARENT", "00-malformed", 1), 0);
  EXPECT_EQ(TraceparentOfEnvironment(), "");
  EXPECT_EQ(unsetenv("TRACEPARENT"), 0);
  EXPECT_EQ(TraceparentOfEnvironment(), "");
}

}  // namespace
}  // namespace voxloc::client
