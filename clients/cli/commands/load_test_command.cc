// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/load_test/load_report.h"
#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/tile_updates.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/replay_input.h"
#include "clients/cpp/messages.h"
#include "core/parallel/processors.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct LoadTestFlags {
  ServerFlags server;
  ScanFlags scan;
  AlignmentFlags alignment;
  EstimateFlags estimate;
  std::vector<std::string> maps;
  std::string profile;
  std::vector<std::string> scans;
  std::vector<std::string> poses;
  std::vector<std::string> guesses;
  ReplayFiles files;  // the rest of what is common to all drives
  std::string perturb;
  LoadTiming timing;
  ClientFaults faults;
  Objectives objectives;
};

// Checks combinations of flags.
absl::Status CheckFlagCombinations(const LoadTestFlags& flags) {
  if (flags.poses.size() != flags.scans.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--poses must be given once for each --scans (got ", flags.poses.size(),
                     " for ", flags.scans.size(), ")"));
  }
  if (!flags.guesses.empty() && flags.guesses.size() != flags.scans.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--guesses must be given once for each --scans, or never (got ",
                     flags.guesses.size(), " for ", flags.scans.size(), ")"));
  }
  if (flags.timing.pose_rate_hz > 0.0 && !flags.timing.open_loop()) {
    return absl::InvalidArgumentError("--pose-rate must come with a --rate over 0 (got 0)");
  }
  if (flags.objectives.max_update_factor.has_value() && !(flags.timing.tile_updates_hz > 0.0)) {
    return absl::InvalidArgumentError("--max-update-factor must come with --tile-updates over 0");
  }
  if (flags.faults.slow_readers > flags.timing.streams) {
    return absl::InvalidArgumentError(absl::StrCat("--slow-readers must be at most --streams, ",
                                                   flags.timing.streams, " (got ",
                                                   flags.faults.slow_readers, ")"));
  }
  return absl::OkStatus();
}

// Shows on standard error how far reading is. Errors of the files and of the thinning, which name
// the file; ResourceExhausted: more than kMaxDriveBytes.
absl::StatusOr<std::vector<LoadDrive>> ReadDrives(const LoadTestFlags& flags) {
  std::optional<Perturbation> perturbation;
  if (!flags.perturb.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(perturbation, ParsePerturbation(flags.perturb));
  }
  std::vector<ReplayInput> inputs;
  size_t scans = 0;
  for (size_t d = 0; d < flags.scans.size(); ++d) {
    ReplayFiles files = flags.files;
    files.scans = flags.scans[d];
    files.poses = flags.poses[d];
    if (!flags.guesses.empty()) files.guesses = flags.guesses[d];
    files.read = flags.scan.read();
    VOXLOC_ASSIGN_OR_RETURN(ReplayInput input, ReadReplayInput(files));
    scans += input.scans.size();
    PrintNotes(input.notes);
    inputs.push_back(std::move(input));
  }
  ProgressBar progress("reading", "scans", scans);
  std::vector<LoadDrive> drives;
  uint64_t bytes = 0;
  size_t done = 0;
  for (const ReplayInput& input : inputs) {
    LoadDrive& drive = drives.emplace_back();
    const GuessSource guesses(
        input, input.guesses.empty() ? GuessSource::Kind::kTruth : GuessSource::Kind::kFile,
        perturbation, flags.scan.seed);
    for (size_t i = 0; i < input.scans.size(); ++i) {
      VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, ReadScan(input.scans[i], flags.scan));
      v1::Cloud& encoded = drive.scans.emplace_back();
      client::EncodeCloud(scan, &encoded);
      drive.guesses_map_T_base.push_back(guesses.GuessFor(i, std::nullopt));
      drive.points += scan.size();
      bytes += encoded.data().size();
      if (bytes > kMaxDriveBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the scans must take at most ", ByteText(kMaxDriveBytes),
                         " of memory (got more after ", done, " of ", scans,
                         " scans); thin them with --leaf or --points, or send fewer with "
                         "--max-scans"));
      }
      progress.Update(++done);
    }
  }
  return drives;
}

LoadPlan PlanOf(const LoadTestFlags& flags) {
  LoadPlan plan;
  plan.channel = ChannelOptionsOf(flags.server);
  plan.timeout_s = flags.server.timeout_s;
  plan.timing = flags.timing;
  plan.faults = flags.faults;
  plan.faults.seed = flags.scan.seed;
  plan.maps = flags.maps;
  v1::ScanSetup& setup = *plan.open.mutable_setup();
  setup.mutable_options()->set_profile(flags.profile);
  flags.alignment.AddTo(&setup);
  flags.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  return plan;
}

// Starts the updates, where there are any, with the run.
absl::StatusOr<LoadResult> RunStreams(const LoadTestFlags& flags, const LoadPlan& plan,
                                      TileUpdates* updates) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<LoadDrive> drives, ReadDrives(flags));
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<LoadRun> run, LoadRun::Open(plan, drives));
  LiveLine line(3.0, 0.25);
  const int64_t start_ns = RunClock::Monotonic_ns();
  if (updates != nullptr) updates->Start(start_ns);
  return run->Run(
      start_ns,
      [&](int64_t time_ns, uint64_t answers) {
        const double time_s = 1e-9 * static_cast<double>(time_ns);
        const LoadTiming& timing = flags.timing;
        const bool ramp = time_s < timing.ramp_s;
        line.Show(absl::StrFormat("%s%.0f of %g s, %d answers", ramp ? "ramp " : "",
                                  ramp ? time_s : time_s - timing.ramp_s,
                                  ramp ? timing.ramp_s : timing.steady_s, answers));
      },
      &Interrupt::Requested);
}

absl::StatusOr<ExitCode> LoadTest(const LoadTestFlags& flags) {
  VOXLOC_TRY(CheckServer(flags.server));
  const Interrupt interrupt;
  const LoadPlan plan = PlanOf(flags);
  std::unique_ptr<TileUpdates> updates;
  if (flags.timing.tile_updates_hz > 0.0) {
    VOXLOC_ASSIGN_OR_RETURN(updates, TileUpdates::Read(plan));
  }
  absl::StatusOr<LoadResult> result = RunStreams(flags, plan, updates.get());
  if (updates != nullptr) {
    // Also after a run that failed.
    VOXLOC_ASSIGN_OR_RETURN(TileUpdateCounts counts, updates->Finish());
    if (result.ok()) result->tile_updates = std::move(counts);
  }
  if (!result.ok()) return result.status();
  if (result->interrupted) {
    absl::FPrintF(stderr, "voxloc: interrupted after %.1f of %g s of measuring\n", result->steady_s,
                  flags.timing.steady_s);
    if (!(result->steady_s > 0.0)) return ExitCode::kInterrupted;  // nothing was measured
  }
  const bool interrupted = result->interrupted;

  LoadReport report;
  report.server = flags.server.server;
  report.maps = flags.maps;
  report.timing = flags.timing;
  report.timing.steady_s = result->steady_s;
  report.faults = flags.faults;
  report.generator = JudgeGenerator(report.timing, result->tally, UsableProcessors());
  report.objectives = JudgeObjectives(flags.objectives, *result);
  report.result = *std::move(result);
  if (flags.server.prints_text()) std::fputs(LoadReportText(report).c_str(), stdout);
  std::fputs(LoadWarningsText(report).c_str(), stderr);
  VOXLOC_TRY(WriteJson(flags.server.json, LoadReportJson(report)));
  if (interrupted) return ExitCode::kInterrupted;
  return report.passed() ? ExitCode::kOk : ExitCode::kNotAccepted;
}

constexpr char kLoadTestManual[] =
    R"(Each stream is a vehicle with a session of its own that goes through its drive again and
again, from another place than the others. --map, --scans and --poses can be repeated:
stream s has drive s modulo their number, and map s modulo their number.
With --rate, scans leave on schedule whatever the server does, and the latency counts from
when a scan was due. Without, each stream sends a scan when the last one is answered.
With --pose-rate, poses between the guesses are sent, and scans bring no guess of their own;
the server needs two poses up to each scan.
What is due in the ramp is sent, but not counted. At the end, what is on its way is waited
for until --timeout has passed. Each counted scan is sent or unsent (its session refused it,
or had ended), and each sent one has one outcome: answered or superseded by the server, stale
or superseded at the client without a reply, or lost.
With --tile-updates, the first half of --seconds is quiet, and in the second half tiles of the
maps are replaced, each in a transaction of its own, without one of its points. Both halves are
reported apart. At the end every tile is put back; the updates stay in the map's history, and a
test that is killed leaves its tiles as they are (voxloc map rollback).
Ctrl-C ends the test early: what was measured until then is reported, and the exit code is
130. A second Ctrl-C ends it at once.
Scans are read before the test and may take 4 GiB. Percentiles are exact
within 0.8 %. generator_limited: more than 1 % of the sends were over 1 ms late, or more
than 90 % of the processors were used. The exit code is 4 if an objective was missed,
nothing was answered, or a session ended before the test did.

Examples:
  voxloc load-test --map town --scans town/scans --poses town/poses.txt --points 1500 \
      --streams 8 --seconds 30
  voxloc load-test --map town --scans town/scans --poses town/poses.txt --points 1500 \
      --streams 200 --rate 10 --pose-rate 50 --seconds 60 --max-p99-ms 5
  voxloc load-test --map town --scans town/scans --poses town/poses.txt --points 1500 \
      --streams 2 --rate 10 --seconds 60 --tile-updates 1 --max-update-factor 1.5)";

void AddDriveFlags(CLI::App* command, LoadTestFlags* flags) {
  const auto repeated = [command](const std::string& name, std::vector<std::string>* values,
                                  const std::string& help, const std::string& type) {
    return AddOption(command, name, *values, type, help)->allow_extra_args(false);
  };
  repeated("--map", &flags->maps, "Use this map; can be repeated", "NAME")->required();
  repeated("--scans", &flags->scans,
           "Send the scans of this directory, clouds in any format of `voxloc map load`; can be "
           "repeated",
           "DIR")
      ->required();
  repeated("--poses", &flags->poses,
           "Read the true pose of every scan from FILE; once for each --scans", "FILE")
      ->required();
  repeated("--guesses", &flags->guesses,
           "Read the guess of every scan from FILE, in the format of --poses; once for each "
           "--scans",
           "FILE");
  AddPoseFormatFlag(command, "--pose-format", "Set the format of the files of poses and guesses",
                    &flags->files.pose_format);
  AddCalibrationFlag(command, &flags->files.calibration);
  AddDefaulted(command, "--max-scans", flags->files.max_scans, "N",
               "Use the first N scans of each drive; 0: all");
  AddPerturbFlag(command, &flags->perturb);
}

}  // namespace

void AddLoadTestCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<LoadTestFlags>();
  options->timing.steady_s = 10.0;
  options->timing.ramp_s = 1.0;
  CLI::App* command = parent->add_subcommand(
      "load-test", "Send the scans of many vehicles at once and report rate and latency");
  command->footer(kLoadTestManual);
  AddDriveFlags(command, options.get());
  AddDefaulted(command, "--streams", options->timing.streams, "N", "Open N sessions, 1 to 100000")
      ->check(CLI::Range(size_t{1}, size_t{100000}));
  AddDefaulted(command, "--rate", options->timing.rate_hz, "HZ",
               "Send HZ scans per second and stream on schedule, 0 to 100000; 0: one scan in "
               "flight at a time in each stream")
      ->check(CLI::Range(0.0, 1e5));
  AddDefaulted(command, "--pose-rate", options->timing.pose_rate_hz, "HZ",
               "Send HZ poses per second and stream in place of guesses, 0 to 100000; 0: each scan "
               "brings its guess")
      ->check(CLI::Range(0.0, 1e5));
  AddDefaulted(command, "--seconds", options->timing.steady_s, "S",
               "Count for S seconds, 0.1 to 86400")
      ->check(CLI::Range(0.1, 86400.0));
  AddDefaulted(
      command, "--tile-updates", options->timing.tile_updates_hz, "HZ",
      "Replace HZ tiles of the maps per second in the second half of --seconds, 0 to 1000; 0: none")
      ->check(CLI::Range(0.0, 1e3));
  AddDefaulted(command, "--ramp", options->timing.ramp_s, "S",
               "Start the streams over S seconds before counting begins, 0 to 86400")
      ->check(CLI::Range(0.0, 86400.0));
  AddDefaulted(command, "--cancel-percent", options->faults.cancel_percent, "PERCENT",
               "Cancel this share of the scans, percent (0 to 50), with their sessions")
      ->check(CLI::Range(0.0, 50.0));
  AddDefaulted(command, "--slow-readers", options->faults.slow_readers, "N",
               "Let the first N streams be slow to read their replies, 0 to --streams");
  AddDefaulted(command, "--read-delay", options->faults.read_delay_s, "S",
               "Let slow readers take S seconds for each reply, 0 to 60")
      ->check(CLI::Range(0.0, 60.0));
  AddOptional(command, "--max-p99-ms", options->objectives.max_p99_ms, "X",
              "Fail if the p99 of the latency is over X milliseconds, 0 to 1e9")
      ->check(CLI::Range(0.0, 1e9));
  AddOptional(command, "--min-answered", options->objectives.min_answered_percent, "PERCENT",
              "Fail if less than PERCENT of the scans that were due are answered, 0 to 100")
      ->check(CLI::Range(0.0, 100.0));
  AddOptional(command, "--max-update-factor", options->objectives.max_update_factor, "X",
              "Fail if the p99 of the latency while tiles are updated is over X times that "
              "before, 0 to 1e6, or if fewer tiles than asked for were updated")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag(
      "--one-outcome", options->objectives.one_outcome,
      "Fail unless every scan that was sent has exactly one outcome, and is not lost");
  AddProfileFlag(command, &options->profile);
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  command->get_option("--calib")->excludes(command->get_option("--base-t-sensor"));
  AddEstimateFlags(command, &options->estimate);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] {
    // Flags that contradict each other are wrong usage, as a wrong flag is.
    if (absl::Status status = CheckFlagCombinations(*options); !status.ok()) {
      throw CLI::ValidationError(std::string(status.message()));
    }
    *chosen = [options] { return LoadTest(*options); };
  });
}

}  // namespace voxloc::cli
