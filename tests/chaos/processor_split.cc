// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/processor_split.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace voxloc::chaos {

absl::StatusOr<ProcessorSplit> ProcessorSplit::Make(size_t server) {
  cpu_set_t usable = {};
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) {
    return absl::ErrnoToStatus(errno, "the usable processors cannot be read");
  }
  const auto count = static_cast<size_t>(CPU_COUNT(&usable));
  if (server == 0 || server >= count) {
    return absl::InvalidArgumentError(absl::StrCat("the server cannot have ", server, " of ", count,
                                                   " usable processors: 1 to ", count - 1,
                                                   " leave some to the generator"));
  }
  ProcessorSplit split;
  size_t given = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &usable)) continue;
    CPU_SET(processor, given < server ? &split.server_ : &split.others_);
    ++given;
  }
  return split;
}

absl::Status ProcessorSplit::Use(const cpu_set_t& processors) {
  if (sched_setaffinity(0, sizeof(processors), &processors) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "the processors cannot be chosen");
}

}  // namespace voxloc::chaos
