// SPDX-License-Identifier: Apache-2.0

#include "tests/server/observe/metrics/metrics_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace voxloc::server {
namespace {

constexpr size_t kShortList = 8;  // values that fit into a cell

// Labels whose values are of the machine, the build or the configuration.
const std::map<std::string, std::string>& OpenLabels() {
  static const auto* const labels =
      new std::map<std::string, std::string>{{"build", "type of build"},
                                             {"cuda", "version"},
                                             {"device", "`cpu`, or `cuda:0` and so on"},
                                             {"driver", "version"},
                                             {"engine", "`cpu` or `cuda`"},
                                             {"git", "revision"},
                                             {"gpu", "names"},
                                             {"map", "names of the maps, at most `max_maps`"},
                                             {"memory", "`host` or `device`"},
                                             {"version", "version"}};
  return *labels;
}

std::string UnitOf(absl::string_view name) {
  absl::ConsumeSuffix(&name, "_total");
  for (const absl::string_view unit : {"seconds", "bytes", "ratio"}) {
    if (absl::EndsWith(name, absl::StrCat("_", unit))) return std::string(unit);
  }
  return "";
}

std::string QuotedList(const std::set<std::string>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const std::string& value) {
    absl::StrAppend(out, "`", value, "`");
  });
}

std::string LabelCell(const ScrapedMetric& metric) {
  std::vector<std::string> cells;
  for (const auto& [label, values] : metric.labels) {
    const auto open = OpenLabels().find(label);
    std::string text;
    if (open != OpenLabels().end()) {
      text = open->second;
    } else if (values.size() <= kShortList) {
      text = QuotedList(values);
    } else {
      text = "[below](#values-of-labels)";
    }
    cells.push_back(absl::StrCat("`", label, "`: ", text));
  }
  return absl::StrJoin(cells, "; ");
}

}  // namespace

std::map<std::string, ScrapedMetric> ParseExposition(const std::string& text) {
  static const std::regex comment(R"(# (HELP|TYPE) ([a-z_]+) ?(.*))");
  static const std::regex sample(R"(([a-z_]+)(\{(.*)\})? (\S+))");
  static const std::regex label(R"re(([a-z_]+)="((?:[^"\\]|\\.)*)",?)re");
  std::map<std::string, ScrapedMetric> metrics;
  const size_t body = text.find("\r\n\r\n");
  EXPECT_NE(body, std::string::npos) << text.substr(0, 200);
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text.substr(body + 4), '\n', absl::SkipEmpty()))) {
    std::smatch match;
    if (std::regex_match(line, match, comment)) {
      (match[1] == "HELP" ? metrics[match[2]].help : metrics[match[2]].type) = match[3];
      continue;
    }
    EXPECT_TRUE(std::regex_match(line, match, sample)) << line;
    std::string name = match[1];
    if (metrics.count(name) == 0) {
      name = std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
    }
    EXPECT_EQ(metrics.count(name), 1U) << line;
    ScrapedMetric& metric = metrics[name];
    const std::string labels = match[3];
    for (std::sregex_iterator it(labels.begin(), labels.end(), label), end; it != end; ++it) {
      const std::string value = (*it)[2];
      if ((*it)[1] != "le") {
        metric.labels[(*it)[1]].insert(value);
      } else if (value != "+Inf" && std::find(metric.borders.begin(), metric.borders.end(),
                                              value) == metric.borders.end()) {
        metric.borders.push_back(value);
      }
    }
  }
  return metrics;
}

std::string MetricsPage(const std::map<std::string, ScrapedMetric>& metrics) {
  std::string page =
      "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
      "# Metrics\n\n"
      "Everything that `voxlocd` serves at `/metrics` of `metrics_listen`, in Prometheus' text "
      "format.\n"
      "[operations.md](operations.md#metrics) says what to watch. This page is generated from a "
      "running server, and\n"
      "a test compares it with one; a change of the metrics is recorded with\n\n"
      "```\n"
      "VOXLOC_RECORD_METRICS=1 build/release/tests/server_rpc_test "
      "--gtest_filter='MetricsPage.*'\n"
      "```\n\n"
      "The values of labels are fixed, or of the machine and the configuration; none comes from a "
      "client. The unit is\n"
      "part of the name. All counters begin with 0 when the server starts.\n\n"
      "| Metric | Type | Labels | Unit | Meaning |\n|---|---|---|---|---|\n";
  using Lists = std::map<std::pair<std::string, std::set<std::string>>, std::set<std::string>>;
  Lists long_lists;  // the metrics of each list of a label's values
  std::map<std::vector<std::string>, std::set<std::string>> borders;
  for (const auto& [name, metric] : metrics) {
    absl::StrAppend(&page, "| `", name, "` | ", metric.type, " | ", LabelCell(metric), " | ",
                    UnitOf(name), " | ", metric.help, " |\n");
    if (!metric.borders.empty()) borders[metric.borders].insert(name);
    for (const auto& [label, values] : metric.labels) {
      if (values.size() > kShortList) long_lists[{label, values}].insert(name);
    }
  }
  absl::StrAppend(&page,
                  "\n## Values of labels\n\n| Label | Values | Of the metrics |\n|---|---|---|\n");
  for (const auto& [list, names] : long_lists) {
    absl::StrAppend(&page, "| `", list.first, "` | ", QuotedList(list.second), " | ",
                    QuotedList(names), " |\n");
  }
  absl::StrAppend(&page, "\n## Borders of histograms\n\n| Borders | Of the metrics |\n|---|---|\n");
  for (const auto& [list, names] : borders) {
    absl::StrAppend(&page, "| ", absl::StrJoin(list, ", "), " | ", QuotedList(names), " |\n");
  }
  return page;
}

}  // namespace voxloc::server
