// SPDX-License-Identifier: Apache-2.0
//
// How results are written: as tables, as JSON, in which numbers that are not finite become null, to
// files, which flags name, and to standard output.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/summary.h"
#include "core/geometry/pose.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

// The error names the file and the system's reason.
[[nodiscard]] absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// To the file, to standard output for "-", nowhere for "".
[[nodiscard]] absl::Status WriteJson(const std::string& destination, const Json& value);

// A list of what `of` makes of each element.
template <typename Range, typename Of>
[[nodiscard]] Json ListJson(const Range& range, const Of& of) {
  Json list = Json::array();
  for (const auto& element : range) list.push_back(of(element));
  return list;
}

// [x, y, z].
[[nodiscard]] Json VectorJson(const Eigen::Vector3d& vector);

// [x, y, z, qx, qy, qz, qw], metres and a unit quaternion.
[[nodiscard]] Json PoseJson(const Pose& pose);

// `path` may be "" for nothing and "-" for standard output where the command takes that.
CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help);

// Likewise for a flag that can be repeated.
CLI::Option* AddOutputFiles(CLI::App* command, const std::string& name,
                            std::vector<std::string>* paths, const std::string& help);

// A table for the terminal: columns as wide as their widest cell, two spaces apart, numbers to the
// right. What cells hold may come from the network: it is made safe for a terminal (terminal.h).
class TextTable {
 public:
  struct Column {
    std::string title;
    bool is_number = false;
  };

  // The titles from left to right, separated by |, each with > before it where the column has
  // numbers: "map|>points|comment".
  explicit TextTable(absl::string_view columns);

  // Missing cells are empty.
  void AddRow(std::vector<std::string> cells);

  // Title line and rows, each ended by a newline, without blanks at their ends. `max_columns`:
  // where the lines would be longer than this, columns that are not numbers are cut, the widest
  // first, to no less than 4 columns, and then the lines. 0: no limit.
  [[nodiscard]] std::string Text(size_t max_columns = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// 12345678 as "12,345,678".
[[nodiscard]] std::string GroupDigits(uint64_t number);

// Nanoseconds since the Unix epoch as "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string TimeText(int64_t unix_ns);

// 1536 as "1.5 KiB".
[[nodiscard]] std::string ByteText(uint64_t bytes);

// Columns mean, p50, p95, p99 and max.
class SummaryTable {
 public:
  // Every number times `factor`, with so many digits after the point; "-" for what is not finite.
  void AddRow(const std::string& name, const Summary& summary, int digits, double factor = 1.0);

  [[nodiscard]] std::string Text() const { return table_.Text(); }

 private:
  TextTable table_{"|>mean|>p50|>p95|>p99|>max"};
};

// `mean`, `p50`, `p95`, `p99`, `max`.
[[nodiscard]] Json SummaryJson(const Summary& summary);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_H_
