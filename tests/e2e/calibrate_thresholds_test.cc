// SPDX-License-Identifier: Apache-2.0
//
// voxloc calibrate thresholds on a drive through a town, and a server with the profile that it
// writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/child_process.h"
#include "tests/e2e/served_town.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

class CalibrateThresholds : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(SimulateTown(scratch_.Path("town"))); }

  [[nodiscard]] std::vector<std::string> OnTheDrive(std::vector<std::string> command) const {
    return Concat(std::move(command),
                  {"--map", "town", "--scans", scratch_.Path("town/scans"), "--poses",
                   scratch_.Path("town/poses.txt"), "--points", "1500", "--min-range", "1"});
  }

  ScratchDir scratch_;
};

TEST_F(CalibrateThresholds, TheWrittenProfileAcceptsTheAskedShareOfTheDrive) {
  const std::string profile = scratch_.Path("yard.yaml");
  json found;
  {
    TownServer server;
    ASSERT_NO_FATAL_FAILURE(
        StartTownServer("cpu", scratch_.Path("."), scratch_.Path("town"), &server));
    const std::vector<std::string> calibrate =
        OnTheDrive({"calibrate", "thresholds", "--profile", "autoware"});
    const ProcessResult run = server.Voxloc(
        Concat(calibrate, {"--keep", "80", "--name", "yard", "--out", profile, "--json", "-"}));
    ASSERT_EQ(run.exit_code, 0) << run.error;
    found = json::parse(run.out, nullptr, false);
    ASSERT_FALSE(found.is_discarded()) << run.out.substr(0, 200);
    EXPECT_EQ(found["right"], 25);
    EXPECT_GT(found["wrong"], 20);

    // What goes wrong: too short a drive, and a name that is taken.
    const ProcessResult few = server.Voxloc(Concat(calibrate, {"--max-scans", "3"}));
    EXPECT_EQ(few.exit_code, 1);
    EXPECT_THAT(few.error, HasSubstr("at least 20 scans must be found again from their known "
                                     "poses (got 3 of 3"));
    const ProcessResult taken =
        server.Voxloc(Concat(calibrate, {"--name", "precise", "--out", scratch_.Path("p.yaml")}));
    EXPECT_EQ(taken.exit_code, 1);
    EXPECT_THAT(taken.error, HasSubstr("--name must be"));
    EXPECT_EQ(server.process->Stop(), 0);
  }
  const json& finding = found["findings"][0];
  const auto row_of = [&finding](const json& threshold) {
    const json& rows = finding["rates"];
    const auto row = std::find_if(rows.begin(), rows.end(), [&threshold](const json& other) {
      return other["threshold"] == threshold;
    });
    return row == rows.end() ? json() : *row;
  };
  const json recommended = row_of(found["recommended"]);
  const json keeping = row_of(finding["keeping"]);
  ASSERT_TRUE(recommended.is_object() && keeping.is_object()) << finding.dump(1);
  EXPECT_LT(recommended["threshold"], keeping["threshold"]);
  // Without ties 20 of 25.
  EXPECT_GE(keeping["right_accepted"], 20);
  EXPECT_LT(keeping["right_accepted"], 25);
  EXPECT_GE(recommended["right_accepted"], keeping["right_accepted"]);
  EXPECT_EQ(recommended["wrong_accepted"], 0);

  std::filesystem::create_directory(scratch_.Path("second"));
  TownServer server;
  ASSERT_NO_FATAL_FAILURE(StartTownServer("cpu", scratch_.Path("second"), scratch_.Path("town"),
                                          &server, {"--profile-files=" + profile}));
  const std::vector<std::string> replay =
      OnTheDrive({"replay", "--profile", "yard", "--json", "-"});
  const ProcessResult written = server.Voxloc(replay);
  const ProcessResult by_hand =
      server.Voxloc(Concat(replay, {"--gate", "score_threshold=" + keeping["threshold"].dump()}));
  EXPECT_EQ(server.process->Stop(), 0);
  ASSERT_EQ(written.exit_code, 0) << written.error;
  ASSERT_EQ(by_hand.exit_code, 0) << by_hand.error;
  EXPECT_EQ(json::parse(written.out, nullptr, false)["accepted"], recommended["right_accepted"]);
  EXPECT_EQ(json::parse(by_hand.out, nullptr, false)["accepted"], keeping["right_accepted"]);
}

}  // namespace
}  // namespace voxloc
