// SPDX-License-Identifier: Apache-2.0
//
// The lanes that compute a formula together, each the entries that fall to it: one on a CPU, those
// of a warp on a device. A formula calls Sync before a lane reads what another has written.

#ifndef VOXLOC_CORE_NDT_LANES_H_
#define VOXLOC_CORE_NDT_LANES_H_

#include "core/ndt/host_device.h"

namespace voxloc::ndt {

struct OneLane {
  static constexpr int kCount = 1;
  static constexpr int index = 0;
  VOXLOC_HD void Sync() const {}
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_LANES_H_
