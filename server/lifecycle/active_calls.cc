// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/active_calls.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace voxloc::server {

void ActiveCalls::ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace voxloc::server
