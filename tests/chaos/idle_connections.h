// SPDX-License-Identifier: Apache-2.0
//
// Silent connections and streams that do not read, while one vehicle drives.

#ifndef VOXLOC_TESTS_CHAOS_IDLE_CONNECTIONS_H_
#define VOXLOC_TESTS_CHAOS_IDLE_CONNECTIONS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "tests/chaos/report.h"
#include "tests/chaos/server_process.h"

namespace voxloc::chaos {

struct IdleConnectionsOptions {
  ServerOptions server;
  size_t points = 1500;
  size_t silent = 10'000;
  size_t not_reading = 1000;
  double not_reading_hz = 0.2;  // scans of each
  double seconds = 30.0;        // of each part: before, during, after
  double rate_hz = 10.0;        // of the vehicle
  double max_p99_factor = 2.0;  // demanded, of the quiet p99; 0: nothing
};

[[nodiscard]] absl::StatusOr<Report> RunIdleConnections(const IdleConnectionsOptions& options);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_IDLE_CONNECTIONS_H_
