// SPDX-License-Identifier: Apache-2.0
//
// The command line of `voxloc`: the tree of commands, what they have in common, and what is wrong
// with the arguments.
//
// Each of the functions Add...Command(s) adds a command, or a few that belong together, to
// `parent`. When the command line names one, `*chosen` becomes the function that does its work and
// returns the exit code; errors are printed by the caller.

#ifndef VOXLOC_CLIENTS_CLI_COMMANDS_COMMANDS_H_
#define VOXLOC_CLIENTS_CLI_COMMANDS_COMMANDS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/output/output.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,         // a file, a request or the server's work failed
  kUsage = 2,          // the command line is wrong
  kUnreachable = 3,    // the server cannot be reached or does not answer in time
  kNotAccepted = 4,    // the work was done, but its result is not accepted, or misses an objective
  kInterrupted = 130,  // by Ctrl-C or SIGTERM; what was done was written
};

// Unavailable and DeadlineExceeded are kUnreachable, other errors kFailed.
[[nodiscard]] ExitCode ExitCodeFor(const absl::Status& status);

using Work = std::function<absl::StatusOr<ExitCode>()>;

// The end of a command: prints `text`, unless the JSON goes to standard output ("-"), and writes
// the JSON as WriteJson does. Returns `code`.
[[nodiscard]] absl::StatusOr<ExitCode> Report(const std::string& json_destination,
                                              const std::string& text, const Json& json,
                                              ExitCode code = ExitCode::kOk);

// Adds a command to `parent`, which makes `work` the chosen one when the command line names it. An
// empty footer leaves the parent's.
CLI::App* AddWork(CLI::App* parent, Work* chosen, Work work, const std::string& name,
                  const std::string& description, const std::string& footer);

// The same for `work` on flags of its own, which the caller adds to the command.
template <typename Flags>
std::pair<CLI::App*, Flags*> AddCommand(CLI::App* parent, Work* chosen,
                                        absl::StatusOr<ExitCode> (*work)(const Flags&),
                                        const std::string& name, const std::string& description,
                                        const std::string& footer) {
  const auto flags = std::make_shared<Flags>();
  return {AddWork(
              parent, chosen, [flags, work] { return work(*flags); }, name, description, footer),
          flags.get()};
}

void AddInfoCommand(CLI::App* parent, Work* chosen);
void AddMapLoadCommand(CLI::App* parent, Work* chosen);
// map list, info, drop, undrop, tiles, history, rollback, activate, withdraw, canary and watch.
void AddMapCommands(CLI::App* parent, Work* chosen);
// map export and import.
void AddMapCopyCommands(CLI::App* parent, Work* chosen);
void AddMapCellsCommand(CLI::App* parent, Work* chosen);
void AddMapDiffCommand(CLI::App* parent, Work* chosen);
void AddMapProposeCommand(CLI::App* parent, Work* chosen);
void AddMapViewCommand(CLI::App* parent, Work* chosen);
// admin sessions, config, log-level, drain, undrain and captures.
void AddAdminCommands(CLI::App* parent, Work* chosen);
// completion, and context list, show, use and set.
void AddCompletionCommand(CLI::App* parent, Work* chosen);
void AddContextCommands(CLI::App* parent, Work* chosen);
void AddDoctorCommand(CLI::App* parent, Work* chosen);
void AddBagInfoCommand(CLI::App* parent, Work* chosen);
void AddAlignCommand(CLI::App* parent, Work* chosen);
// calibrate, and calibrate thresholds.
void AddCalibrateCommand(CLI::App* parent, Work* chosen);
// To the command calibrate, whose required flags it does without.
void AddCalibrateThresholdsCommand(CLI::App* calibrate, Work* chosen);
// `command_line`: what was typed, which the JSON says.
void AddCompareCommand(CLI::App* parent, const std::string& command_line, Work* chosen);
void AddFleetCommand(CLI::App* parent, Work* chosen);
// To the command fleet: activate and withdraw.
void AddFleetChangeCommands(CLI::App* fleet, Work* chosen);
void AddLoadTestCommand(CLI::App* parent, Work* chosen);
void AddLocateCommand(CLI::App* parent, Work* chosen);
// `command_line`: what was typed, which the report says.
void AddReplayCommand(CLI::App* parent, const std::string& command_line, Work* chosen);
void AddScoreCommand(CLI::App* parent, Work* chosen);
void AddSimulateCommand(CLI::App* parent, Work* chosen);

struct ParsedCommandLine {
  Work work;                           // empty: nothing is to be done but to print
  ExitCode exit_code = ExitCode::kOk;  // where `work` is empty
  std::string out;                     // for standard output: help, version
  std::string error;                   // for standard error
};

// The command line with shell quoting, for display and copying. It contains no secrets: tokens and
// keys are given by files only.
[[nodiscard]] std::string CommandLineText(const std::vector<std::string>& arguments);

// `arguments` without the program's name. Does not throw.
[[nodiscard]] ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMANDS_COMMANDS_H_
