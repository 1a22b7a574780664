// SPDX-License-Identifier: Apache-2.0
//
// The allocator of programs that contain the server is tcmalloc, because messages are allocated by
// one thread and freed by another. Builds with a sanitizer have that sanitizer's instead.

#ifndef VOXLOC_SERVER_LIFECYCLE_ALLOCATOR_H_
#define VOXLOC_SERVER_LIFECYCLE_ALLOCATOR_H_

namespace voxloc::server {

// Gives the pages that the heap does not use back to the system; what the caches of the threads
// hold, up to 32 MiB together, stays. Nothing with a sanitizer. Takes some milliseconds for each
// 100 MB that is free. Thread-safe.
void ReturnFreedMemory();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ALLOCATOR_H_
