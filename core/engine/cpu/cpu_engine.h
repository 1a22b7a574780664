// SPDX-License-Identifier: Apache-2.0
//
// The engine for processors: runs anywhere, picks the widest instruction set at run time.
//
// One pool of threads serves all calls. A batch is spread scan by scan, a single large scan by
// chunks of points. Sums run over chunks of fixed size in a fixed order, so every thread count and
// every batch gives the same bits. Processors that run another instruction set (Info names it) give
// results that differ by rounding: some fuse multiplications with additions.

#ifndef VOXLOC_CORE_ENGINE_CPU_CPU_ENGINE_H_
#define VOXLOC_CORE_ENGINE_CPU_CPU_ENGINE_H_

#include <memory>

#include "core/engine/engine.h"

namespace voxloc {

struct CpuEngineOptions {
  // Threads that work on a call, the caller's among them; 0: one for each processor that the
  // affinity mask and the CPU quota leave to the process (processors.h).
  size_t threads = 0;
};

[[nodiscard]] std::unique_ptr<Engine> MakeCpuEngine(const CpuEngineOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_CPU_CPU_ENGINE_H_
