// SPDX-License-Identifier: Apache-2.0
//
// The commands of `voxloc`, one source file each.
//
// Each function adds its command to `parent`. When the command line names it, `*chosen` becomes the
// function that does its work and returns the exit code; errors are printed by the caller.

#ifndef VOXLOC_CLIENTS_CLI_COMMANDS_H_
#define VOXLOC_CLIENTS_CLI_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/exit_code.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

using Work = std::function<absl::StatusOr<ExitCode>()>;

void AddInfoCommand(CLI::App* parent, Work* chosen);
void AddMapLoadCommand(CLI::App* parent, Work* chosen);
void AddMapListCommand(CLI::App* parent, Work* chosen);
void AddMapInfoCommand(CLI::App* parent, Work* chosen);
void AddMapDropCommand(CLI::App* parent, Work* chosen);
void AddMapUndropCommand(CLI::App* parent, Work* chosen);
void AddMapTilesCommand(CLI::App* parent, Work* chosen);
void AddMapHistoryCommand(CLI::App* parent, Work* chosen);
void AddMapRollbackCommand(CLI::App* parent, Work* chosen);
void AddMapActivateCommand(CLI::App* parent, Work* chosen);
void AddMapWithdrawCommand(CLI::App* parent, Work* chosen);
void AddMapCanaryCommand(CLI::App* parent, Work* chosen);
void AddMapWatchCommand(CLI::App* parent, Work* chosen);
void AddMapExportCommand(CLI::App* parent, Work* chosen);
void AddMapImportCommand(CLI::App* parent, Work* chosen);
void AddAdminCapturesCommand(CLI::App* parent, Work* chosen);
void AddAdminConfigCommand(CLI::App* parent, Work* chosen);
void AddAdminDrainCommand(CLI::App* parent, Work* chosen);
void AddAdminUndrainCommand(CLI::App* parent, Work* chosen);
void AddAdminLogLevelCommand(CLI::App* parent, Work* chosen);
void AddAdminSessionsCommand(CLI::App* parent, Work* chosen);
void AddBagInfoCommand(CLI::App* parent, Work* chosen);
void AddAlignCommand(CLI::App* parent, Work* chosen);
void AddCalibrateCommand(CLI::App* parent, Work* chosen);
void AddFleetCommand(CLI::App* parent, Work* chosen);
void AddLoadTestCommand(CLI::App* parent, Work* chosen);
void AddLocateCommand(CLI::App* parent, Work* chosen);
// `command_line`: what was typed, which the report says.
void AddReplayCommand(CLI::App* parent, const std::string& command_line, Work* chosen);
void AddScoreCommand(CLI::App* parent, Work* chosen);
void AddSimulateCommand(CLI::App* parent, Work* chosen);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMANDS_H_
