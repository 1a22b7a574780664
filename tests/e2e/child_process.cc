// SPDX-License-Identifier: Apache-2.0

#include "tests/e2e/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/time/time.h"
#include "tests/support/eventually.h"

namespace voxloc {
namespace {

pid_t Spawn(const std::vector<std::string>& arguments, const std::string& out,
            const std::string& error) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int to_error =
      error == out ? to_out : open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(nothing, STDIN_FILENO);
  dup2(to_out, STDOUT_FILENO);
  dup2(to_error, STDERR_FILENO);
  execv(raw[0], raw.data());
  _exit(127);
}

// The status of waitpid, or nothing when there is no such child. Kills what does not end in time.
std::optional<int> AwaitEnd(pid_t pid) {
  int status = 0;
  pid_t ended = 0;
  const auto has_ended = [&] { return (ended = waitpid(pid, &status, WNOHANG)) != 0; };
  if (!Eventually(has_ended, absl::Seconds(60))) {
    kill(pid, SIGKILL);
    ended = waitpid(pid, &status, 0);
  }
  if (ended != pid) return std::nullopt;
  return status;
}

int ExitCodeOf(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& arguments) {
  std::string directory = (std::filesystem::temp_directory_path() / "voxloc_run_XXXXXX").string();
  ProcessResult result;
  if (mkdtemp(directory.data()) == nullptr) return result;
  const pid_t pid = Spawn(arguments, directory + "/out", directory + "/error");
  if (pid > 0) {
    if (const std::optional<int> status = AwaitEnd(pid)) result.exit_code = ExitCodeOf(*status);
  }
  result.out = ContentOf(directory + "/out");
  result.error = ContentOf(directory + "/error");
  std::filesystem::remove_all(directory);
  return result;
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::string& output_path)
    : pid_(Spawn(arguments, output_path, output_path)) {}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int signal) {
  if (running()) kill(pid_, signal);
}

bool ChildProcess::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  exit_code_ = ExitCodeOf(status);
  pid_ = -1;
  return false;
}

int ChildProcess::Wait() {
  if (!running()) return exit_code_;
  exit_code_ = ExitCodeOf(AwaitEnd(pid_).value_or(-1));
  pid_ = -1;
  return exit_code_;
}

int ChildProcess::Stop() {
  Signal(SIGTERM);
  return Wait();
}

}  // namespace voxloc
