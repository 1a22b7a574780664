// SPDX-License-Identifier: Apache-2.0
//
// From what /metrics of a server shows to docs/metrics.md. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_OBSERVE_METRICS_METRICS_PAGE_H_
#define VOXLOC_TESTS_SERVER_OBSERVE_METRICS_METRICS_PAGE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace voxloc::server {

// One metric of an exposition, all its series together.
struct ScrapedMetric {
  std::string type;  // counter, gauge, histogram
  std::string help;
  std::map<std::string, std::set<std::string>> labels;  // with their values; without `le`
  std::vector<std::string> borders;                     // of a histogram, without +Inf
};

// By name. What is no line of Prometheus' text format fails the test.
[[nodiscard]] std::map<std::string, ScrapedMetric> ParseExposition(const std::string& text);

// The page as Markdown. Labels whose values are not fixed must be known to it.
[[nodiscard]] std::string MetricsPage(const std::map<std::string, ScrapedMetric>& metrics);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_OBSERVE_METRICS_METRICS_PAGE_H_
