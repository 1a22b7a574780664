// SPDX-License-Identifier: Apache-2.0
//
// A program started by a test: its output and exit code, and its end with the test's.

#ifndef VOXLOC_TESTS_E2E_CHILD_PROCESS_H_
#define VOXLOC_TESTS_E2E_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace voxloc {

struct ProcessResult {
  int exit_code = -1;  // -1: it did not end by itself
  std::string out;
  std::string error;
};

// Runs a program to its end. The first of `arguments` is its path.
[[nodiscard]] ProcessResult RunProcess(const std::vector<std::string>& arguments);

// A program in the background. The destructor ends it with SIGKILL if Stop has not.
class ChildProcess {
 public:
  // Both outputs go to the file.
  ChildProcess(const std::vector<std::string>& arguments, const std::string& output_path);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] bool running();

  // -1 once it is known to have ended. To send a signal, use Signal: kill(-1, ...) is for all
  // processes.
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Sends the signal, unless it has ended.
  void Signal(int signal);

  // Waits until it ends by itself; the exit code, or -1 when a signal ended it, also this one's
  // after too long.
  int Wait();

  // SIGTERM, then waits; the exit code, or -1 when a signal ended it.
  int Stop();

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_E2E_CHILD_PROCESS_H_
