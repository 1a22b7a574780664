// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/summary_table.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace voxloc::cli {
namespace {

std::string FiniteNumber(double value, int digits) {
  return std::isfinite(value) ? absl::StrFormat("%.*f", digits, value) : "-";
}

}  // namespace

SummaryTable::SummaryTable() : table_("|>mean|>p50|>p95|>p99|>max") {}

void SummaryTable::AddRow(const std::string& name, const Summary& summary, int digits,
                          double factor) {
  table_.AddRow(
      {name, FiniteNumber(factor * summary.mean, digits),
       FiniteNumber(factor * summary.p50, digits), FiniteNumber(factor * summary.p95, digits),
       FiniteNumber(factor * summary.p99, digits), FiniteNumber(factor * summary.max, digits)});
}

Json SummaryJson(const Summary& d) {
  return {{"mean", d.mean}, {"p50", d.p50}, {"p95", d.p95}, {"p99", d.p99}, {"max", d.max}};
}

}  // namespace voxloc::cli
