// SPDX-License-Identifier: Apache-2.0
//
// A server under several times its capacity: its throughput relative to the capacity, its memory,
// and the time until latencies are normal again.

#ifndef VOXLOC_TESTS_CHAOS_OVERLOAD_H_
#define VOXLOC_TESTS_CHAOS_OVERLOAD_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/chaos/report.h"
#include "tests/chaos/server_process.h"

namespace voxloc::chaos {

struct OverloadOptions {
  ServerOptions server;
  size_t points = 1500;
  size_t server_processors = 0;  // of its own; 0: it shares all with the generator
  double factor = 5.0;           // offered, of the capacity
  double duration_s = 300.0;
  double capacity_s = 10.0;  // of finding it, with few, some and many streams
  double quiet_s = 10.0;     // before and after
  size_t streams = 64;  // sessions; at most 250, for the capacity is found with four times as many
  double probe_hz = 20.0;
  // What is demanded.
  double min_throughput = 0.9;  // of the capacity
  double max_recovery_s = 1.0;
};

[[nodiscard]] absl::StatusOr<Report> RunOverload(const OverloadOptions& options);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_OVERLOAD_H_
