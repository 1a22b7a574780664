// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_processes.h"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/load_test/child_process.h"
#include "clients/cli/load_test/run_clock.h"

namespace voxloc::cli {
namespace {

constexpr char kReady[] = "ready";

// From when the last process is ready to the start: for the others to learn it in time.
constexpr int64_t kHeadStart_ns = 200'000'000;

constexpr int64_t kWatchInterval_ns = 250'000'000;

absl::Status AwaitReady(LoadChild* child) {
  const absl::StatusOr<std::string> line = child->ReadLine();
  if (!line.ok()) return line.status();
  if (*line != kReady) return absl::InternalError(absl::StrCat("a process said '", *line, "'"));
  return absl::OkStatus();
}

absl::StatusOr<LoadResult> ReadResult(LoadChild* child) {
  const absl::StatusOr<std::string> line = child->ReadLine();
  if (!line.ok()) return line.status();
  return LoadResult::FromJson(Json::parse(*line, nullptr, false));
}

// A process that ends while the others run does not go unnoticed until they are done.
absl::Status Watch(const RunClock& clock, int64_t end_ns, std::vector<LoadChild>* children,
                   const std::function<void(int64_t time_ns)>& on_progress,
                   const std::function<bool()>& stop) {
  for (int64_t now_ns = clock.Now_ns(); now_ns < end_ns; now_ns = clock.Now_ns()) {
    std::this_thread::sleep_until(clock.TimePoint(std::min(end_ns, now_ns + kWatchInterval_ns)));
    on_progress(clock.Now_ns());
    if (stop()) {
      for (const LoadChild& child : *children) child.Signal(SIGTERM);
      return absl::OkStatus();
    }
    for (LoadChild& child : *children) {
      if (clock.Now_ns() < end_ns && child.HungUp()) return child.ReadLine().status();
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadResult> RunLoadProcesses(size_t processes, const LoadTiming& timing,
                                            const std::function<void(int64_t start_ns)>& on_start,
                                            const std::function<void(int64_t time_ns)>& on_progress,
                                            const std::function<bool()>& stop) {
  std::vector<LoadChild> children;
  children.reserve(processes);
  for (size_t p = 0; p < processes; ++p) {
    absl::StatusOr<LoadChild> child = LoadChild::Start(
        absl::StrCat("process ", p + 1, " of ", processes), {"--child", absl::StrCat(p)});
    if (!child.ok()) return child.status();
    children.push_back(*std::move(child));
  }
  for (LoadChild& child : children) {
    if (absl::Status status = AwaitReady(&child); !status.ok()) return status;
  }
  const int64_t start_ns = RunClock::Monotonic_ns() + kHeadStart_ns;
  for (LoadChild& child : children) {
    if (absl::Status status = child.WriteLine(absl::StrCat(start_ns)); !status.ok()) return status;
  }
  on_start(start_ns);
  const RunClock clock(start_ns);
  if (absl::Status status = Watch(clock, timing.end_ns(), &children, on_progress, stop);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<LoadResult> sum = ReadResult(&children.front());
  for (size_t p = 1; p < processes && sum.ok(); ++p) {
    const absl::StatusOr<LoadResult> result = ReadResult(&children[p]);
    if (!result.ok()) return result.status();
    sum->tally.Merge(result->tally);
    sum->steady_s = std::min(sum->steady_s, result->steady_s);
    sum->interrupted = sum->interrupted || result->interrupted;
  }
  return sum;
}

void EndWithParent() {
  prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL), 0, 0, 0);
  // A terminal sends it to the parent too, which says SIGTERM.
  std::signal(SIGINT, SIG_IGN);
}

absl::Status ServeLoadParent(LoadRun* run) {
  std::cout << kReady << "\n" << std::flush;
  std::string line;
  int64_t start_ns = 0;
  if (!std::getline(std::cin, line) || !absl::SimpleAtoi(line, &start_ns)) {
    return absl::InternalError("the process that started this one has ended");
  }
  const Interrupt interrupt({SIGTERM});
  const LoadResult result = run->Run(
      start_ns, [](int64_t, uint64_t) {}, &Interrupt::Asked);
  std::cout << result.ToJson().dump(-1, ' ', false, Json::error_handler_t::replace) << "\n"
            << std::flush;
  return absl::OkStatus();
}

}  // namespace voxloc::cli
