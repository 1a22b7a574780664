// SPDX-License-Identifier: Apache-2.0
//
// The pages that kubelet, load balancers and Prometheus request. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
#define VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/http/http_listener.h"
#include "server/lifecycle/readiness.h"

namespace voxloc::server {

// Quick ones: /livez, /readyz, /readyz/maps/NAME: 200, or 503 with the reason. 404: no such page,
// no such map. A slow one: /metrics, what `metrics` returns, since the engine may take its time to
// report its state. `readiness` must outlive the pages.
[[nodiscard]] HttpPages MakeProbePages(Readiness& readiness, std::function<std::string()> metrics);

// The ready file: reports to scripts where a server listens. It appears whole, once the server is
// serving, and is removed with its owner. Not thread-safe.
class ReadyFile {
 public:
  // `listen` and `metrics`: address:port, or empty where it is off; `engine`: "cpu" or "cuda".
  // Unavailable: the file system refused.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ReadyFile>> Write(const std::string& path,
                                                                        const std::string& listen,
                                                                        const std::string& metrics,
                                                                        const std::string& engine);

  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_PROBE_PAGES_H_
