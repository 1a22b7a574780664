// SPDX-License-Identifier: Apache-2.0
//
// voxloc load-test against the real server: open and closed loop, poses, objectives, and servers
// that end in the middle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/program_path.h"
#include "tests/e2e/served_town.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string TextIn(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LoadTestE2e : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchDir();
    SimulateTown(scratch_->Path("town"));
    server_ = new TownServer();
    StartTownServer("cpu", scratch_->Path(""), scratch_->Path("town"), server_);
  }

  static void TearDownTestSuite() {
    EXPECT_EQ(server_->process->Stop(), 0) << "voxlocd did not end cleanly";
    delete server_;
    delete scratch_;
  }

  void SetUp() override { ASSERT_FALSE(server_->address.empty()) << "voxlocd does not serve"; }

  // Scans are few and small, so that a slow machine keeps up.
  static std::vector<std::string> LoadTest(const std::vector<std::string>& more) {
    return Concat({"load-test", "--map", "town", "--scans", scratch_->Path("town/scans"), "--poses",
                   scratch_->Path("town/poses.txt"), "--points", "300", "--min-range", "1",
                   "--profile", "autoware", "--covariance", "fixed", "--no-confidence"},
                  more);
  }

  // Runs it to its end, and parses what --json - has printed.
  static json ResultOf(const std::vector<std::string>& more, int exit_code) {
    const ProcessResult run = server_->Voxloc(LoadTest(Concat(more, {"--json", "-"})));
    EXPECT_EQ(run.exit_code, exit_code) << run.error;
    json result = json::parse(run.out, nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << run.out.substr(0, 200) << run.error;
    if (!result.is_discarded()) ExpectOneOutcomeEach(result);
    return result;
  }

  static void ExpectOneOutcomeEach(const json& result) {
    uint64_t outcomes = 0;
    for (const char* outcome :
         {"answered", "superseded", "local_stale", "local_superseded", "cancelled", "lost"}) {
      outcomes += result[outcome].get<uint64_t>();
    }
    EXPECT_EQ(result["sent"], outcomes);
    EXPECT_EQ(result["duplicated"], 0);
  }

  static ScratchDir* scratch_;
  static TownServer* server_;
};

ScratchDir* LoadTestE2e::scratch_ = nullptr;
TownServer* LoadTestE2e::server_ = nullptr;

TEST_F(LoadTestE2e, OpenLoopSendsWhatIsDue) {
  const json result = ResultOf({"--streams", "3", "--rate", "10", "--seconds", "2", "--ramp", "0.5",
                                "--perturb", "0.2,0.2,0.1,0,0,1"},
                               0);
  EXPECT_EQ(result["streams"], 3);
  EXPECT_EQ(result["sent"], 3 * 10 * 2);
  EXPECT_EQ(result["unsent"], 0);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["engine"], "cpu");
  EXPECT_EQ(result["profile"], "autoware");
  EXPECT_EQ(result["points_per_scan"], 300.0);
  EXPECT_GT(result["accepted"], 0);
  EXPECT_GE(result["latency_ms"]["p99"], result["latency_ms"]["p50"]);
  EXPECT_GT(result["align_ms"]["p50"], 0.0);
  EXPECT_GE(result["batch_size"]["p50"], 1.0);
}

TEST_F(LoadTestE2e, ClosedLoopAndSeveralMapsAndDrives) {
  ASSERT_EQ(
      server_->Voxloc({"map", "load", "--map", "second", scratch_->Path("town/map")}).exit_code, 0);
  const json result =
      ResultOf({"--streams", "4", "--seconds", "1", "--map", "second", "--scans",
                scratch_->Path("town/scans"), "--poses", scratch_->Path("town/poses.txt")},
               0);
  EXPECT_EQ(result["maps"], json::parse(R"(["town", "second"])"));
  EXPECT_EQ(result["scans"], 50);
  EXPECT_EQ(result["superseded"], 0);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_GT(result["rate_per_s"], 0.0);
}

TEST_F(LoadTestE2e, PosesGiveTheScansTheirGuesses) {
  const json result =
      ResultOf({"--streams", "2", "--rate", "5", "--pose-rate", "50", "--seconds", "2"}, 0);
  EXPECT_EQ(result["sent"], 2 * 5 * 2);
  EXPECT_GE(result["poses_sent"], 2 * 50 * 2);
  EXPECT_EQ(result["poses_rejected"], 0);
  EXPECT_FALSE(result["statuses"].contains("NO_PRIOR"));
  EXPECT_GT(result["accepted"], 0);
}

TEST_F(LoadTestE2e, TextAndJsonSayTheSame) {
  const fs::path out = scratch_->Path("both.json");
  const ProcessResult run = server_->Voxloc(
      LoadTest({"--streams", "5", "--rate", "4", "--seconds", "2", "--json", out.string()}));
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("5 streams, 4 scans/s each"));
  EXPECT_THAT(run.out, HasSubstr("25 scans of 300 points on average\n"));
  EXPECT_THAT(run.out, HasSubstr("sent 40, answered "));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["sent"], 5 * 4 * 2);
  ExpectOneOutcomeEach(result);
}

TEST_F(LoadTestE2e, EveryStreamUsesTheFirstServerThatCanBeReached) {
  const fs::path out = scratch_->Path("several.json");
  const ProcessResult run =
      RunVoxloc(LoadTest({"--server", "127.0.0.1:1," + server_->address, "--streams", "2", "--rate",
                          "4", "--seconds", "1", "--json", out.string()}));
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["sent"], 2 * 4);
  EXPECT_EQ(result["lost"], 0);
}

TEST_F(LoadTestE2e, AMissedObjectiveHasAnExitCode) {
  const std::vector<std::string> flags = {"--rate", "5", "--seconds", "1", "--ramp", "0"};
  json result = ResultOf(Concat(flags, {"--max-p99-ms", "0.001"}), 4);
  EXPECT_EQ(result["objectives"][0]["name"], "max_p99_ms");
  EXPECT_EQ(result["objectives"][0]["met"], false);
  result = ResultOf(Concat(flags, {"--max-p99-ms", "1e6", "--min-answered", "0"}), 0);
  EXPECT_EQ(result["objectives"][1]["met"], true);
}

TEST_F(LoadTestE2e, EveryScanHasOneOutcomeWithCancelledSessionsAndSlowReaders) {
  const std::vector<std::string> faults = {"--streams",      "4",   "--seconds",        "3",
                                           "--ramp",         "0.2", "--cancel-percent", "10",
                                           "--slow-readers", "1",   "--one-outcome"};
  for (const std::vector<std::string>& loop :
       {std::vector<std::string>{}, std::vector<std::string>{"--rate", "20"}}) {
    const json result = ResultOf(Concat(faults, loop), 0);
    EXPECT_EQ(result["lost"], 0);
    EXPECT_GT(result["cancelled"], 0);
    EXPECT_GE(result["cancelled"], result["sessions_cancelled"]);
    EXPECT_EQ(result["streams_ended"], 0);
    EXPECT_EQ(result["reconnects"], 0);
    EXPECT_EQ(result["objectives"][0]["name"], "one_outcome");
    EXPECT_EQ(result["objectives"][0]["value"], 0.0);
  }
}

TEST_F(LoadTestE2e, TilesAreReplacedWhileVehiclesDriveAndPutBack) {
  const auto tiles = [] {
    const ProcessResult run = server_->Voxloc({"map", "tiles", "--map", "town", "--json", "-"});
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return json::parse(run.out, nullptr, false);
  };
  const auto contents = [](const json& list) {
    std::vector<std::string> digests;
    for (const json& tile : list["tiles"]) digests.push_back(tile["sha256"]);
    return digests;
  };
  const json before = tiles();
  ASSERT_FALSE(contents(before).empty());
  uint64_t revision = before["revision"];
  for (int run = 0; run < 2; ++run) {
    const json result = ResultOf({"--streams", "2", "--rate", "10", "--seconds", "4", "--ramp",
                                  "0.5", "--tile-updates", "1", "--max-update-factor", "1e6"},
                                 0);
    EXPECT_EQ(result["tile_updates"]["due"], 2);
    // The last one may come too late to count.
    EXPECT_GE(result["tile_updates"]["count"], 1);
    EXPECT_EQ(result["tile_updates"]["failed"], 0);
    EXPECT_EQ(result["tile_updates"]["reached"], true);
    EXPECT_GT(result["tile_updates"]["commit_ms"]["p50"], 0.0);
    EXPECT_GE(result["tile_updates"]["update_ms"]["max"],
              result["tile_updates"]["commit_ms"]["max"]);
    EXPECT_GT(result["quiet_latency_ms"]["p99"], 0.0);
    EXPECT_GT(result["updating_latency_ms"]["p99"], 0.0);
    EXPECT_EQ(result["objectives"][0]["name"], "max_update_factor");
    const json after = tiles();
    EXPECT_EQ(contents(after), contents(before));
    EXPECT_EQ(after["revision"], revision + 3) << "two updates, and one to put the tiles back";
    revision = after["revision"];
  }
  const json missed = ResultOf({"--streams", "1", "--rate", "10", "--seconds", "1", "--ramp", "0",
                                "--tile-updates", "1000", "--max-update-factor", "1e6"},
                               4);
  EXPECT_EQ(missed["tile_updates"]["reached"], false);
  EXPECT_EQ(missed["objectives"][0]["met"], false);
  EXPECT_EQ(contents(tiles()), contents(before));
}

TEST_F(LoadTestE2e, MistakesHaveReasons) {
  struct Case {
    std::vector<std::string> more;
    int exit_code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--pose-rate", "50"}, 2, "--pose-rate must come with a --rate over 0"},
      {{"--slow-readers", "2"}, 2, "--slow-readers must be at most --streams, 1 (got 2)"},
      {{"--cancel-percent", "51"}, 2, "--cancel-percent"},
      {{"--max-update-factor", "2"}, 2, "--max-update-factor must come with --tile-updates over 0"},
      {{"--tile-updates", "-1"}, 2, "--tile-updates"},
      {{"--scans", "more"}, 2, "--poses must be given once for each --scans (got 1 for 2)"},
      {{"--poses", "more", "--scans", "/no/such/folder"}, 1, "/no/such/folder"},
      {{"--map", "moon", "--streams", "2"}, 1, "moon"},
  };
  for (const Case& one : cases) {
    const ProcessResult run = server_->Voxloc(LoadTest(one.more));
    EXPECT_EQ(run.exit_code, one.exit_code) << one.says << run.error;
    EXPECT_THAT(run.error, HasSubstr(one.says));
  }
  const ProcessResult run =
      RunVoxloc(LoadTest({"--server", "127.0.0.1:1", "--timeout", "5", "--streams", "2"}));
  EXPECT_EQ(run.exit_code, 3) << run.error;
}

TEST_F(LoadTestE2e, EveryScanHasAnOutcomeWhenTheServerDies) {
  TownServer server;
  fs::create_directory(scratch_->Path("stopped"));
  ASSERT_NO_FATAL_FAILURE(
      StartTownServer("cpu", scratch_->Path("stopped"), scratch_->Path("town"), &server));
  const fs::path out = scratch_->Path("stopped.json");
  const std::string log = scratch_->Path("stopped.log");
  std::vector<std::string> arguments =
      LoadTest({"--streams", "2", "--rate", "10", "--seconds", "8", "--ramp", "0", "--timeout", "1",
                "--min-answered", "99", "--json", out.string(), "--server", server.address});
  arguments.insert(arguments.begin(), ProgramPath(VOXLOC_VOXLOC));
  ChildProcess load_test(arguments, log);
  EXPECT_TRUE(Eventually([&log] { return TextIn(log).find(" answers") != std::string::npos; }));
  server.process->Signal(SIGKILL);
  EXPECT_EQ(server.process->Wait(), -1);
  EXPECT_EQ(load_test.Wait(), 4) << TextIn(log);
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded()) << TextIn(log);
  ExpectOneOutcomeEach(result);
  EXPECT_EQ(result["sent"].get<int>() + result["unsent"].get<int>(), 2 * 10 * 8);
  EXPECT_GT(result["answered"], 0);
  const auto count = [&result](const char* key) { return result[key].get<int>(); };
  EXPECT_GT(count("lost") + count("local_stale") + count("unsent"), 0);
}

TEST_F(LoadTestE2e, CtrlCReportsWhatWasMeasured) {
  const fs::path out = scratch_->Path("interrupted.json");
  const std::string log = scratch_->Path("interrupted.log");
  std::vector<std::string> arguments =
      LoadTest({"--streams", "2", "--rate", "10", "--seconds", "3600", "--ramp", "0", "--json",
                out.string(), "--server", server_->address});
  arguments.insert(arguments.begin(), ProgramPath(VOXLOC_VOXLOC));
  ChildProcess load_test(arguments, log);
  EXPECT_TRUE(Eventually([&log] { return TextIn(log).find(" of 3600 s") != std::string::npos; }));
  load_test.Signal(SIGINT);
  EXPECT_EQ(load_test.Wait(), 130) << TextIn(log);
  EXPECT_THAT(TextIn(log), HasSubstr("interrupted after "));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded()) << TextIn(log);
  ExpectOneOutcomeEach(result);
  EXPECT_GT(result["answered"], 0);
}

}  // namespace
}  // namespace voxloc
