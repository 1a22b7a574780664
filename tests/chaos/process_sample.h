// SPDX-License-Identifier: Apache-2.0
//
// Resources of a process from /proc. ProcessWatch samples them in its own thread.

#ifndef VOXLOC_TESTS_CHAOS_PROCESS_SAMPLE_H_
#define VOXLOC_TESTS_CHAOS_PROCESS_SAMPLE_H_

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace voxloc::chaos {

struct ProcessSample {
  double time_s = 0.0;  // since the watch began
  double resident_bytes = 0.0;
  double descriptors = 0.0;
  double threads = 0.0;
  double processor_s = 0.0;  // used so far
};

// Zeros where there is no such process, or it is another user's.
[[nodiscard]] ProcessSample SampleProcess(pid_t pid);

class ProcessWatch {
 public:
  ProcessWatch(pid_t pid, double period_s);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  [[nodiscard]] std::vector<ProcessSample> samples() const;

 private:
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::vector<ProcessSample> samples_;
  std::thread thread_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_PROCESS_SAMPLE_H_
