// SPDX-License-Identifier: Apache-2.0

#include "server/start_check.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/text/host_port.h"
#include "server/engines/engine_choice.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

absl::Status InvalidError(absl::string_view key, absl::string_view required,
                          absl::string_view given, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ", required, " (got '", given, "': ", why, ")"));
}

// As the effective user, which the server would run as. 0, or the error.
int AccessError(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
}

std::string FolderOf(const std::string& path) {
  std::filesystem::path parts(path);
  if (!parts.has_filename()) parts = parts.parent_path();  // "a/b/" ends with an empty name
  const std::string folder = parts.parent_path().string();
  return folder.empty() ? "." : folder;
}

// 0, or why nothing can be made in it.
int WritableFolderError(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return errno;
  if (!S_ISDIR(found.st_mode)) return ENOTDIR;
  return AccessError(path, W_OK | X_OK);
}

// 0, or why it can be neither written nor made.
int WritableFileError(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? WritableFolderError(FolderOf(path)) : errno;
  }
  return S_ISDIR(found.st_mode) ? EISDIR : AccessError(path, W_OK);
}

void CheckDataDir(const Config& config, ConfigErrors& errors) {
  const std::string& folder = config.data_dir;
  if (folder.empty()) return;
  int error = WritableFolderError(folder);
  const bool missing = error == ENOENT;
  if (missing) error = WritableFolderError(FolderOf(folder));
  if (error != 0) {
    errors.Add(InvalidError(
        "data_dir",
        missing ? "a folder that can be made in one that exists" : "a folder that can be written",
        folder, std::strerror(error)));
  }
  if (error != 0 || missing) return;
  for (const char* const name : {"/lock", "/maps.db", "/maps.db-wal", "/maps.db-shm"}) {
    error = AccessError(folder + name, R_OK | W_OK);
    if (error == 0 || error == ENOENT) continue;
    errors.Add(InvalidError("data_dir", "a folder of files that can be read and written",
                            folder + name, std::strerror(error)));
  }
  if (config.store.url.empty()) errors.Add(CheckSqliteMapStore(folder));
}

// Bound for a moment, and listened to by nobody.
void CheckListen(absl::string_view key, const std::string& address, ConfigErrors& errors) {
  const auto parsed = ParseHostPort(address, PortZero::kAllowed);
  if (!parsed.ok()) return;  // CheckConfig says so
  constexpr absl::string_view kRequired = "an address of this machine";
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int unresolved =
      getaddrinfo(parsed->host.c_str(), absl::StrCat(parsed->port).c_str(), &hints, &found);
  if (unresolved != 0) {
    errors.Add(InvalidError(key, kRequired, address, gai_strerror(unresolved)));
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    const int file = socket(next->ai_family, next->ai_socktype | SOCK_CLOEXEC, next->ai_protocol);
    const int yes = 1;
    if (file >= 0) setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const bool bound = file >= 0 && bind(file, next->ai_addr, next->ai_addrlen) == 0;
    error = bound ? 0 : errno;
    if (file >= 0) close(file);
    if (bound || error == EADDRINUSE) return;
  }
  errors.Add(InvalidError(key, kRequired, address, std::strerror(error)));
}

}  // namespace

void CheckStart(const Config& config, ConfigErrors& errors) {
  CheckListen("listen", config.listen, errors);
  if (config.metrics_listen != "off") {
    CheckListen("metrics_listen", config.metrics_listen, errors);
  }
  CheckDataDir(config, errors);
  if (!config.store.url.empty()) errors.Add(CheckPostgresUrl(config.store.url));
  if (const int error = config.audit_log.empty() ? 0 : WritableFileError(config.audit_log);
      error != 0) {
    errors.Add(InvalidError("audit_log", "a file that can be written", config.audit_log,
                            std::strerror(error)));
  }
  // It is written beside itself and renamed.
  if (!config.ready_file.empty()) {
    int error = WritableFolderError(FolderOf(config.ready_file));
    if (error == 0 && WritableFileError(config.ready_file) == EISDIR) error = EISDIR;
    if (error != 0) {
      errors.Add(InvalidError("ready_file", "a file in a folder that can be written",
                              config.ready_file, std::strerror(error)));
    }
  }
  errors.Add(CheckEngine(config));
}

}  // namespace voxloc::server
