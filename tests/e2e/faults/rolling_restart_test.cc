// SPDX-License-Identifier: Apache-2.0
//
// Vehicles keep driving while their two servers are restarted alternately: every scan has exactly
// one result, and the sessions move to the running server.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/e2e/served_town.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 3;
constexpr int kVehicles = 4;
constexpr double kClose_s = 30.0;

// Sends the first scan of the drive again and again, every 20 ms, without waiting for answers.
class Vehicle {
 public:
  Vehicle(const std::string& servers, int number, const PointCloud& cloud, const Pose& map_T_base)
      : cloud_(cloud), map_T_base_(map_T_base) {
    client::ChannelOptions channel;
    channel.server = servers;
    client::SessionOptions options;
    options.open.mutable_setup()->set_map("town");
    options.open.mutable_setup()->set_vehicle("vehicle-" + std::to_string(number));
    options.reconnect.max_attempts = 100;
    options.on_result = [this](const v1::AlignmentResult& result) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++results_[result.sequence()];
      if (result.accepted()) ++accepted_;
    };
    auto opened = client::LocalizationSession::Open(*client::Channel::Create(channel), options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) return;
    session_ = *std::move(opened);
    thread_ = std::thread([this] { Drive(); });
  }

  ~Vehicle() {
    driving_ = false;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] uint64_t accepted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return accepted_;
  }

  [[nodiscard]] client::LocalizationSession& session() { return *session_; }
  [[nodiscard]] bool drives() const { return session_ != nullptr; }

  // Stops, and sees to it that every scan that was sent has its one result.
  void Finish() {
    driving_ = false;
    thread_.join();
    const absl::Status closed = session_->Close(kClose_s);
    EXPECT_TRUE(closed.ok()) << closed;
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(results_.size(), sent_);
    for (const auto& [sequence, count] : results_) {
      EXPECT_EQ(count, 1) << "results of scan " << sequence;
    }
    EXPECT_EQ(session_->unexpected_results(), 0U);
    EXPECT_GE(session_->reconnects(), kRounds);
  }

 private:
  void Drive() {
    int64_t stamp_ns = 0;
    while (driving_) {
      client::ScanInput scan;
      scan.stamp_ns = stamp_ns += 20'000'000;
      scan.cloud = &cloud_;
      scan.guess_map_T_base = map_T_base_;
      const absl::StatusOr<uint64_t> sent = session_->Send(scan);
      EXPECT_TRUE(sent.ok()) << sent.status();
      if (!sent.ok()) return;
      ++sent_;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const PointCloud& cloud_;
  const Pose map_T_base_;
  std::atomic<bool> driving_{true};
  mutable std::mutex mutex_;
  std::map<uint64_t, int> results_;  // how many a scan has
  uint64_t accepted_ = 0;
  uint64_t sent_ = 0;  // of the thread, then of Finish
  std::unique_ptr<client::LocalizationSession> session_;
  std::thread thread_;
};

// The first scan, of few points, so that a slow machine keeps up.
PointCloud FirstScan(const fs::path& scans) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(scans)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  const absl::StatusOr<PointCloud> whole = ReadCloud(files.at(0));
  EXPECT_TRUE(whole.ok()) << whole.status();
  PointCloud few;
  if (!whole.ok()) return few;
  few.origin = whole->origin;
  const size_t step = std::max<size_t>(1, whole->size() / 500);
  for (size_t i = 0; i < whole->size(); i += step) {
    few.PushBack(whole->x[i], whole->y[i], whole->z[i]);
  }
  return few;
}

TEST(RollingRestart, EveryScanHasOneResultAndTheSessionsFollow) {
  const ScratchDir scratch;
  const fs::path town = scratch.Path("town");
  ASSERT_NO_FATAL_FAILURE(SimulateTown(town));
  const std::vector<fs::path> folders = {scratch.Path("a"), scratch.Path("b")};
  std::vector<TownServer> servers(2);
  for (size_t i = 0; i < servers.size(); ++i) {
    fs::create_directories(folders[i]);
    ASSERT_NO_FATAL_FAILURE(StartTownServer("cpu", folders[i], town, &servers[i]));
  }
  const PointCloud cloud = FirstScan(town / "scans");
  const auto drive = ReadTrajectory((town / "poses.txt").string(), TrajectoryFormat::kKitti);
  ASSERT_TRUE(drive.ok()) << drive.status();

  const std::string addresses = servers[0].address + "," + servers[1].address;
  std::vector<std::unique_ptr<Vehicle>> vehicles;
  for (int i = 0; i < kVehicles; ++i) {
    vehicles.push_back(std::make_unique<Vehicle>(addresses, i, cloud, drive->front().pose));
    ASSERT_TRUE(vehicles.back()->drives());
  }
  // Each vehicle still gets accepted results.
  const auto all_keep_tracking = [&vehicles] {
    for (const auto& vehicle : vehicles) {
      const uint64_t before = vehicle->accepted();
      if (!Eventually([&] { return vehicle->accepted() >= before + 3; })) return false;
    }
    return true;
  };
  ASSERT_TRUE(all_keep_tracking());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < servers.size(); ++i) {
      EXPECT_EQ(servers[i].process->Stop(), 0) << "voxlocd did not end cleanly";
      EXPECT_TRUE(all_keep_tracking()) << "round " << round << " without server " << i;
      ASSERT_NO_FATAL_FAILURE(LaunchServer("cpu", folders[i], servers[i].address, &servers[i]));
    }
  }
  EXPECT_EQ(servers[0].process->Stop(), 0);
  EXPECT_TRUE(all_keep_tracking());
  const ProcessResult listed =
      RunVoxloc({"admin", "sessions", "--server", servers[1].address, "--json", "-"});
  ASSERT_EQ(listed.exit_code, 0) << listed.error;
  const nlohmann::json sessions = nlohmann::json::parse(listed.out, nullptr, false);
  ASSERT_FALSE(sessions.is_discarded());
  EXPECT_EQ(sessions["sessions"].size(), static_cast<size_t>(kVehicles)) << listed.out;
  uint64_t accepted = 0;
  for (const auto& vehicle : vehicles) {
    vehicle->Finish();
    accepted += vehicle->accepted();
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_EQ(servers[1].process->Stop(), 0);
}

}  // namespace
}  // namespace voxloc
