// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/probe_pages.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/cloud/io/file_bytes.h"
#include "server/observe/metrics/exporter.h"

namespace voxloc::server {
namespace {

// At most this much of an unknown map's name is echoed.
constexpr size_t kMaxEchoedBytes = 100;

HttpResponse Probe(const absl::Status& status, absl::string_view good, absl::string_view bad) {
  if (status.ok()) return {200, absl::StrCat(good, "\n")};
  return {absl::IsNotFound(status) ? 404 : 503, absl::StrCat(bad, ": ", status.message(), "\n")};
}

std::optional<HttpResponse> QuickPage(const std::string& path, Readiness& readiness) {
  if (path == "/metrics") return std::nullopt;
  if (path == "/livez") return Probe(readiness.CheckAlive(), "alive", "not alive");
  absl::string_view map = path;
  const bool of_map = absl::ConsumePrefix(&map, "/readyz/maps/") && map.size() <= kMaxEchoedBytes;
  if (path != "/readyz" && !of_map) {
    return HttpResponse{404, "there are /livez, /readyz, /readyz/maps/NAME and /metrics\n"};
  }
  readiness.RecordProbe();
  const absl::Status status = of_map ? readiness.CheckMap(map) : readiness.Check();
  return Probe(status, "ready", "not ready");
}

}  // namespace

HttpPages MakeProbePages(Readiness& readiness, std::function<std::string()> metrics) {
  return {[&readiness](const HttpRequest& request) { return QuickPage(request.path, readiness); },
          [metrics = std::move(metrics)](const HttpRequest& /*request*/) {
            return HttpResponse{200, metrics(), kMetricsContentType};
          }};
}

absl::StatusOr<std::unique_ptr<ReadyFile>> ReadyFile::Write(const std::string& path,
                                                            const std::string& listen,
                                                            const std::string& metrics,
                                                            const std::string& engine) {
  const nlohmann::ordered_json json = {
      {"listen", listen}, {"metrics", metrics}, {"engine", engine}};
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (const absl::Status status = WriteFileBytes(path, text + "\n"); !status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("--ready-file: cannot write ", path, ": ", status.message()));
  }
  return absl::WrapUnique(new ReadyFile(path));
}

ReadyFile::~ReadyFile() { std::remove(path_.c_str()); }

}  // namespace voxloc::server
