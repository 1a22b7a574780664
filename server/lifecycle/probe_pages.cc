// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/probe_pages.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace voxloc::server {
namespace {

// Of a path that holds nothing useful, no more is said back.
constexpr size_t kMostEchoedBytes = 100;

HttpResponse Probe(const absl::Status& status, absl::string_view good, absl::string_view bad) {
  if (status.ok()) return {200, absl::StrCat(good, "\n")};
  return {absl::IsNotFound(status) ? 404 : 503, absl::StrCat(bad, ": ", status.message(), "\n")};
}

}  // namespace

HttpResponse ProbePages::Metrics() const {
  return {200, metrics_.Text(), MetricsExporter::kContentType};
}

std::optional<HttpResponse> ProbePages::Get(const std::string& path) const {
  if (path == "/metrics") return std::nullopt;
  if (path == "/livez") return Probe(readiness_.CheckAlive(), "alive", "not alive");
  absl::string_view map = path;
  const bool of_map = absl::ConsumePrefix(&map, "/readyz/maps/") && map.size() <= kMostEchoedBytes;
  if (path != "/readyz" && !of_map) {
    return HttpResponse{404, "there are /livez, /readyz, /readyz/maps/NAME and /metrics\n"};
  }
  readiness_.NoteAsked();
  const absl::Status status = of_map ? readiness_.CheckMap(map) : readiness_.Check();
  return Probe(status, "ready", "not ready");
}

}  // namespace voxloc::server
