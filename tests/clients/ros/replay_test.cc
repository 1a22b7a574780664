// SPDX-License-Identifier: Apache-2.0
//
// The same drive through the bridge and through `voxloc replay` gives the same poses, bit for bit.

#include <gmock/gmock.h>

#include <cstring>

#include "clients/cli/replay/replay_runner.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/ros/bridge_fixture.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::ros {
namespace {

constexpr int kScans = 10;

class BridgeReplayTest : public BridgeFixture {
 protected:
  void SetUp() override { server_.LoadTown(); }
  void TearDown() override { bridge_.reset(); }

  // A guess that no interpolation changes: the filter's pose at the scan's stamp.
  static Pose GuessAt(int i) {
    Pose guess = TruthAt(i);
    guess.translation += Eigen::Vector3d(0.2, -0.1, 0.05);
    return guess;
  }

  std::vector<Pose> Replayed(const std::string& profile) {
    cli::ReplayInput input;
    for (int i = 0; i < kScans; ++i) {
      input.scans.push_back(scratch_.Path(std::to_string(i) + ".pcd"));
      EXPECT_TRUE(WritePcd(input.scans.back(), ScanAt(i)).ok());
      input.truth.push_back({StampAt(i), GuessAt(i)});
    }
    client::ChannelOptions channel;
    channel.server = server_.server().address();
    client::SessionOptions options;
    options.open.mutable_setup()->set_map("town");
    options.open.mutable_setup()->mutable_options()->set_profile(profile);
    auto session = client::LocalizationSession::Open(*client::Channel::Create(channel), options);
    EXPECT_TRUE(session.ok()) << session.status();
    cli::ScanLoader loader(cli::FileScans(input.scans), input.scans, FilterOptions(), 0, 1);
    const cli::GuessSource source(input, cli::GuessSource::Kind::kTruth, std::nullopt, 0);
    cli::ReplayOptions replay;
    replay.session_poses = true;
    const auto outcome = cli::RunReplay(input, source, replay, &loader, session->get());
    EXPECT_TRUE(outcome.end.ok()) << outcome.end;
    std::vector<Pose> poses;
    for (const cli::ReplayRow& row : outcome.rows) poses.push_back(row.map_T_base.value_or(Pose()));
    return poses;
  }

  std::vector<Pose> Bridged(const std::string& profile) {
    parameters_.voxloc.profile = profile;
    parameters_.voxloc.activate_at_start = true;
    StartBridge(server_.server().address());
    EXPECT_TRUE(AwaitConnection());
    for (int i = 0; i < kScans; ++i) {
      PoseWithCovarianceStamped pose;
      if (i == 0) {
        pose.header = {StampAt(i) - kPeriodNs, "map"};
        pose.pose = GuessAt(i);
        bridge().OnInitialPose(pose);
      }
      pose.header = {StampAt(i), "map"};
      pose.pose = GuessAt(i);
      bridge().OnInitialPose(pose);
      SendScan(i);
      EXPECT_TRUE(AwaitStatuses(static_cast<size_t>(i) + 1));
    }
    std::vector<Pose> poses;
    for (const TransformStamped& transform : fakes_.output.transforms()) {
      poses.push_back(transform.parent_T_child);
    }
    return poses;
  }

  void ExpectSameBits(const std::string& profile) {
    const std::vector<Pose> replayed = Replayed(profile);
    const std::vector<Pose> bridged = Bridged(profile);
    ASSERT_EQ(replayed.size(), static_cast<size_t>(kScans));
    ASSERT_EQ(bridged.size(), replayed.size());
    for (size_t i = 0; i < replayed.size(); ++i) {
      EXPECT_GT(TranslationDistance(replayed[i], GuessAt(static_cast<int>(i))), 0.05)
          << "the alignment did something";
      EXPECT_EQ(std::memcmp(replayed[i].translation.data(), bridged[i].translation.data(),
                            3 * sizeof(double)),
                0)
          << i;
      EXPECT_EQ(std::memcmp(replayed[i].rotation.coeffs().data(),
                            bridged[i].rotation.coeffs().data(), 4 * sizeof(double)),
                0)
          << i;
    }
  }

  ScratchDir scratch_;
  server::TestServer server_;
};

TEST_F(BridgeReplayTest, TheBridgeGivesTheBitsOfReplayWithAutowaresProfile) {
  ExpectSameBits("autoware");
}

TEST_F(BridgeReplayTest, TheBridgeGivesTheBitsOfReplayWithTheProfilePrecise) {
  ExpectSameBits("precise");
}

}  // namespace
}  // namespace voxloc::ros
