// SPDX-License-Identifier: Apache-2.0
//
// How many descriptors this process may have open (RLIMIT_NOFILE). Thread-safe: the state is the
// process's.

#ifndef VOXLOC_CORE_HOST_OPEN_FILES_H_
#define VOXLOC_CORE_HOST_OPEN_FILES_H_

#include <cstdint>

namespace voxloc {

// The limit that is in effect.
[[nodiscard]] uint64_t OpenFilesLimit();

// Raises it as far as the process may (the hard limit), and returns what is in effect then.
uint64_t RaiseOpenFilesLimit();

}  // namespace voxloc

#endif  // VOXLOC_CORE_HOST_OPEN_FILES_H_
