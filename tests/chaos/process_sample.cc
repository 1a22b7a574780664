// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/process_sample.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace voxloc::chaos {
namespace {

namespace fs = std::filesystem;

// How often a watch checks whether to stop.
constexpr auto kPoll = std::chrono::milliseconds(20);

double CountEntries(const fs::path& folder) {
  std::error_code error;
  double count = 0.0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

ProcessSample SampleProcess(pid_t pid) {
  const fs::path folder = absl::StrCat("/proc/", pid);
  ProcessSample sample;
  sample.descriptors = CountEntries(folder / "fd");
  sample.threads = CountEntries(folder / "task");
  double pages = 0.0;
  double resident_pages = 0.0;
  std::ifstream(folder / "statm") >> pages >> resident_pages;
  sample.resident_bytes = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  // The name in parentheses may have spaces. utime and stime are fields 14 and 15, ticks.
  std::ostringstream stat;
  stat << std::ifstream(folder / "stat").rdbuf();
  const std::string text = stat.str();
  std::istringstream fields(
      text.substr(text.find(')') == std::string::npos ? text.size() : text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i < 14; ++i) fields >> field;
  double user_ticks = 0.0;
  double system_ticks = 0.0;
  if (fields >> user_ticks >> system_ticks) {
    sample.processor_s = (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return sample;
}

ProcessWatch::ProcessWatch(pid_t pid, double period_s) {
  thread_ = std::thread([this, pid, period_s] {
    using SteadyClock = std::chrono::steady_clock;
    const auto begin = SteadyClock::now();
    const auto period =
        std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(period_s));
    for (auto next = begin;; std::this_thread::sleep_for(kPoll)) {
      const auto now = SteadyClock::now();
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      if (now < next) continue;
      next += period;
      samples_.push_back(SampleProcess(pid));
      samples_.back().time_s = std::chrono::duration<double>(now - begin).count();
    }
  });
}

ProcessWatch::~ProcessWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::vector<ProcessSample> ProcessWatch::samples() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return samples_;
}

}  // namespace voxloc::chaos
