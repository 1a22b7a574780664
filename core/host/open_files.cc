// SPDX-License-Identifier: Apache-2.0

#include "core/host/open_files.h"

#include <sys/resource.h>

namespace voxloc {

uint64_t OpenFilesLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

uint64_t RaiseOpenFilesLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return OpenFilesLimit();
}

}  // namespace voxloc
