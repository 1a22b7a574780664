// SPDX-License-Identifier: Apache-2.0
//
// This program, started once more, with a line of communication: what the child writes to its
// standard output and reads from its standard input. Standard error is shared.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_CHILD_PROCESS_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace voxloc::cli {

class LoadChild {
 public:
  // Starts it with this program's own arguments and some more. `name` stands in errors.
  [[nodiscard]] static absl::StatusOr<LoadChild> Start(
      std::string name, const std::vector<std::string>& more_arguments);
  // Kills what has not ended.
  ~LoadChild();
  LoadChild(LoadChild&& other) noexcept;
  LoadChild& operator=(LoadChild&&) = delete;

  // The next line that the child writes, without its end. An error names the child and says how it
  // ended: Unavailable where its exit code was that of an unreachable server, otherwise Internal.
  [[nodiscard]] absl::StatusOr<std::string> ReadLine();

  [[nodiscard]] absl::Status WriteLine(const std::string& line);

  // Sends it a signal, if it still runs.
  void Signal(int signal) const;

  // Whether the child has closed its side, or has ended.
  [[nodiscard]] bool HungUp() const;

 private:
  LoadChild(std::string name, pid_t pid, int socket)
      : name_(std::move(name)), pid_(pid), socket_(socket) {}

  absl::Status HowItEnded();

  std::string name_;
  pid_t pid_ = -1;  // -1: has ended, and was waited for
  int socket_ = -1;
  std::string received_;  // and not yet handed out
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_CHILD_PROCESS_H_
