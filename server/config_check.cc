// SPDX-License-Identifier: Apache-2.0

#include "server/config_check.h"

#include "server/observe/trace/span_exporter.h"
#include "server/security/access_file.h"
#include "server/security/server_credentials.h"
#include "server/security/tls_files.h"

namespace voxloc::server {

absl::Status CheckConfig(const Config& config) {
  if (absl::Status status = CheckTransport(config); !status.ok()) return status;
  if (!config.tls.certificate.empty()) {
    if (const auto tls = ReadTlsMaterial(config.tls); !tls.ok()) return tls.status();
  }
  if (!config.access_file.empty()) {
    if (const auto access = ReadAccessFile(config.access_file); !access.ok()) {
      return access.status();
    }
  }
  if (config.capture.max_bytes > 0 && CaptureDirectory(config).empty()) {
    return absl::InvalidArgumentError(
        "capture.max_bytes is over 0, and neither capture.directory nor data_dir is set; captures "
        "need a folder");
  }
  return config.otlp_endpoint.empty() ? absl::OkStatus() : CheckOtlpEndpoint(config.otlp_endpoint);
}

}  // namespace voxloc::server
