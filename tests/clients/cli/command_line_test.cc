// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "clients/cli/commands/commands.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

ParsedCommandLine Parse(absl::string_view line) {
  return ParseCommandLine(absl::StrSplit(line, ' ', absl::SkipEmpty()));
}

TEST(CommandLine, EveryCommandHasHelpWithAnExampleAndTheCommonFlagsWhereItAsksAServer) {
  const std::vector<std::string> asking = {
      "map load",     "map list",        "map info",      "map drop",     "map undrop",
      "map tiles",    "map history",     "map rollback",  "map activate", "map withdraw",
      "map canary",   "map watch",       "map export",    "map import",   "admin sessions",
      "admin config", "admin log-level", "admin undrain", "align",        "locate",
      "replay",       "load-test",       "score",         "info"};
  const std::vector<std::string> others = {
      "admin", "admin drain", "fleet", "fleet activate", "fleet withdraw", "simulate", "map"};
  std::vector<std::string> commands = asking;
  commands.insert(commands.end(), others.begin(), others.end());
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const ParsedCommandLine parsed = Parse(command + " --help");
    EXPECT_EQ(parsed.exit_code, ExitCode::kOk);
    EXPECT_FALSE(parsed.work);
    EXPECT_THAT(parsed.out, HasSubstr("Example"));
    EXPECT_THAT(parsed.out, HasSubstr("voxloc " + command.substr(0, command.find(' '))));
  }
  for (const std::string& command : asking) {
    const std::string help = Parse(command + " --help").out;
    for (const char* flag : {"--server ADDR", "--timeout S", "--json FILE"}) {
      EXPECT_THAT(help, HasSubstr(flag)) << command;
    }
  }
  EXPECT_THAT(Parse("--help").out, HasSubstr("Exit codes: 0 success"));
  EXPECT_THAT(Parse("--version").out, HasSubstr("voxloc "));
}

TEST(CommandLine, AcceptsWhatTheManualShows) {
  const std::vector<std::string> lines = {
      "map load --server a:1 --map town --tile-size 50 a.pcd dir",
      "map load --map town --poses p.txt --profiles autoware,precise d",
      "map load --map town --canary bus-7,bus-9 --comment bridge map",
      "map drop --map town",
      "map drop --map town --yes --force",
      "map undrop --map town",
      "map history --map town",
      "map rollback --map town --to 12 --canary bus-7",
      "map rollback --map town --to previous",
      "admin config --width 100",
      "map activate --map town --revision 13",
      "map withdraw --map town --revision 13",
      "map canary --map town --revision 13 --vehicles bus-7,bus-9",
      "map watch",
      "map watch --map town --events 1 --json -",
      "map export --map town --revision 12 town-12",
      "map import --map town-copy --stage backup/town",
      "map tiles --map town --revision 12",
      "align --map m --guess -1,2,3,-4,5,6 scan.pcd",
      "replay --map m --scans d --poses p --pose-format tum --guess previous --perturb "
      "0.5,0.5,0,0,0,2 --seed 3 --profile precise --leaf 1.5 --points 1500 --rate 10 --json - "
      "--report r.html --min-range 1",
      "replay --map m --scans d --poses p --guesses g.txt",
      "replay --map m --scans d --poses p --odometry o --fusion --fusion-option scale_sigma=0.01 "
      "--guess-sigma 0.1,0.1,0.1,1,1,1",
      "load-test --map m --scans d --poses p --streams 200 --rate 10 --pose-rate 50 --seconds 60 "
      "--max-p99-ms 5",
      "load-test --map m --map n --scans d --poses p --scans e --poses q --guesses g --guesses h "
      "--covariance fixed --no-confidence --min-answered 99.9",
      "score --map m --at=-1,2,3,4,5,6 scan.pcd",
      "score --map m --point-scores --override outlier_ratio=0.3 scan.pcd",
      "align --map m --override max_iterations=5 --gate min_confidence=0.5 --base-t-sensor "
      "-1,0,1.8,0,0,180 --trace --diagnostics --point-scores --no-ground-margin 0.8 scan.pcd",
      "replay --map m --scans d --poses p --session-poses --references gnss.txt --recovery "
      "lost_after_scans=3 --recovery apply=true --diagnostics",
      "calibrate --map m --scans d --odometry o --sensor roof --out s.json --base-t-sensor "
      "1,0,1.8,0,0,0 --gate score_threshold=2",
      "calibrate thresholds --map m --scans d --poses p --keep 95 --max-wrong 0 --wrong-distance 1 "
      "--out profile.yaml --name yard",
      "calibrate thresholds --map m --bag drive.mcap --farthest 5 --json -",
      "locate --map m --report-particles --gate=score_threshold=2 scan.pcd",
      "load-test --map m --scans d --poses p --streams 16 --cancel-percent 5 --slow-readers 2 "
      "--read-delay 0.2 --one-outcome",
      "locate --map m scan.pcd",
      "locate --map m --prior -1,2,3,0,0,90 --sigma 5,5,0.5,1,1,20 --particles 400 --seed 7 "
      "--timeout 5 scan.pcd",
      "locate --map m --region -50,-50,-2,50,50,5 --yaw -90 --yaw-range 30 --hypotheses 3 --points "
      "1500 scan.pcd",
      "locate --map m --region-wgs84 -33.85,151.2,80 --yaw 10 scan.pcd",
      "map load --map m --poses p.txt --base-t-sensor 1,0,1.8,0,0,90 d",
      "map load --map m --projector p.yaml --wgs84-origin -33.8,151.2,12,90 map.pcd",
      "simulate --size 300 --scans 200 out",
      "map tiles --map m --region -1,2,3,4,5,6",
      "admin sessions --map town",
      "admin config --json -",
      "admin log-level debug",
      "admin drain --grace 60 --reason maintenance",
      "info --server a:1"};
  for (const std::string& line : lines) {
    const ParsedCommandLine parsed = Parse(line);
    EXPECT_TRUE(parsed.work) << line << ": " << parsed.error;
    EXPECT_EQ(parsed.error, "");
  }
}

TEST(CommandLine, IsShownAsAShellTakesIt) {
  EXPECT_EQ(CommandLineText({"replay", "--map", "town", "--perturb=0.3,-0.3,0,0,0,1"}),
            "voxloc replay --map town --perturb=0.3,-0.3,0,0,0,1");
  EXPECT_EQ(CommandLineText({"replay", "--scans", "my drive/$HOME", "it's", ""}),
            R"(voxloc replay --scans 'my drive/$HOME' 'it'\''s' '')");
}

TEST(CommandLine, ABadServerInTheEnvironmentStopsOnlyWhatAsksIt) {
  setenv("VOXLOC_SERVER", "nowhere", 1);
  EXPECT_TRUE(Parse("simulate --size 300 --scans 200 out").work);
  EXPECT_THAT(Parse("replay --help").out, HasSubstr("VOXLOC_SERVER"));
  const absl::StatusOr<ExitCode> asked = Parse("info").work();
  EXPECT_THAT(std::string(asked.status().message()),
              HasSubstr("VOXLOC_SERVER: the server address must be HOST:PORT"));
  unsetenv("VOXLOC_SERVER");
}

TEST(CommandLine, OutputsOfAReplayAreNotWhatItReads) {
  const ScratchDir scratch;
  std::filesystem::create_directory(scratch.Path("drive"));
  std::ofstream(scratch.Path("drive/drive_0.mcap")) << "recorded";
  std::filesystem::create_symlink(scratch.Path("drive/drive_0.mcap"), scratch.Path("link.mcap"));
  const auto replay = [&](const std::string& bag, const std::string& output) {
    return Parse(absl::StrCat("replay --map m --bag ", scratch.Path(bag), " --output ",
                              scratch.Path(output)));
  };
  for (const char* bag : {"drive", "drive/"}) {
    for (const char* output : {"drive/drive_0.mcap", "link.mcap", "drive/new.csv"}) {
      EXPECT_THAT(replay(bag, output).error, HasSubstr("--output must be another file"))
          << bag << " " << output;
    }
  }
  EXPECT_THAT(replay("drive/drive_0.mcap", "link.mcap").error,
              HasSubstr("--output must be another file"));
  EXPECT_EQ(replay("drive", "new.mcap").error, "");
  EXPECT_EQ(replay("drive/drive_0.mcap", "drive/new.mcap").error, "");
}

TEST(CommandLine, AnOutputIsGivenOnce) {
  const ScratchDir scratch;
  std::ofstream(scratch.Path("a.mcap")) << "";
  std::filesystem::create_symlink(scratch.Path("a.mcap"), scratch.Path("b.mcap"));
  for (const char* command : {"replay --scans d --poses p", "align x.pcd", "locate x.pcd"}) {
    const auto outputs = [&](const char* first, const char* second) {
      return Parse(absl::StrCat(command, " --map m --output ", scratch.Path(first), " --output ",
                                scratch.Path(second)))
          .error;
    };
    EXPECT_THAT(outputs("new.csv", "./new.csv"), HasSubstr("new.csv must be given once"));
    EXPECT_THAT(outputs("a.mcap", "b.mcap"), HasSubstr("a.mcap must be given once"));
    EXPECT_EQ(outputs("new.csv", "new.mcap"), "");
  }
}

struct Mistake {
  std::string line;
  std::string says;
};

TEST(CommandLine, ExplainsMistakes) {
  const std::vector<Mistake> mistakes = {
      {"replay --mpa town", "voxloc replay has no flag --mpa; did you mean --map?"},
      {"replay --map=t --scans d --poses p --pertrub=1",
       "has no flag --pertrub; did you mean --perturb?"},
      {"map laod", "voxloc map has no command laod; did you mean load?"},
      {"repaly", "voxloc has no command repaly; did you mean replay?"},
      {"map info", "--map is required"},
      {"map list stray", "voxloc map list does not take 'stray'"},
      {"align --map m --guess 1,2,3 f.pcd",
       "must be 6 numbers, X,Y,Z,ROLL,PITCH,YAW in metres and degrees (got 3"},
      {"replay --map m --scans d --poses p --guess lucky", "lucky"},
      {"replay --map m --scans d --poses p --perturb 1", "--perturb"},
      {"replay --map m --scans d --poses p --guess truth --guesses g", "--guess"},
      {"replay --map m --bag b --guess previous --guesses-topic g",
       "--guess must be odometry with --guesses or --guesses-topic (got previous)"},
      {"replay --map m --scans d --poses p --guess odometry",
       "--guess odometry must come with --odometry"},
      {"replay --map m --scans d --poses p --guess odometry --odometry o --session-poses",
       "--guess odometry must not come with --session-poses"},
      {"replay --map m --scans d --poses p --fusion", "--fusion must come with --odometry"},
      {"replay --map m --scans d --poses p --fusion --odometry o --guess previous",
       "--guess must be odometry with --fusion (got previous)"},
      {"replay --map m --scans d --poses p --odometry o --fusion-option scale_sigma=0.01",
       "--fusion-option requires --fusion"},
      {"replay --map m --scans d --poses p --odometry o --fusion --fusion-option scale_sigm=0.01",
       "has no key scale_sigm; did you mean scale_sigma?"},
      {"load-test --map m --scans d --poses p --pose-rate 50",
       "--pose-rate must come with a --rate over 0 (got 0)"},
      {"load-test --map m --scans d --poses p --slow-readers 3",
       "--slow-readers must be at most --streams, 1 (got 3)"},
      {"load-test --map m --scans d --poses p --poses q",
       "--poses must be given once for each --scans (got 2 for 1)"},
      {"load-test --map m --scans d --poses p --min-answered 101", "--min-answered"},
      {"calibrate --map m --scans d --sensor s --out o", "--odometry is required"},
      {"calibrate threshold",
       "voxloc calibrate has no command threshold; did you mean thresholds?"},
      {"calibrate thresholds --map m --scans d", "--poses is required"},
      {"calibrate --map m thresholds --map m --scans d --poses p",
       "--map: must come after the word thresholds"},
      {"calibrate thresholds --map m --scans d --poses p --keep 0", "--keep"},
      {"calibrate thresholds --map m --scans d --poses p --out o", "--out requires --name"},
      {"calibrate thresholds --map m --scans d --poses p --out o --name a/b",
       "must be 1 to 64 letters, digits, '.', '_' and '-' (got 'a/b')"},
      {"calibrate thresholds --map m --scans d --poses p --override max_iterations=5",
       "no flag --override"},
      {"locate --map m --region 1,2,3 f.pcd", "X0,Y0,Z0,X1,Y1,Z1"},
      {"locate --map m --prior 0,0,0,0,0,0 --region 0,0,0,1,1,1 f.pcd", "--prior"},
      {"locate --map m --sigma 1,1,1,1,1,1 f.pcd", "--prior"},
      {"locate --map m --yaw 5 f.pcd", "--region"},
      {"locate --map m --region-wgs84 48,11 f.pcd", "3 numbers, LAT,LON,RADIUS"},
      {"locate --map m --region-wgs84 48,11,9 --region 0,0,0,1,1,1 f.pcd", "--region"},
      {"map load --map m --base-t-sensor 1,0,2,0,0,0 f.pcd",
       "--base-t-sensor must come with --poses or --bag"},
      {"map load --map m --poses p --base-t-sensor 1,2 d", "X,Y,Z,ROLL,PITCH,YAW"},
      {"map load --map m --poses p --calib c --base-t-sensor 1,0,2,0,0,0 d", "--base-t-sensor"},
      {"map load --map m --wgs84-origin 48 f.pcd", "2 to 4 numbers, LAT,LON[,ALT[,YAW]]"},
      {"align --map m --override max_iteration=5 f.pcd",
       "has no key max_iteration; did you mean max_iterations?"},
      {"score --map m --gate min_confidence=0.5 f.pcd", "no flag --gate"},
      {"replay --map m --scans d --poses p --recovery apply=1",
       "apply must be true or false (got 1)"},
      {"align --map m --base-t-sensor 1,2,3 f.pcd", "X,Y,Z,ROLL,PITCH,YAW"},
      {"map tiles --map m --region 1,2", "X0,Y0,Z0,X1,Y1,Z1"},
      {"map rollback --map m", "--to is required"},
      {"map watch --json -", "--events"},
      {"admin log-level loud", "loud"},
      {"admin log-level", "LEVEL is required"},
      {"admin drain --grace -1", "--grace"},
      {"admin sesions", "voxloc admin has no command sesions; did you mean sessions?"},
      {"info --timeout -1", "--timeout"},
      {"", "A subcommand is required"}};
  for (const Mistake& mistake : mistakes) {
    const ParsedCommandLine parsed = Parse(mistake.line);
    EXPECT_FALSE(parsed.work);
    EXPECT_EQ(parsed.exit_code, ExitCode::kUsage);
    EXPECT_THAT(parsed.error, HasSubstr(mistake.says));
    EXPECT_THAT(parsed.error, HasSubstr("--help"));
  }
}

}  // namespace
}  // namespace voxloc::cli
