// SPDX-License-Identifier: Apache-2.0
//
// `voxloc simulate`: the command line of the simulator. Its help is the simulator's manual.
//
// The program adds the sub-command, parses, and when the sub-command was given runs it. No server
// is needed.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_
#define VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "clients/sim/dataset_writer.h"
#include "clients/sim/simulate_arguments.h"
#include "clients/sim/simulation.h"

namespace voxloc::sim {

// Adds `simulate` to the program. Parsing writes into `arguments`, which must outlive `program`.
CLI::App* AddSimulateCommand(CLI::App& program, SimulateArguments& arguments);

// What the parsed arguments ask for. InvalidArgument names an option that makes no sense.
[[nodiscard]] absl::StatusOr<SimulationOptions> SimulationOf(const SimulateArguments& arguments);

[[nodiscard]] absl::StatusOr<SimulationSummary> RunSimulate(
    const SimulateArguments& arguments, const SimulationProgress& progress = nullptr);

// A few lines for people: what was written where.
[[nodiscard]] std::string DescribeSimulation(const SimulateArguments& arguments,
                                             const SimulationSummary& summary);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATE_COMMAND_H_
