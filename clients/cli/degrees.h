// SPDX-License-Identifier: Apache-2.0
//
// People read and type angles in degrees; everything else is in radians.

#ifndef VOXLOC_CLIENTS_CLI_DEGREES_H_
#define VOXLOC_CLIENTS_CLI_DEGREES_H_

namespace voxloc::cli {

constexpr double kDegreesPerRadian = 57.295779513082320877;

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_DEGREES_H_
