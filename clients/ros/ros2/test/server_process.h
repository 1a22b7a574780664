// SPDX-License-Identifier: Apache-2.0
//
// A program of voxloc, or of this package, as a child process.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_TEST_SERVER_PROCESS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_TEST_SERVER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voxloc::ros2 {

class ChildProcess {
 public:
  // The program by its path, with arguments.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments);
  // Kills it where it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int signal) const;
  // Its exit status, or 128 and the signal that ended it; nullopt: it still runs after `timeout_s`.
  [[nodiscard]] std::optional<int> Wait(double timeout_s);

 private:
  pid_t pid_;
  bool ended_ = false;
};

// A voxlocd on the CPU, without anything on a disk.
class ServerProcess {
 public:
  // Of VOXLOC_BIN_DIR; null where that is not set. Throws where it is and voxlocd does not start.
  // `port` 0: any.
  static std::unique_ptr<ServerProcess> Start(int port = 0);

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  explicit ServerProcess(const std::string& program, int port);

  std::unique_ptr<ChildProcess> process_;
  std::string address_;
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_TEST_SERVER_PROCESS_H_
