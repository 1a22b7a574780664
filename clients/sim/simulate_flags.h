// SPDX-License-Identifier: Apache-2.0
//
// The flags of `voxloc simulate`, in the groups of its help text.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_

#include <CLI/CLI.hpp>

#include "clients/sim/simulate_command.h"

namespace voxloc::sim {

// Parsing writes into `arguments`, which must outlive `command`.
void AddSimulateFlags(CLI::App& command, SimulateArguments& arguments);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_FLAGS_H_
