// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/test/server_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace voxloc::ros2 {
namespace {

constexpr std::chrono::milliseconds kPoll(20);
constexpr double kServerStartS = 60.0;

}  // namespace

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("no process for " + program);
}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void ChildProcess::Signal(int signal) const { kill(pid_, signal); }

std::optional<int> ChildProcess::Wait(double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) return std::nullopt;
    std::this_thread::sleep_for(kPoll);
  }
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::unique_ptr<ServerProcess> ServerProcess::Start(int port) {
  const char* folder = std::getenv("VOXLOC_BIN_DIR");
  if (folder == nullptr || *folder == '\0') return nullptr;
  return std::unique_ptr<ServerProcess>(new ServerProcess(std::string(folder) + "/voxlocd", port));
}

ServerProcess::ServerProcess(const std::string& program, int port) {
  char ready_file[] = "/tmp/voxloc_ros_test_XXXXXX";
  const int file = mkstemp(ready_file);
  if (file < 0) throw std::runtime_error("no temporary file");
  close(file);
  process_ = std::make_unique<ChildProcess>(
      program, std::vector<std::string>{"--listen=127.0.0.1:" + std::to_string(port),
                                        "--metrics-listen=127.0.0.1:0", "--engine=cpu",
                                        std::string("--ready-file=") + ready_file});
  const std::regex listen("\"listen\"\\s*:\\s*\"([^\"]+)\"");
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kServerStartS);
  while (address_.empty()) {
    std::ostringstream text;
    text << std::ifstream(ready_file).rdbuf();
    const std::string content = text.str();
    std::smatch match;
    if (std::regex_search(content, match, listen)) {
      address_ = match[1];
    } else if (process_->Wait(0.0) || std::chrono::steady_clock::now() > end) {
      throw std::runtime_error(program + " did not start");
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
  unlink(ready_file);
}

}  // namespace voxloc::ros2
