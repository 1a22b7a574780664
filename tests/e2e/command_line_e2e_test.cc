// SPDX-License-Identifier: Apache-2.0
//
// The real programs, together: voxlocd is started, and voxloc simulates, loads, replays, aligns and
// scores through it, and meets bad input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/e2e/served_town.h"
#include "tests/support/eventually.h"
#include "tests/support/test_engines.h"

namespace voxloc {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// One simulated town for all tests, and one server on each engine with the town as a map.
class CommandLineE2e : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "voxloc_e2e_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    SimulateTown(directory_ / "town");
  }

  static void TearDownTestSuite() {
    for (const auto& [engine, server] : servers_) {
      EXPECT_EQ(server.process->Stop(), 0) << "voxlocd on " << engine << " did not end cleanly";
    }
    servers_.clear();
    fs::remove_all(directory_);
  }

  void SetUp() override {
    if (servers_.count(GetParam()) == 0) {
      ASSERT_NO_FATAL_FAILURE(
          StartTownServer(GetParam(), directory_, directory_ / "town", &servers_[GetParam()]));
    }
    ASSERT_FALSE(servers_[GetParam()].address.empty()) << "voxlocd does not serve";
  }

  static std::string Town(const std::string& name) { return (directory_ / "town" / name).string(); }

  static ProcessResult WithServer(std::vector<std::string> arguments) {
    return servers_[GetParam()].Voxloc(std::move(arguments));
  }

  static std::vector<std::string> ReplayOf(const std::string& poses) {
    return {"replay",   "--map", "town",        "--scans", Town("scans"), "--poses", poses,
            "--points", "1500",  "--min-range", "1",       "--profile",   "precise"};
  }

  static fs::path directory_;
  static std::map<std::string, TownServer> servers_;  // by engine
};

fs::path CommandLineE2e::directory_;
std::map<std::string, TownServer> CommandLineE2e::servers_;
INSTANTIATE_TEST_SUITE_P(, CommandLineE2e, ::testing::ValuesIn(TestEngineNames()), NameByEngine);

TEST_P(CommandLineE2e, CtrlCInAReplayKeepsSummaryJsonAndReport) {
  const fs::path out = directory_ / "interrupted.json";
  const fs::path report = directory_ / "interrupted.html";
  const std::string log = (directory_ / "interrupted.log").string();
  std::vector<std::string> arguments =
      Concat(ReplayOf(Town("poses.txt")),
             {"--rate", "2", "--json", out.string(), "--report", report.string(), "--report-scans",
              "0", "--server", servers_[GetParam()].address});
  arguments.insert(arguments.begin(), ProgramPath(VOXLOC_VOXLOC));
  ChildProcess replay(arguments, log);
  const auto text = [&log] {
    std::ostringstream bytes;
    bytes << std::ifstream(log).rdbuf();
    return bytes.str();
  };
  // The line of the progress comes once scans were answered.
  EXPECT_TRUE(Eventually([&text] { return text().find(" accepted ") != std::string::npos; }));
  replay.Signal(SIGINT);
  EXPECT_EQ(replay.Wait(), 130) << text();
  EXPECT_THAT(text(), HasSubstr("incomplete: ended after "));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded()) << text();
  EXPECT_GT(result["accepted"], 0);
  EXPECT_LT(result["scans"], result["planned_scans"]);
  EXPECT_TRUE(result["ended_early"].is_string());
  EXPECT_GT(fs::file_size(report), 10'000u);
}

TEST_P(CommandLineE2e, FilesThatCannotBeWrittenEndACommandBeforeItsWork) {
  const std::string none = (directory_ / "no" / "such" / "folder" / "file").string();
  for (const char* flag : {"--report", "--json"}) {
    const ProcessResult run = WithServer(Concat(ReplayOf(Town("poses.txt")), {flag, none}));
    EXPECT_EQ(run.exit_code, 2) << flag;
    EXPECT_THAT(run.error, HasSubstr(none + " cannot be written: No such file or directory"));
    EXPECT_EQ(run.out, "");
  }
}

TEST_P(CommandLineE2e, ReplayTracksTheDriveAndWritesJsonAndReport) {
  const fs::path out = directory_ / "replay.json";
  const fs::path report = directory_ / "report.html";
  const ProcessResult run = WithServer(Concat(
      ReplayOf(Town("poses.txt")),
      {"--perturb", "0.3,0.3,0.1,0.5,0.5,1", "--json", out.string(), "--report", report.string()}));
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("25 scans, 25 answered, 25 accepted (100.0 %)"));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["scans"], 25);
  EXPECT_EQ(result["accepted"], 25);
  EXPECT_LT(result["translation_error_m"]["max"], 0.05);
  EXPECT_LT(result["rotation_error_deg"]["max"], 0.2);
  EXPECT_GT(result["latency_ms"]["p50"], result["engine_ms"]["p50"]);
  EXPECT_EQ(result["results"].size(), 25u);
  EXPECT_GT(fs::file_size(report), 50000u);
}

// Every guess is 8 m and 40 degrees off the answer before it.
TEST_P(CommandLineE2e, ALostVehicleGetsNoWrongPoseAccepted) {
  const auto accepted_wrong = [this](const std::string& rule, const std::string& seed) {
    const ProcessResult run = WithServer(
        Concat(ReplayOf(Town("poses_tum.txt")),
               {"--pose-format", "tum", "--guess", "previous", "--perturb", "8,8,0,0,0,40",
                "--seed", seed, "--gate", "rule=" + rule, "--json", "-"}));
    const json result = json::parse(run.out, nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << run.error;
    return result.is_discarded() ? -1 : result["accepted_wrong"].get<int>();
  };
  int by_reference = 0;
  for (const char* seed : {"1", "2", "3", "4"}) {
    EXPECT_EQ(accepted_wrong("strict", seed), 0) << seed;
    by_reference += accepted_wrong("reference", seed);
  }
  EXPECT_GT(by_reference, 0);  // it is lost
}

TEST_P(CommandLineE2e, ReplayFollowsThePreviousAnswer) {
  const ProcessResult run = WithServer(
      Concat(ReplayOf(Town("poses_tum.txt")), {"--pose-format", "tum", "--guess", "previous",
                                               "--perturb", "0.2,0.2,0.1,0,0,1", "--json", "-"}));
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json result = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << run.out.substr(0, 200);
  EXPECT_EQ(result["accepted"], 25);
  EXPECT_LT(result["translation_error_m"]["p50"], 0.02);
}

TEST_P(CommandLineE2e, CalibrateWritesASensorThatTheServerTakes) {
  const fs::path out = directory_ / (GetParam() + "_sensors.json");
  const std::vector<std::string> calibrate = {"calibrate",
                                              "--map",
                                              "town",
                                              "--scans",
                                              Town("scans"),
                                              "--odometry",
                                              Town("poses_tum.txt"),
                                              "--points",
                                              "1500",
                                              "--min-range",
                                              "1",
                                              "--profile",
                                              "precise",
                                              "--odometry-drift",
                                              "0.1",
                                              "--out",
                                              out.string()};
  const ProcessResult run = WithServer(Concat(calibrate, {"--sensor", "roof", "--json", "-"}));
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json calibration = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(calibration.is_discarded()) << run.out.substr(0, 200);
  EXPECT_EQ(calibration["accepted"], 25);
  EXPECT_GT(calibration["halves"], 15);
  // Map and scans are exact but for white noise: there is next to nothing to learn.
  for (const json& axis : calibration["position_sigma_m"]) EXPECT_LT(axis["value"], 0.02);
  EXPECT_LT(calibration["scan_part_factor"]["low"], 2.0);

  // Another entry leaves the first as it is.
  const json before = JsonIn(out);
  const ProcessResult second = WithServer(Concat(calibrate, {"--sensor", "front"}));
  ASSERT_EQ(second.exit_code, 0) << second.error;
  EXPECT_THAT(second.out, HasSubstr("sensor front written to"));
  const json after = JsonIn(out);
  ASSERT_EQ(after["sensors"].size(), 3u);
  EXPECT_EQ(after["sensors"][1], before["sensors"][1]);
  EXPECT_EQ(after["sensors"][1]["name"], "roof");
  // A drive of 20 m makes nothing smaller.
  EXPECT_EQ(after["sensors"][1]["systematic_position_sigma_m"]["value"],
            json::parse("[0.04, 0.04, 0.04]"));

  const ProcessResult config = RunProcess(
      {ProgramPath(VOXLOC_VOXLOCD), "--sensor-calibration", out.string(), "--listen=nowhere"});
  EXPECT_EQ(config.exit_code, 2);
  EXPECT_THAT(config.error, HasSubstr("listen must be ADDR:PORT"));

  const ProcessResult short_drive =
      WithServer(Concat(calibrate, {"--sensor", "roof", "--max-scans", "5"}));
  EXPECT_EQ(short_drive.exit_code, 1);
  EXPECT_THAT(short_drive.error, HasSubstr("too few accepted scans"));
}

TEST_P(CommandLineE2e, OpenLoopAnswersEveryScanOnce) {
  const ProcessResult run =
      WithServer(Concat(ReplayOf(Town("poses.txt")), {"--rate", "2000", "--json", "-"}));
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json result = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["answered"].get<int>() + result["superseded"].get<int>(), 25);
}

TEST_P(CommandLineE2e, MapsAreLoadedListedDescribedAndDropped) {
  ASSERT_EQ(
      WithServer({"map", "load", "--map", "second", "--tile-size", "40", Town("map")}).exit_code,
      0);
  EXPECT_THAT(WithServer({"map", "list"}).out, HasSubstr("second"));
  const json second = json::parse(WithServer({"map", "info", "--map", "second", "--json", "-"}).out,
                                  nullptr, false);
  const json town =
      json::parse(WithServer({"map", "info", "--map", "town", "--json", "-"}).out, nullptr, false);
  ASSERT_FALSE(second.is_discarded() || town.is_discarded());
  EXPECT_EQ(second["points"], town["points"]);
  EXPECT_NE(second["tiles"], town["tiles"]);
  EXPECT_EQ(WithServer({"map", "drop", "--yes", "--map", "second"}).exit_code, 0);
  const ProcessResult gone = WithServer({"map", "info", "--map", "second"});
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(gone.error, HasSubstr("second"));
}

// What `map tiles` says, by tile.
std::map<std::string, std::string> DigestsIn(const ProcessResult& tiles) {
  std::map<std::string, std::string> digests;
  const json listed = json::parse(tiles.out, nullptr, false);
  for (const json& tile : listed["tiles"]) digests[tile["tile_id"]] = tile["sha256"];
  return digests;
}

TEST_P(CommandLineE2e, AMapIsStagedUndoneSavedAndComesBack) {
  const auto tiles_of = [](const std::string& map, const std::string& revision = "0") {
    return DigestsIn(
        WithServer({"map", "tiles", "--map", map, "--revision", revision, "--json", "-"}));
  };
  const std::string out = (directory_ / (GetParam() + "_saved")).string();
  ASSERT_EQ(
      WithServer({"map", "load", "--map", "kept", "--tile-size", "40", Town("map")}).exit_code, 0);
  const std::map<std::string, std::string> first = tiles_of("kept");
  ASSERT_GT(first.size(), 4u);
  const ProcessResult again =
      WithServer({"map", "load", "--map", "kept", "--tile-size", "40", "--json", "-", Town("map")});
  EXPECT_EQ(json::parse(again.out, nullptr, false)["bytes_sent"], 0);

  ASSERT_EQ(WithServer({"map", "load", "--map", "kept", "--tile-size", "60", "--canary", "bus-7",
                        "--comment", "other tiles", Town("map")})
                .exit_code,
            0);
  EXPECT_EQ(tiles_of("kept"), first);
  const std::map<std::string, std::string> staged = tiles_of("kept", "3");
  EXPECT_NE(staged, first);
  const std::string history = WithServer({"map", "history", "--map", "kept"}).out;
  EXPECT_THAT(history, HasSubstr("staged, tried by 1 vehicle"));
  EXPECT_THAT(history, HasSubstr("other tiles"));
  ASSERT_EQ(WithServer({"map", "activate", "--map", "kept", "--revision", "3"}).exit_code, 0);
  EXPECT_EQ(tiles_of("kept"), staged);
  ASSERT_EQ(WithServer({"map", "rollback", "--map", "kept", "--to", "1"}).exit_code, 0);
  EXPECT_EQ(tiles_of("kept"), first);
  EXPECT_THAT(WithServer({"map", "watch", "--map", "kept", "--events", "1"}).out,
              HasSubstr("kept present, revision 4"));

  const ProcessResult saved = WithServer({"map", "export", "--map", "kept", out});
  ASSERT_EQ(saved.exit_code, 0) << saved.error;
  const ProcessResult unconfirmed = WithServer({"map", "drop", "--map", "kept"});
  EXPECT_EQ(unconfirmed.exit_code, 2);
  EXPECT_THAT(unconfirmed.error,
              HasSubstr("--yes must be given where standard input is no terminal"));
  ASSERT_EQ(WithServer({"map", "drop", "--yes", "--map", "kept"}).exit_code, 0);
  ASSERT_EQ(WithServer({"map", "undrop", "--map", "kept"}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] {  // its tiles are loaded first
    return WithServer({"map", "info", "--map", "kept"}).exit_code == 0;
  }));
  EXPECT_EQ(tiles_of("kept"), first);
  ASSERT_EQ(WithServer({"map", "drop", "--yes", "--map", "kept"}).exit_code, 0);
  const ProcessResult back = WithServer({"map", "import", "--map", "back", out});
  ASSERT_EQ(back.exit_code, 0) << back.error;
  EXPECT_EQ(tiles_of("back"), first);
  EXPECT_EQ(WithServer({"map", "drop", "--yes", "--map", "back"}).exit_code, 0);
}

TEST_P(CommandLineE2e, TilesAreListedInAllAndInARegion) {
  const json all =
      json::parse(WithServer({"map", "tiles", "--map", "town", "--json", "-"}).out, nullptr, false);
  const json town =
      json::parse(WithServer({"map", "info", "--map", "town", "--json", "-"}).out, nullptr, false);
  ASSERT_FALSE(all.is_discarded() || town.is_discarded());
  EXPECT_EQ(all["revision"], town["revision"]);
  EXPECT_EQ(all["tiles"].size(), town["tiles"]);
  uint64_t points = 0;
  for (const json& tile : all["tiles"]) points += tile["points"].get<uint64_t>();
  EXPECT_EQ(points, town["points"]);
  const json& low = all["tiles"][0]["bounds"]["min"];
  std::ostringstream corner;
  corner << low[0] << "," << low[1] << "," << low[2];
  const ProcessResult run = WithServer({"map", "tiles", "--map", "town", "--region",
                                        corner.str() + "," + corner.str(), "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json some = json::parse(run.out, nullptr, false);
  EXPECT_GE(some["tiles"].size(), 1u);
  EXPECT_LT(some["tiles"].size(), all["tiles"].size());
  EXPECT_THAT(WithServer({"map", "tiles", "--map", "town"}).out, HasSubstr("crc32c"));
}

TEST_P(CommandLineE2e, AdminShowsAndSetsHowTheServerIsRun) {
  const json config =
      json::parse(WithServer({"admin", "config", "--json", "-"}).out, nullptr, false);
  ASSERT_FALSE(config.is_discarded());
  const auto source_of = [&config](const std::string& key) {
    for (const json& entry : config["entries"]) {
      if (entry["key"] == key) return entry["source"];
    }
    return json();
  };
  EXPECT_EQ(source_of("engine"), "FLAG");
  EXPECT_EQ(source_of("log_level"), "DEFAULT");
  EXPECT_THAT(WithServer({"admin", "log-level", "warn"}).out, HasSubstr("it was info"));
  const json level =
      json::parse(WithServer({"admin", "log-level", "info", "--json", "-"}).out, nullptr, false);
  EXPECT_EQ(level, json::parse(R"({"level": "info", "previous_level": "warn"})"));
  EXPECT_THAT(WithServer({"admin", "sessions"}).out, HasSubstr("no sessions"));
  const json info = json::parse(WithServer({"info", "--json", "-"}).out, nullptr, false);
  EXPECT_GT(info["limits"]["max_queued_scans"], 0);
  EXPECT_EQ(info["limits"]["max_sessions"], info["max_sessions"]);
}

TEST_P(CommandLineE2e, AlignTellsAGoodPoseFromABadOne) {
  const std::string scan = Town("scans/000000.pcd");
  std::ifstream poses(Town("poses_tum.txt"));
  double stamp, x, y, z, qx, qy, qz, qw;
  poses >> stamp >> x >> y >> z >> qx >> qy >> qz >> qw;
  ASSERT_TRUE(poses.good());
  const double yaw = std::atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz));
  std::ostringstream guess;
  guess << x << "," << y << "," << z << ",0,0," << yaw * 180.0 / M_PI;
  const ProcessResult good = WithServer({"align", "--map", "town", "--guess", guess.str(),
                                         "--points", "1500", "--min-range", "1", scan});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.error;
  EXPECT_THAT(good.out, HasSubstr("status    OK"));
  const ProcessResult bad =
      WithServer({"align", "--map", "town", "--guess", "5000,0,0,0,0,0", scan});
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_THAT(bad.out, HasSubstr("OUT_OF_MAP"));
  const ProcessResult scored =
      WithServer({"score", "--map", "town", "--at", guess.str(), "--json", "-", scan});
  ASSERT_EQ(scored.exit_code, 0) << scored.error;
  EXPECT_GT(json::parse(scored.out)["results"][0]["nvtl"], 1.0);
}

TEST_P(CommandLineE2e, AlignTakesOverridesAGateAndAMountAndReportsMore) {
  std::ifstream poses(Town("poses_tum.txt"));
  double stamp, x, y, z, qx, qy, qz, qw;
  poses >> stamp >> x >> y >> z >> qx >> qy >> qz >> qw;
  ASSERT_TRUE(poses.good());
  const double yaw = std::atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz));
  const auto align = [&](double guess_z, const std::vector<std::string>& more) {
    std::ostringstream guess;
    guess << x << "," << y << "," << guess_z << ",0,0," << yaw * 180.0 / M_PI;
    const ProcessResult run = WithServer(
        Concat({"align", "--map", "town", "--guess", guess.str(), "--points", "1500", "--min-range",
                "1", "--profile", "autoware", "--json", "-", Town("scans/000000.pcd")},
               more));
    json result = json::parse(run.out, nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << run.error;
    return result;
  };
  const json plain = align(z, {});
  EXPECT_TRUE(plain["accepted"]);
  EXPECT_TRUE(plain["trace"].is_null());
  EXPECT_TRUE(plain["diagnostics"].is_null());

  const json full = align(z, {"--trace", "--diagnostics", "--point-scores", "--no-ground-margin",
                              "0.8", "--override", "max_iterations=2"});
  EXPECT_LE(full["iterations"], 2);
  EXPECT_EQ(full["trace"].size(), full["iterations"]);
  EXPECT_EQ(full["diagnostics"]["values"].size(), 19u);
  EXPECT_EQ(full["diagnostics"]["values"]["iteration_num"], full["iterations"]);
  EXPECT_EQ(full["point_scores"].size(), full["points_used"]);
  EXPECT_EQ(full["points_map"].size(), full["points_used"]);
  EXPECT_GT(full["no_ground"]["points"], 0);
  EXPECT_LT(full["no_ground"]["points"], full["points_used"]);

  EXPECT_EQ(align(z, {"--gate", "score_threshold=100"})["status"], "LOW_SCORE");
  // A sensor 2 m above the base: the base is 2 m below where the sensor sees itself.
  const json mounted = align(z - 2.0, {"--base-t-sensor", "0,0,2,0,0,0"});
  EXPECT_TRUE(mounted["accepted"]);
  EXPECT_NEAR(mounted["pose"][2], plain["pose"][2].get<double>() - 2.0, 0.05);
}

TEST_P(CommandLineE2e, ScoreWritesTheScoreOfEveryPoint) {
  const ProcessResult run =
      WithServer({"score", "--map", "town", "--poses", Town("poses.txt"), "--points", "100",
                  "--min-range", "1", "--point-scores", "--json", "-", Town("scans/000000.pcd")});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json scored = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(scored.is_discarded());
  ASSERT_EQ(scored["results"].size(), 25u);
  ASSERT_EQ(scored["points_sensor"].size(), 100u);
  EXPECT_EQ(scored["points_sensor"][0].size(), 3u);
  for (const json& row : scored["results"]) {
    ASSERT_EQ(row["point_scores"].size(), 100u);
    double sum = 0.0;
    double matched = 0.0;
    for (const json& score : row["point_scores"]) {
      sum += score.get<double>();
      if (score > 0.0) ++matched;
    }
    // NVTL is the mean of the matched points' scores.
    EXPECT_NEAR(sum, row["nvtl"].get<double>() * matched, 1e-3 * sum);
  }
}

TEST_P(CommandLineE2e, ReplaySendsPosesReferencesAndLooksForALostVehicle) {
  const auto replay = [](const std::vector<std::string>& more) {
    const ProcessResult run = WithServer(Concat(
        {"replay", "--map", "town", "--scans", Town("scans"), "--poses", Town("poses_tum.txt"),
         "--pose-format", "tum", "--points", "1500", "--min-range", "1", "--json", "-"},
        more));
    json result = json::parse(run.out, nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << run.error;
    EXPECT_EQ(run.error.find("rejected"), std::string::npos) << run.error;
    return result;
  };
  const json posed =
      replay({"--session-poses", "--diagnostics", "--perturb", "0.3,0.3,0.1,0.5,0.5,1"});
  EXPECT_EQ(posed["accepted"], 25);
  for (const json& row : posed["results"]) {
    EXPECT_TRUE(row["diagnostics"]["values"]["is_succeed_interpolate_initial_pose"].get<bool>());
  }

  // A strong pull towards positions that are 2 m off moves the answers along the heading.
  const fs::path references = directory_ / "references.txt";
  std::ifstream poses(Town("poses_tum.txt"));
  std::ofstream moved(references);
  std::string stamp, rest;
  double x = 0.0, y = 0.0;
  while (poses >> stamp >> x >> y && std::getline(poses, rest)) {
    moved << stamp << " " << x + 2.0 << " " << y + 2.0 << rest << "\n";
  }
  moved.close();
  const std::vector<std::string> pull_flags = {"--profile", "autoware", "--override",
                                               "regularization.scale_factor=0.2"};
  EXPECT_LT(replay(pull_flags)["translation_error_m"]["mean"], 0.1);
  EXPECT_GT(replay(Concat(pull_flags,
                          {"--references", references.string()}))["translation_error_m"]["mean"],
            0.5);

  // Poses that are right for ten scans, and then 300 m off.
  const fs::path wrong_poses = directory_ / "astray.txt";
  std::ifstream right(Town("poses_tum.txt"));
  std::ofstream wrong(wrong_poses);
  for (int i = 0; right >> stamp >> x >> y && std::getline(right, rest); ++i) {
    wrong << stamp << " " << x + (i < 10 ? 0.0 : 300.0) << " " << y << rest << "\n";
  }
  wrong.close();
  const json lost = replay({"--session-poses", "--guesses", wrong_poses.string(), "--recovery",
                            "lost_after_scans=2", "--recovery", "initial_radius_m=5", "--recovery",
                            "max_radius_m=10"});
  EXPECT_EQ(lost["accepted"], 10);
  EXPECT_TRUE(std::any_of(lost["results"].begin(), lost["results"].end(),
                          [](const json& row) { return row["recovery"].is_object(); }));
}

TEST_P(CommandLineE2e, LocateFindsAVehicleAroundAPrior) {
  const std::string scan = Town("scans/000003.pcd");
  std::ifstream poses(Town("poses_tum.txt"));
  double stamp = 0.0, x = 0.0, y = 0.0, z = 0.0;
  std::string rest;
  for (int i = 0; i < 4; ++i) {
    poses >> stamp >> x >> y >> z;
    std::getline(poses, rest);
  }
  ASSERT_TRUE(poses.good());
  std::ostringstream prior;
  prior << x + 2.0 << "," << y - 2.0 << "," << z << ",0,0,0";
  const fs::path out = directory_ / "located.json";
  const ProcessResult run = WithServer(
      {"locate", "--map", "town", "--prior", prior.str(), "--sigma", "2,2,0.3,1,1,30", "--points",
       "1500", "--min-range", "1", "--report-particles", "--json", out.string(), scan});
  EXPECT_THAT(run.out, HasSubstr("found     "));
  EXPECT_THAT(run.out, HasSubstr("support"));
  const json found = JsonIn(out);
  ASSERT_FALSE(found.is_discarded()) << run.error;
  EXPECT_TRUE(found["located"]);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(found["particles"].size(), found["candidates_aligned"]);
  ASSERT_GE(found["hypotheses"].size(), 1u);
  const json& pose = found["hypotheses"][0]["pose"];
  EXPECT_LT(std::hypot(pose[0].get<double>() - x, pose[1].get<double>() - y), 0.2);
  const ProcessResult outside = WithServer(
      {"locate", "--map", "town", "--prior", "9000,0,0,0,0,0", "--points", "1500", scan});
  EXPECT_EQ(outside.exit_code, 4);
  EXPECT_THAT(outside.out, HasSubstr("nothing"));
}

TEST_P(CommandLineE2e, LocateFindsAVehicleAnywhereInTheMap) {
  std::ifstream poses(Town("poses_tum.txt"));
  double stamp = 0.0, x = 0.0, y = 0.0;
  poses >> stamp >> x >> y;
  ASSERT_TRUE(poses.good());
  const ProcessResult run =
      WithServer({"locate", "--map", "town", "--points", "1500", "--min-range", "1", "--json", "-",
                  Town("scans/000000.pcd")});
  const json found = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(found.is_discarded()) << run.error;
  ASSERT_GE(found["hypotheses"].size(), 1u);
  const json& pose = found["hypotheses"][0]["pose"];
  EXPECT_LT(std::hypot(pose[0].get<double>() - x, pose[1].get<double>() - y), 0.2);
  EXPECT_GT(found["candidates_scored"], 0);
}

TEST_P(CommandLineE2e, LocateFindsAVehicleByLatitudeAndLongitude) {
  std::ifstream poses(Town("poses_tum.txt"));
  double stamp = 0.0, x = 0.0, y = 0.0;
  poses >> stamp >> x >> y;
  ASSERT_TRUE(poses.good());
  ASSERT_EQ(
      WithServer({"map", "load", "--map", "earth", "--wgs84-origin", "0,0", Town("map")}).exit_code,
      0);
  EXPECT_THAT(WithServer({"map", "info", "--map", "earth"}).out,
              HasSubstr("origin     0, 0, 0 m; x axis 0 deg from east"));
  // Where the equator meets the prime meridian, x and y are arcs with the ellipsoid's radii.
  const double degrees_east = 180.0 / (M_PI * 6378137.0);
  const double flattening = 1.0 / 298.257223563;
  const double degrees_north = degrees_east / ((1.0 - flattening) * (1.0 - flattening));
  std::ostringstream circle;
  circle.precision(12);
  circle << std::fixed << (y + 5.0) * degrees_north << "," << (x - 5.0) * degrees_east << ",15";
  const ProcessResult run =
      WithServer({"locate", "--map", "earth", "--region-wgs84=" + circle.str(), "--points", "1500",
                  "--min-range", "1", "--json", "-", Town("scans/000000.pcd")});
  const json found = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(found.is_discarded()) << run.error;
  ASSERT_GE(found["hypotheses"].size(), 1u);
  const json& pose = found["hypotheses"][0]["pose"];
  EXPECT_LT(std::hypot(pose[0].get<double>() - x, pose[1].get<double>() - y), 0.2);
  const ProcessResult unknown =
      WithServer({"locate", "--map", "town", "--region-wgs84", "0,0,15", Town("scans/000000.pcd")});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.error, HasSubstr("has no frame"));
  EXPECT_EQ(WithServer({"map", "drop", "--yes", "--map", "earth"}).exit_code, 0);
}

TEST_P(CommandLineE2e, BadInputFailsWithAReason) {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string says;
  };
  const fs::path short_poses = directory_ / "short.txt";
  std::ofstream(short_poses) << "1 0 0 0 0 1 0 0 0 0 1 0\n";
  const fs::path lying = directory_ / "lying.pcd";
  std::ofstream(lying) << "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                          "WIDTH 1000\nHEIGHT 1\nPOINTS 1000\nDATA binary\nabc";
  const std::vector<Case> cases = {
      {{"map", "load", "--map", "x", "/no/such/file.pcd"}, 1, "/no/such/file.pcd"},
      {{"map", "load", "--map", "x", lying.string()}, 1, "lying.pcd"},
      {{"map", "load", "--map", "not a name", Town("map")}, 1, "map name"},
      {{"align", "--map", "town", Town("scans")}, 1, "scans"},
      {{"align", "--map", "town", lying.string()}, 1, "lying.pcd"},
      {{"align", "--map", "moon", Town("scans/000000.pcd")}, 1, "moon"},
      {{"align", "--map", "town", "--profile", "perfect", Town("scans/000000.pcd")}, 1, "perfect"},
      {{"locate", "--map", "moon", Town("scans/000000.pcd")}, 1, "moon"},
      {{"locate", "--map", "town", "--prior", "0,0,0,0,0,0", "--sigma", "1,1,0,1,1,1",
        Town("scans/000000.pcd")},
       1,
       "prior.covariance"},
      {ReplayOf(short_poses.string()), 1, "25 scans"},
      {ReplayOf("/no/such/poses.txt"), 1, "/no/such/poses.txt"},
      {Concat(ReplayOf(Town("poses.txt")), {"--json", "/no/such/directory/out.json"}), 2,
       "/no/such/directory/out.json"},
      {{"align", "--map", "town", "--gues", "0,0,0,0,0,0", Town("scans/000000.pcd")}, 2, "--guess"},
      {{"map", "info", "--map", "town", "--timeout", "soon"}, 2, "--timeout"},
  };
  for (const Case& one : cases) {
    const ProcessResult run = WithServer(one.arguments);
    EXPECT_EQ(run.exit_code, one.exit_code) << one.says << ": " << run.out << run.error;
    EXPECT_THAT(run.error, HasSubstr(one.says));
  }
  EXPECT_EQ(WithServer({"info"}).exit_code, 0) << "the server lives on";
}

TEST_P(CommandLineE2e, AnUnreachableServerHasAnExitCodeOfItsOwn) {
  const std::vector<std::vector<std::string>> commands = {
      {"info"},
      {"map", "list"},
      {"map", "load", "--map", "x", Town("map")},
      ReplayOf(Town("poses.txt")),
      {"align", "--map", "town", Town("scans/000000.pcd")},
      {"locate", "--map", "town", Town("scans/000000.pcd")},
      {"score", "--map", "town", Town("scans/000000.pcd")}};
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult run =
        RunVoxloc(Concat(command, {"--server", "127.0.0.1:1", "--timeout", "5"}));
    EXPECT_EQ(run.exit_code, 3) << command[0] << ": " << run.error;
    EXPECT_THAT(run.error, HasSubstr("127.0.0.1:1"));
  }
}

}  // namespace
}  // namespace voxloc
