// SPDX-License-Identifier: Apache-2.0
//
// Debian compiles abseil with the checks of a debug build (without NDEBUG): every absl::Mutex,
// those of gRPC among them, enters the order in which locks are taken into one graph of the
// process, behind one lock, to find deadlocks. Programs that ship switch that off;
// absl/synchronization/ mutex.h describes the modes.

#ifndef VOXLOC_CORE_PARALLEL_LOCK_CHECKS_H_
#define VOXLOC_CORE_PARALLEL_LOCK_CHECKS_H_

namespace voxloc {

// In builds with NDEBUG: no checks for deadlocks in this process from here on. Called at the start
// of a program, by its main.
void SkipLockChecks();

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_LOCK_CHECKS_H_
