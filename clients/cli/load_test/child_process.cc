// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/child_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/commands.h"

namespace voxloc::cli {
namespace {

// Those of this process, its program first.
std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<std::string> arguments = absl::StrSplit(text.str(), '\0');
  if (!arguments.empty()) arguments.pop_back();  // after the last zero
  return arguments;
}

}  // namespace

absl::StatusOr<LoadChild> LoadChild::Start(std::string name,
                                           const std::vector<std::string>& more_arguments) {
  std::vector<std::string> arguments = OwnArguments();
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> raw;
  raw.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  std::array<int, 2> sockets = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return absl::InternalError(absl::StrCat(name, " has no socket: ", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(sockets[1]);
  if (error != 0) {
    close(sockets[0]);
    return absl::InternalError(absl::StrCat(name, " was not started: ", std::strerror(error)));
  }
  return LoadChild(std::move(name), pid, sockets[0]);
}

LoadChild::~LoadChild() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (socket_ >= 0) close(socket_);
}

LoadChild::LoadChild(LoadChild&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)) {}

absl::StatusOr<std::string> LoadChild::ReadLine() {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const ssize_t bytes = read(socket_, buffer.data(), buffer.size());
    if (bytes > 0) {
      received_.append(buffer.data(), static_cast<size_t>(bytes));
    } else if (bytes == 0 || errno != EINTR) {
      return HowItEnded();
    }
  }
}

absl::Status LoadChild::WriteLine(const std::string& line) {
  const std::string text = line + "\n";
  // A few bytes: they fit the socket's buffer.
  const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(text.size()) ? absl::OkStatus() : HowItEnded();
}

void LoadChild::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

bool LoadChild::HungUp() const {
  pollfd state = {socket_, 0, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

absl::Status LoadChild::HowItEnded() {
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, 0);
  if (ended != std::exchange(pid_, -1)) {
    return absl::InternalError(absl::StrCat(name_, " is gone: ", std::strerror(errno)));
  }
  if (WIFSIGNALED(status)) {
    return absl::InternalError(
        absl::StrCat(name_, " was ended by signal ", WTERMSIG(status), " before it was done"));
  }
  const std::string text =
      absl::StrCat(name_, " ended with exit code ", WEXITSTATUS(status), " before it was done");
  return WEXITSTATUS(status) == static_cast<int>(ExitCode::kUnreachable)
             ? absl::UnavailableError(text)
             : absl::InternalError(text);
}

}  // namespace voxloc::cli
