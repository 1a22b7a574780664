// SPDX-License-Identifier: Apache-2.0
//
// MapCollector: the revision and the age of each map, asked for when a scrape comes, so that the
// series of a map end with it. There are at most as many as there may be maps. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_MAP_COLLECTOR_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_MAP_COLLECTOR_H_

#include <prometheus/collectable.h>

#include <utility>
#include <vector>

#include "server/observe/metrics/map_results.h"
#include "server/observe/metrics/served_map.h"

namespace voxloc::server {

class MapCollector : public prometheus::Collectable {
 public:
  // `results` must outlive it.
  MapCollector(ListServedMaps list, const MapResults& results)
      : list_(std::move(list)), results_(results) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const ListServedMaps list_;
  const MapResults& results_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_MAP_COLLECTOR_H_
