// SPDX-License-Identifier: Apache-2.0
//
// Metrics: every metric that the server counts, in groups, registered once, each with its handle
// kept ready. Label values come from fixed sets, never from clients. docs/metrics.md lists them.
// Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_

#include <memory>
#include <string>
#include <vector>

#include "server/observe/metrics/capture_metrics.h"
#include "server/observe/metrics/engine_metrics.h"
#include "server/observe/metrics/map_metrics.h"
#include "server/observe/metrics/map_results.h"
#include "server/observe/metrics/queue_metrics.h"
#include "server/observe/metrics/registrar.h"
#include "server/observe/metrics/rpc_metrics.h"
#include "server/observe/metrics/scan_metrics.h"
#include "server/observe/metrics/search_metrics.h"
#include "server/observe/metrics/security_metrics.h"
#include "server/observe/metrics/session_metrics.h"
#include "server/observe/metrics/span_metrics.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace voxloc::server {

class Metrics : public RpcGroup,
                public SessionGroup,
                public QueueGroup,
                public ScanGroup,
                public SearchGroup,
                public MapGroup,
                public EngineGroup,
                public SpanGroup,
                public SecurityGroup,
                public CaptureGroup {
 public:
  // `gpus`: the names of the engine's GPUs, in the order of EngineInfo::parts.
  explicit Metrics(const std::vector<std::string>& gpus = {});
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  [[nodiscard]] std::shared_ptr<prometheus::Registry> registry() const { return registry_; }
  [[nodiscard]] MapResults& map_results() const { return *map_results_; }

 private:
  Metrics(const std::shared_ptr<prometheus::Registry>& registry,
          const std::vector<std::string>& gpus);
  Metrics(std::shared_ptr<prometheus::Registry> registry, const Registrar& make,
          const std::vector<std::string>& gpus);

  const std::shared_ptr<prometheus::Registry> registry_;
  const std::unique_ptr<MapResults> map_results_ = std::make_unique<MapResults>();
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_METRICS_H_
