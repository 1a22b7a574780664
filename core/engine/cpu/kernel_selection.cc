// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/kernels.h"

namespace voxloc {

// One instance of kernels.cc each.
namespace baseline {
extern const cpu::Kernels kKernels;
}
#if defined(VOXLOC_HAVE_X86_64_V3)
namespace x86_64_v3 {
extern const cpu::Kernels kKernels;
}
#endif

namespace cpu {

std::vector<const Kernels*> AvailableKernels() {
  std::vector<const Kernels*> available = {&baseline::kKernels};
#if defined(VOXLOC_HAVE_X86_64_V3)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    available.push_back(&x86_64_v3::kKernels);
  }
#endif
  return available;
}

const Kernels& SelectKernels() {
  static const Kernels& widest = *AvailableKernels().back();
  return widest;
}

}  // namespace cpu
}  // namespace voxloc
