// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/server_process.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/server/plain_calls.h"
#include "tests/support/eventually.h"
#include "tests/support/own_loopback.h"

namespace voxloc::chaos {
namespace {

namespace fs = std::filesystem;

// A server with CUDA loads its kernels and tests itself on a loaded machine.
constexpr absl::Duration kStartTimeout = absl::Seconds(90);

std::string ThisProgram() { return fs::read_symlink("/proc/self/exe").string(); }

}  // namespace

ServerProcess::ServerProcess(ServerOptions options, std::string folder)
    : options_(std::move(options)), folder_(std::move(folder)) {}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const ServerOptions& options,
                                                                    const std::string& folder) {
  auto server = absl::WrapUnique(new ServerProcess(options, folder));
  if (absl::Status status = server->Launch(absl::StrCat(OwnLoopback(), ":0")); !status.ok())
    return status;
  return server;
}

absl::Status ServerProcess::Launch(const std::string& listen) {
  const fs::path ready_file = fs::path(folder_) / "ready.json";
  fs::remove(ready_file);  // of one that was killed
  std::vector<std::string> arguments = {
      options_.program.empty() ? ThisProgram() : options_.program, "serve", "--gpu", options_.gpu,
      "--max-open-files", absl::StrCat(options_.max_open_files), absl::StrCat("--listen=", listen),
      "--metrics-listen=127.0.0.1:0", absl::StrCat("--threads=", options_.threads),
      absl::StrCat("--data-dir=", (fs::path(folder_) / "maps").string()),
      absl::StrCat("--ready-file=", ready_file.string()),
      // No load balancer looks at the readiness here.
      "--drain-delay-s=0", "--drain-spread-s=0.2"};
  for (const std::string& setting : options_.settings) {
    arguments.push_back(absl::StrCat("--", setting));
  }
  const std::string log = (fs::path(folder_) / absl::StrCat("log-", ++starts_)).string();
  process_ = std::make_unique<ChildProcess>(arguments, log);
  nlohmann::json ready;
  // The file has the addresses; after /readyz the maps are loaded.
  const auto is_ready = [&] {
    std::ifstream file(ready_file);
    ready = nlohmann::json::parse(file, nullptr, false);
    if (!process_->running()) return true;
    return ready.contains("metrics") &&
           absl::StartsWith(server::HttpGet(ready.value("metrics", ""), "/readyz"),
                            "HTTP/1.1 200 ");
  };
  if (!Eventually(is_ready, kStartTimeout) || !process_->running()) {
    std::ifstream file(log);
    const std::string log_text(std::istreambuf_iterator<char>(file), {});
    return absl::FailedPreconditionError(
        absl::StrCat("a server does not start: ", log_text.substr(0, 1000)));
  }
  address_ = ready.value("listen", "");
  metrics_address_ = ready.value("metrics", "");
  return absl::OkStatus();
}

int ServerProcess::End(int signal) {
  Signal(signal);
  return process_->Wait();
}

absl::Status ServerProcess::Relaunch() { return Launch(address_); }

void ServerProcess::Signal(int signal) const {
  if (pid() > 0) kill(pid(), signal);
}

std::map<std::string, double> ServerProcess::Metrics() const {
  return server::ParseMetrics(server::HttpGet(metrics_address_, "/metrics"));
}

}  // namespace voxloc::chaos
