// SPDX-License-Identifier: Apache-2.0
//
// A load test in several processes: each is this program with the same arguments and environment,
// and the hidden flag --child, opens its share of the sessions, and begins when all have.
//
// What they say, a line each: the child "ready" once its sessions are open; the parent the start of
// the run, nanoseconds of RunClock::Monotonic_ns; the child its LoadResult as JSON.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_PROCESSES_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/load_test/load_result.h"
#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_timing.h"

namespace voxloc::cli {

// The parent's side. A process that fails ends all, and the error names it. `on_start` is told the
// start of the run before it comes; `on_progress` and `stop` as in LoadRun::Run, without a number
// of answers.
[[nodiscard]] absl::StatusOr<LoadResult> RunLoadProcesses(
    size_t processes, const LoadTiming& timing,
    const std::function<void(int64_t start_ns)>& on_start,
    const std::function<void(int64_t time_ns)>& on_progress, const std::function<bool()>& stop);

// To be called first by a child: it ends with its parent, and early where the parent says so, not
// by Ctrl-C itself.
void EndWithParent();

// The child's side, from when its sessions are open.
[[nodiscard]] absl::Status ServeLoadParent(LoadRun* run);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_PROCESSES_H_
