// SPDX-License-Identifier: Apache-2.0
//
// Two servers that are restarted alternately, one of which loses its engine, while vehicles drive
// and cancel some of their sessions: the outcome of every scan.
//
// Each stream is a session of the C++ client library that knows both servers and has one scan on
// its way at a time. A scan is sent when the session has taken it. Each scan that was sent has one
// result: `answered` (a server's reply other than SUPERSEDED), `superseded` (a server's reply, for
// a newer scan of the session was there), `given_up` (the session's own result, after it lost its
// server and had a newer scan), or `cancelled` (the client cancelled the session while it waited
// for the result; a scan whose result was faster counts as answered). One without a result is lost,
// and a second result of a scan is a duplicate.

#ifndef VOXLOC_TESTS_CHAOS_RESTARTS_H_
#define VOXLOC_TESTS_CHAOS_RESTARTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/chaos/report.h"
#include "tests/chaos/server_process.h"

namespace voxloc::chaos {

struct RestartsOptions {
  ServerOptions server;
  size_t points = 500;
  uint64_t scans = 1'000'000;  // sent, at least
  size_t streams = 16;
  double cancelled = 0.05;  // of the scans
  int restarts = 20;
  int kills = 0;              // of the restarts, by SIGKILL; the others drain
  bool engine_fault = false;  // half-way; needs a GPU
  double first_run_s = 2.0;   // to learn how fast scans are answered
  double timeout_s = 30.0;    // within which each scan must have its result
  uint64_t seed = 1;
};

[[nodiscard]] absl::StatusOr<Report> RunRestarts(const RestartsOptions& options);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_RESTARTS_H_
