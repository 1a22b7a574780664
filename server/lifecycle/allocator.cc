// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/allocator.h"

#ifdef VOXLOC_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace voxloc::server {

void ReturnFreedMemory() {
#ifdef VOXLOC_TCMALLOC
  MallocExtension::instance()->ReleaseFreeMemory();
#endif
}

}  // namespace voxloc::server
