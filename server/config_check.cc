// SPDX-License-Identifier: Apache-2.0

#include "server/config_check.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/host_port.h"
#include "server/config/settings.h"
#include "server/observe/trace/span_exporter.h"
#include "server/security/access_file.h"
#include "server/security/server_credentials.h"
#include "server/security/tls_files.h"

namespace voxloc::server {

namespace {

bool IsWildcard(absl::string_view host) { return host == "0.0.0.0" || host == "::"; }

// Of two names for this machine alone.
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

}  // namespace

void CheckConfig(const Config& config, ConfigErrors& errors) {
  errors.Add(CheckTransport(config));
  errors.Add(CheckPortsDiffer(config));
  if (!config.tls.certificate.empty() && !config.tls.private_key.empty()) {
    errors.Add(ReadTlsMaterial(config.tls).status());
  }
  if (!config.access_file.empty()) errors.Add(ReadAccessFile(config.access_file).status());
  if (config.capture.max_bytes > 0 && CaptureDirectory(config).empty()) {
    errors.Add(absl::InvalidArgumentError(
        "capture.max_bytes is over 0, and neither capture.directory nor data_dir is set; captures "
        "need a folder"));
  }
  if (!config.otlp_endpoint.empty()) errors.Add(CheckOtlpEndpoint(config.otlp_endpoint));
}

}  // namespace voxloc::server
