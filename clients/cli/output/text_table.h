// SPDX-License-Identifier: Apache-2.0
//
// Tables for the terminal: columns as wide as their widest cell, two spaces apart, numbers to the
// right. What cells hold may come from the network: it is made safe for a terminal (terminal.h).

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_TABLE_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/output/output_file.h"
#include "clients/dataset/summary.h"

namespace voxloc::cli {

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
[[nodiscard]] std::string Grouped(uint64_t number);

// Nanoseconds since the Unix epoch as "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string TimeText(int64_t unix_ns);

// 1536 as "1.5 KiB".
[[nodiscard]] std::string ByteText(uint64_t bytes);

// Columns mean, p50, p95, p99 and max.
class SummaryTable {
 public:
  SummaryTable();

  // Every number times `factor`, with so many digits after the point; "-" for what is not finite.
  void AddRow(const std::string& name, const Summary& summary, int digits, double factor = 1.0);

  [[nodiscard]] std::string Text() const { return table_.Text(); }

 private:
  TextTable table_;
};

// `mean`, `p50`, `p95`, `p99`, `max`.
[[nodiscard]] Json SummaryJson(const Summary& summary);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_TABLE_H_
