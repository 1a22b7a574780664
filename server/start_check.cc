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

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/host_port.h"
#include "server/config/settings.h"
#include "server/engines/engine_choice.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/observe/trace/span_exporter.h"
#include "server/security/access_control.h"
#include "server/security/tls.h"

namespace voxloc::server {
namespace {

bool IsWildcard(absl::string_view host) { return host == "0.0.0.0" || host == "::"; }

// For two names of this machine alone.
std::string Canonical(const std::string& host) {
  return absl::EqualsIgnoreCase(host, "localhost") ? "127.0.0.1" : host;
}

absl::Status CheckPortsDiffer(const Config& config) {
  if (config.metrics_listen == "off") return absl::OkStatus();
  VOXLOC_TRY(CheckAddress("metrics_listen", config.metrics_listen));
  const auto grpc = ParseHostPort(config.listen, PortZero::kAllowed);
  const auto http = ParseHostPort(config.metrics_listen, PortZero::kAllowed);
  // What is wrong with `listen` is said already.
  if (!grpc.ok() || !http.ok() || grpc->port == 0 || grpc->port != http->port) {
    return absl::OkStatus();
  }
  if (!IsWildcard(grpc->host) && !IsWildcard(http->host) &&
      Canonical(grpc->host) != Canonical(http->host)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("listen and metrics_listen must have different ports (got '", config.listen,
                   "' and '", config.metrics_listen, "')"));
}

absl::Status InvalidError(absl::string_view key, absl::string_view required,
                          absl::string_view given, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ", required, " (got '", given, "': ", why, ")"));
}

// Adds that a setting is not what it must be; error 0: it is.
void AddError(absl::string_view key, absl::string_view required, absl::string_view given, int error,
              ConfigErrors& errors) {
  if (error != 0) errors.Add(InvalidError(key, required, given, std::strerror(error)));
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
  AddError(
      "data_dir",
      missing ? "a folder that can be made in one that exists" : "a folder that can be written",
      folder, error, errors);
  if (error != 0 || missing) return;
  for (const char* const name : {"/lock", "/maps.db", "/maps.db-wal", "/maps.db-shm"}) {
    error = AccessError(folder + name, R_OK | W_OK);
    if (error == ENOENT) continue;
    AddError("data_dir", "a folder of files that can be read and written", folder + name, error,
             errors);
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

void CheckConfig(const Config& config, ConfigErrors& errors) {
  errors.Add(CheckTransport(config));
  errors.Add(CheckPortsDiffer(config));
  if (!config.tls.certificate.empty() && !config.tls.private_key.empty()) {
    errors.Add(ReadTlsMaterial(config.tls).status());
  }
  if (!config.access_file.empty()) errors.Add(ReadAccessFile(config.access_file).status());
  const auto check_folder = [&](const char* group, uint64_t max_bytes, const std::string& folder) {
    if (max_bytes == 0 || !folder.empty()) return;
    errors.Add(absl::InvalidArgumentError(absl::StrCat(group, ".max_bytes is over 0, and neither ",
                                                       group, ".directory nor data_dir is set; ",
                                                       "captures need a folder")));
  };
  check_folder("capture", config.capture.max_bytes, CaptureDirectory(config));
  check_folder("map_update", config.map_update.max_bytes, MapUpdateDirectory(config));
  if (!config.otlp_endpoint.empty()) errors.Add(CheckOtlpEndpoint(config.otlp_endpoint));
}

void CheckStart(const Config& config, ConfigErrors& errors) {
  CheckListen("listen", config.listen, errors);
  if (config.metrics_listen != "off") {
    CheckListen("metrics_listen", config.metrics_listen, errors);
  }
  CheckDataDir(config, errors);
  if (!config.store.url.empty()) errors.Add(CheckPostgresUrl(config.store.url));
  if (!config.audit_log.empty()) {
    AddError("audit_log", "a file that can be written", config.audit_log,
             WritableFileError(config.audit_log), errors);
  }
  // It is written under another name in the folder and renamed.
  if (!config.ready_file.empty()) {
    int error = WritableFolderError(FolderOf(config.ready_file));
    if (error == 0 && WritableFileError(config.ready_file) == EISDIR) error = EISDIR;
    AddError("ready_file", "a file in a folder that can be written", config.ready_file, error,
             errors);
  }
  errors.Add(CheckEngine(config));
}

}  // namespace voxloc::server
