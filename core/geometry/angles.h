// SPDX-License-Identifier: Apache-2.0
//
// Degrees, in which people give angles, and radians, in which everything computes.

#ifndef VOXLOC_CORE_GEOMETRY_ANGLES_H_
#define VOXLOC_CORE_GEOMETRY_ANGLES_H_

namespace voxloc {

inline constexpr double kDegreesPerRadian = 57.295779513082320877;
inline constexpr double kRadiansPerDegree = 0.017453292519943295769;

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_ANGLES_H_
