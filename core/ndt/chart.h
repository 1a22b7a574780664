// SPDX-License-Identifier: Apache-2.0
//
// The chart p = (x, y, z, roll, pitch, yaw) of a pose, R = Rx(roll) Ry(pitch) Rz(yaw) (Magnusson
// 2009, equation 6.17), and the axes that its angles turn about.

#ifndef VOXLOC_CORE_NDT_CHART_H_
#define VOXLOC_CORE_NDT_CHART_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::ndt {

// Sines and cosines of the three angles.
template <typename S>
struct AngleTerms {
  S sr, cr, sp, cp, sy, cy;  // roll, pitch, yaw
};

template <typename S>
VOXLOC_HD AngleTerms<S> ComputeAngleTerms(S roll, S pitch, S yaw) {
  return {std::sin(roll),  std::cos(roll), std::sin(pitch),
          std::cos(pitch), std::sin(yaw),  std::cos(yaw)};
}

// The same with angles below kSmallAngle set to zero: the reference's shortcut, for derivatives
// only.
constexpr double kSmallAngle = 1e-4;  // rad
template <typename S>
VOXLOC_HD AngleTerms<S> ComputeShortcutAngleTerms(S roll, S pitch, S yaw) {
  const S limit = S(kSmallAngle);
  return ComputeAngleTerms<S>(std::abs(roll) < limit ? S(0) : roll,
                              std::abs(pitch) < limit ? S(0) : pitch,
                              std::abs(yaw) < limit ? S(0) : yaw);
}

// R = Rx Ry Rz, row-major.
template <typename S>
struct Rotation {
  S m[3][3];
};

template <typename S>
VOXLOC_HD Rotation<S> ComputeRotation(const AngleTerms<S>& a) {
  return {{{a.cp * a.cy, -a.cp * a.sy, a.sp},
           {a.cr * a.sy + a.sr * a.sp * a.cy, a.cr * a.cy - a.sr * a.sp * a.sy, -a.sr * a.cp},
           {a.sr * a.sy - a.cr * a.sp * a.cy, a.sr * a.cy + a.cr * a.sp * a.sy, a.cr * a.cp}}};
}

// Row i is the unit axis a_i, in the map frame, of coordinate i of the chart: x, y and z translate
// along the map's axes; roll rotates about x, pitch about Rx y, yaw about Rx Ry z, with
// d(R x)/d(angle i) = a_i x (R x).
template <typename S>
struct ChartAxes {
  S axis[6][3];
};

template <typename S>
VOXLOC_HD ChartAxes<S> ComputeChartAxes(const AngleTerms<S>& a) {
  return {{{S(1), S(0), S(0)},
           {S(0), S(1), S(0)},
           {S(0), S(0), S(1)},
           {S(1), S(0), S(0)},
           {S(0), a.cr, a.sr},
           {a.sp, -a.sr * a.cp, a.cr * a.cp}}};
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_CHART_H_
