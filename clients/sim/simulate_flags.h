// SPDX-License-Identifier: Apache-2.0
//
// The flags of `voxloc simulate`, by subject. Parsing writes into `arguments`, which must outlive
// the command.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_

#include <CLI/CLI.hpp>

#include "clients/sim/simulate_command.h"

namespace voxloc::sim {

void AddSceneFlags(CLI::App& command, SimulateArguments& arguments);
void AddLidarFlags(CLI::App& command, SimulateArguments& arguments);
void AddDriveFlags(CLI::App& command, SimulateArguments& arguments);
void AddMapFlags(CLI::App& command, SimulateArguments& arguments);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_
