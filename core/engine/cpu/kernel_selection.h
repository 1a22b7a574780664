// SPDX-License-Identifier: Apache-2.0
//
// Which kernels there are; kernels.h has SelectKernels, which picks the last of these.

#ifndef VOXLOC_CORE_ENGINE_CPU_KERNEL_SELECTION_H_
#define VOXLOC_CORE_ENGINE_CPU_KERNEL_SELECTION_H_

#include <vector>

#include "core/engine/cpu/kernels.h"

namespace voxloc::cpu {

// All that this processor can run, the widest last.
[[nodiscard]] std::vector<const Kernels*> AvailableKernels();

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_KERNEL_SELECTION_H_
