// SPDX-License-Identifier: Apache-2.0
//
// The record of a simulation, simulation.json: every option and seed, and the counts. A pure
// function.

#ifndef VOXLOC_CLIENTS_SIM_SIMULATION_JSON_H_
#define VOXLOC_CLIENTS_SIM_SIMULATION_JSON_H_

#include <string>

#include "clients/sim/simulation.h"

namespace voxloc::sim {

// Every option under its group, the scene's under its name, then "result" where there is one.
// "complete" says whether there is.
[[nodiscard]] std::string SimulationJson(const SimulationOptions& options,
                                         const SimulationSummary* summary);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SIMULATION_JSON_H_
