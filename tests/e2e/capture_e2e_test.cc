// SPDX-License-Identifier: Apache-2.0
//
// Captures through the real programs: scans that went badly are captured, the server is started
// again, and voxloc lists and fetches them and aligns them with the same pose.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/served_town.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/test_engines.h"

namespace voxloc {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

constexpr size_t kScans = 4;

class CaptureE2e : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SimulateTown(scratch_.Path("town")));
    ASSERT_NO_FATAL_FAILURE(
        StartTownServer(GetParam(), scratch_.Path(""), scratch_.Path("town"), &server_, kFlags));
  }

  // A drive in which every scan is refused.
  void DriveWithRejectedScans() {
    const ProcessResult drive = server_.Voxloc({"replay",
                                                "--map",
                                                "town",
                                                "--scans",
                                                scratch_.Path("town/scans"),
                                                "--poses",
                                                scratch_.Path("town/poses_tum.txt"),
                                                "--pose-format",
                                                "tum",
                                                "--points",
                                                "1500",
                                                "--min-range",
                                                "1",
                                                "--session-poses",
                                                "--perturb",
                                                "0.3,0.3,0.1,0.5,0.5,1",
                                                "--gate",
                                                "score_threshold=100",
                                                "--max-scans",
                                                std::to_string(kScans)});
    ASSERT_EQ(drive.exit_code, 4) << drive.error;
  }

  [[nodiscard]] std::vector<std::string> Ids() const {
    const ProcessResult run = server_.Voxloc({"admin", "captures", "--json", "-"});
    EXPECT_EQ(run.exit_code, 0) << run.error;
    const json list = json::parse(run.out, nullptr, false);
    std::vector<std::string> ids;
    if (list.is_discarded()) return ids;
    for (const json& capture : list["captures"]) {
      EXPECT_EQ(capture["map"], "town");
      EXPECT_EQ(capture["status"], "LOW_SCORE");
      ids.push_back(capture["id"]);
    }
    return ids;
  }

  // A tile of the town.
  [[nodiscard]] std::string FirstScan() const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(scratch_.Path("town/scans"))) {
      if (entry.path().extension() == ".pcd") return entry.path().string();
    }
    return "";
  }

  const std::vector<std::string> kFlags = {"--capture.max-bytes=64M",
                                           "--capture.max-per-second=1000"};
  ScratchDir scratch_;
  TownServer server_;
};
INSTANTIATE_TEST_SUITE_P(, CaptureE2e, ::testing::ValuesIn(TestEngineNames()), NameByEngine);

TEST_P(CaptureE2e, BadScansAreAlignedWithTheSamePoseAfterARestart) {
  ASSERT_NO_FATAL_FAILURE(DriveWithRejectedScans());
  ASSERT_TRUE(Eventually([&] { return Ids().size() == kScans; }));
  const std::vector<std::string> ids = Ids();
  EXPECT_EQ(server_.process->Stop(), 0);
  server_.process.reset();
  ASSERT_NO_FATAL_FAILURE(
      LaunchServer(GetParam(), scratch_.Path(""), "127.0.0.1:0", &server_, kFlags));
  EXPECT_EQ(Ids(), ids);

  std::vector<std::string> replay = {"replay", "--capture"};
  for (const std::string& id : ids) {
    const std::string file = scratch_.Path(id + ".capture");
    const ProcessResult got = server_.Voxloc({"admin", "captures", "get", id, "--output", file});
    ASSERT_EQ(got.exit_code, 0) << got.error;
    EXPECT_THAT(got.out, HasSubstr(id));
    replay.push_back(file);
  }
  const std::string out = scratch_.Path("replay.json");
  const ProcessResult run = server_.Voxloc(Concat(replay, {"--json", out}));
  EXPECT_EQ(run.exit_code, 0) << run.out << run.error;
  EXPECT_THAT(run.out, HasSubstr("pose: the same to the last bit"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("warning")));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["same"], true);
  ASSERT_EQ(result["captures"].size(), kScans);
  for (const json& capture : result["captures"]) {
    EXPECT_EQ(capture["same_pose"], true);
    EXPECT_EQ(capture["status"], "LOW_SCORE");
  }

  // On a map of one scan the poses differ.
  const ProcessResult load = server_.Voxloc({"map", "load", "--map", "other", FirstScan()});
  ASSERT_EQ(load.exit_code, 0) << load.error;
  const ProcessResult other = server_.Voxloc(Concat(replay, {"--map", "other"}));
  EXPECT_EQ(other.exit_code, 4) << other.out << other.error;
}

TEST_P(CaptureE2e, WhatIsNotACaptureIsAnErrorWithTheFilesName) {
  const std::string file = scratch_.Write("no.capture", "not a capture");
  const ProcessResult run = server_.Voxloc({"replay", "--capture", file});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr(file + " must be a capture"));
  EXPECT_EQ(server_.Voxloc({"replay", "--capture", file, "--scans", "x"}).exit_code, 2);
  EXPECT_EQ(server_.Voxloc({"replay", "--scans", "x", "--poses", "y"}).exit_code, 2);
  const ProcessResult get =
      server_.Voxloc({"admin", "captures", "get", "c1-1", "--output", scratch_.Path("c")});
  EXPECT_EQ(get.exit_code, 1);
  EXPECT_THAT(get.error, HasSubstr("there is no capture 'c1-1'"));
}

}  // namespace
}  // namespace voxloc
