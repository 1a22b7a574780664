// SPDX-License-Identifier: Apache-2.0
//
// The chart p = (x, y, z, roll, pitch, yaw) of a pose, R = Rx(roll) Ry(pitch) Rz(yaw), and the
// derivatives of R x with respect to it: the 8 first-order and 15 second-order rows of Magnusson
// 2009 (equations 6.19 and 6.21). Rows that vanish are not stored.

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

// The same with small angles taken for zero: the reference's shortcut, which it applies to
// derivatives only.
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

// Row i dotted with a point x of the scan gives one component of a derivative of R x.
template <typename S>
struct ChartDerivatives {
  // First: d/droll (y z), d/dpitch (x y z), d/dyaw (x y z).
  S first[8][3];
  // Second: roll roll (y z), roll pitch (y z), roll yaw (y z), pitch pitch (x y z), pitch yaw (x y
  // z), yaw yaw (x y z).
  S second[15][3];
};

// `exact_pitch_curvature` false gives the x row of pitch pitch the sign +sin(pitch) that the
// reference's releases up to 1.9.0 have.
template <typename S>
VOXLOC_HD ChartDerivatives<S> ComputeChartDerivatives(const AngleTerms<S>& a,
                                                      bool exact_pitch_curvature) {
  const Rotation<S> r = ComputeRotation(a);
  const S srsp = a.sr * a.sp;
  const S crsp = a.cr * a.sp;
  const S srcp = a.sr * a.cp;
  const S crcp = a.cr * a.cp;
  return {{{-r.m[2][0], -r.m[2][1], -r.m[2][2]},
           {r.m[1][0], r.m[1][1], r.m[1][2]},
           {-a.sp * a.cy, a.sp * a.sy, a.cp},
           {srcp * a.cy, -srcp * a.sy, srsp},
           {-crcp * a.cy, crcp * a.sy, -crsp},
           {r.m[0][1], -r.m[0][0], S(0)},
           {r.m[1][1], -r.m[1][0], S(0)},
           {r.m[2][1], -r.m[2][0], S(0)}},
          {{-r.m[1][0], -r.m[1][1], -r.m[1][2]},
           {-r.m[2][0], -r.m[2][1], -r.m[2][2]},
           {crcp * a.cy, -crcp * a.sy, crsp},
           {srcp * a.cy, -srcp * a.sy, srsp},
           {-r.m[2][1], r.m[2][0], S(0)},
           {r.m[1][1], -r.m[1][0], S(0)},
           {-r.m[0][0], -r.m[0][1], exact_pitch_curvature ? -a.sp : a.sp},
           {-srsp * a.cy, srsp * a.sy, srcp},
           {crsp * a.cy, -crsp * a.sy, -crcp},
           {a.sp * a.sy, a.sp * a.cy, S(0)},
           {-srcp * a.sy, -srcp * a.cy, S(0)},
           {crcp * a.sy, crcp * a.cy, S(0)},
           {-r.m[0][0], -r.m[0][1], S(0)},
           {a.sr * -a.sp * a.cy - a.cr * a.sy, a.sr * a.sp * a.sy - a.cr * a.cy, S(0)},
           {a.cr * a.sp * a.cy - a.sr * a.sy, -a.cr * a.sp * a.sy - a.sr * a.cy, S(0)}}};
}

// Without the second-order rows: what is left of the Hessian when R x is taken as linear in p.
template <typename S>
VOXLOC_HD void DropSecondOrder(ChartDerivatives<S>& derivatives) {
  for (int i = 0; i < 15; ++i) {
    for (int j = 0; j < 3; ++j) derivatives.second[i][j] = S(0);
  }
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_CHART_H_
