// SPDX-License-Identifier: Apache-2.0
//
// Numbers that no message may contain.

#ifndef VOXLOC_TESTS_SERVER_CONVERT_NOT_FINITE_H_
#define VOXLOC_TESTS_SERVER_CONVERT_NOT_FINITE_H_

#include <limits>

namespace voxloc::server {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_CONVERT_NOT_FINITE_H_
