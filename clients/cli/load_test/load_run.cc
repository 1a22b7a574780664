// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/load_test/load_schedule.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr int64_t kProgressInterval_ns = 250'000'000;

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Of this process, on all processors, since it began.
double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadRun>> LoadRun::Open(const LoadPlan& plan,
                                                       const std::vector<LoadDrive>& drives) {
  std::unique_ptr<LoadRun> run(new LoadRun(plan.timing));
  std::vector<size_t> drive_scans;
  for (const LoadDrive& drive : drives) {
    drive_scans.push_back(drive.scans.size());
    run->result_.scans += drive.scans.size();
    run->result_.points += drive.points;
  }
  for (size_t s = 0; s < plan.timing.streams; ++s) {
    const StreamAssignment assignment =
        AssignStream(s, plan.timing.streams, drive_scans, plan.maps.size());
    LoadStreamOptions options;
    options.stream = s;
    options.timing = plan.timing;
    options.timeout_s = plan.timeout_s;
    options.faults = plan.faults;
    options.drive = &drives[assignment.drive];
    options.first_scan = assignment.first_scan;
    options.open = plan.open;
    if (plan.open.setup().vehicle().empty()) {
      options.open.mutable_setup()->set_vehicle(absl::StrCat("voxloc load-test ", s));
    }
    options.open.mutable_setup()->set_map(plan.maps[assignment.map]);
    VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<LoadStream> stream,
                            LoadStream::Open(plan.channel, options));
    run->streams_.push_back(std::move(stream));
  }
  const v1::SessionOpened opened = run->streams_.front()->opened();
  run->result_.engine = opened.engine();
  run->result_.profile = opened.profile().name();
  run->result_.server_version = opened.server_version();
  return run;
}

LoadResult LoadRun::Run(int64_t start_ns,
                        const std::function<void(int64_t time_ns, uint64_t answers)>& on_progress,
                        const std::function<bool()>& stop) {
  const RunClock clock(start_ns);
  result_.steady_s = timing_.steady_s;
  for (const std::unique_ptr<LoadStream>& stream : streams_) stream->Start(clock);
  const auto await = [&](int64_t time_ns) {
    for (int64_t now_ns = clock.Now_ns(); now_ns < time_ns && !result_.interrupted;
         now_ns = clock.Now_ns()) {
      std::this_thread::sleep_until(
          clock.TimePoint(std::min(time_ns, now_ns + kProgressInterval_ns)));
      uint64_t answers = 0;
      for (const std::unique_ptr<LoadStream>& stream : streams_) answers += stream->replies();
      on_progress(clock.Now_ns(), answers);
      if (stop == nullptr || !stop()) continue;
      result_.interrupted = true;
      for (const std::unique_ptr<LoadStream>& stream : streams_) stream->Stop();
      const int64_t steady_ns = clock.Now_ns() - timing_.steady_begin_ns();
      result_.steady_s = std::clamp(1e-9 * static_cast<double>(steady_ns), 0.0, timing_.steady_s);
    }
  };
  await(timing_.steady_begin_ns());
  const double before_s = ProcessorSeconds();
  await(timing_.end_ns());
  result_.tally.cpu_s = ProcessorSeconds() - before_s;
  for (const std::unique_ptr<LoadStream>& stream : streams_) {
    result_.tally.Merge(stream->Finish());
  }
  return result_;
}

}  // namespace voxloc::cli
