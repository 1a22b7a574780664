// SPDX-License-Identifier: Apache-2.0
//
// ParallelFor: independent work items over a few threads that live for the call.

#ifndef VOXLOC_CLIENTS_SIM_PARALLEL_H_
#define VOXLOC_CLIENTS_SIM_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace voxloc::sim {

// Calls work(i) once for each i in [0, count), on up to `threads` threads, the caller's among them;
// returns when all are done. 0 threads: as many as the machine has. Items are handed out in order;
// `work` must be safe to call from several threads and must not throw.
void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& work);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_PARALLEL_H_
