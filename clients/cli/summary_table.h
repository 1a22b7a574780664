// SPDX-License-Identifier: Apache-2.0
//
// Distributions for people and for scripts: a table with a row each, and JSON.

#ifndef VOXLOC_CLIENTS_CLI_SUMMARY_TABLE_H_
#define VOXLOC_CLIENTS_CLI_SUMMARY_TABLE_H_

#include <string>

#include "clients/cli/json_output.h"
#include "clients/cli/text_table.h"
#include "clients/dataset/summary.h"

namespace voxloc::cli {

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

#endif  // VOXLOC_CLIENTS_CLI_SUMMARY_TABLE_H_
