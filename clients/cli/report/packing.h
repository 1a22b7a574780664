// SPDX-License-Identifier: Apache-2.0
//
// Numbers as the pages unpack them (page/view3d.js), little endian.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_PACKING_H_
#define VOXLOC_CLIENTS_CLI_REPORT_PACKING_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>

namespace voxloc::cli {

void AppendUint16(uint32_t value, std::string* bytes);

// Three int16 in steps of 5 mm. `place`: from the block's origin, metres; IsNear.
void AppendPlace(const Eigen::Vector3d& place, std::string* bytes);
// Whether each coordinate is under 163 m, which int16 in steps of 5 mm hold.
[[nodiscard]] bool IsNear(const Eigen::Vector3d& place);

// A place, and the symmetric square root of the covariance (xx, xy, xz, yy, yz, zz), int16 in
// millimetres; covariance in m^2.
void AppendCell(const Eigen::Vector3d& place, const Eigen::Matrix3d& covariance,
                std::string* bytes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_PACKING_H_
