// SPDX-License-Identifier: Apache-2.0
//
// Separates the processors of a load generator from those of its server.

#ifndef VOXLOC_TESTS_CHAOS_PROCESSOR_SPLIT_H_
#define VOXLOC_TESTS_CHAOS_PROCESSOR_SPLIT_H_

#include <sched.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace voxloc::chaos {

// The first `server` processors that this process may use, and the others. Threads and processes
// inherit the processors of the thread that starts them.
class ProcessorSplit {
 public:
  // InvalidArgument: either side would have none.
  [[nodiscard]] static absl::StatusOr<ProcessorSplit> Make(size_t server);

  // The calling thread, and what it starts from here on, on the processors of the server, or on
  // the others.
  [[nodiscard]] absl::Status UseServerCpus() const { return Use(server_); }
  [[nodiscard]] absl::Status UseOtherCpus() const { return Use(others_); }

 private:
  ProcessorSplit() = default;
  [[nodiscard]] static absl::Status Use(const cpu_set_t& processors);

  cpu_set_t server_ = {};
  cpu_set_t others_ = {};
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_PROCESSOR_SPLIT_H_
