// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_CLIENTS_SIM_PI_H_
#define VOXLOC_CLIENTS_SIM_PI_H_

namespace voxloc::sim {

constexpr double kPi = 3.14159265358979323846;

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_PI_H_
