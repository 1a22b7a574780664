// SPDX-License-Identifier: Apache-2.0
//
// The result of a load test, for people and for scripts.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "clients/cli/load_test/load_result.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/output/output_file.h"

namespace voxloc::cli {

struct LoadReport {
  std::string server;
  std::vector<std::string> maps;
  LoadTiming timing;
  ClientFaults faults;
  LoadResult result;
  GeneratorLimit generator;
  std::vector<ObjectiveResult> objectives;

  // Answers per second in the steady part.
  [[nodiscard]] double rate_per_s() const;
  // Every session lived to the end, something was answered, and every objective is met.
  [[nodiscard]] bool passed() const;
};

[[nodiscard]] std::string LoadReportText(const LoadReport& report);
[[nodiscard]] Json LoadReportJson(const LoadReport& report);

// What makes the numbers doubtful, or the test failed; a line each, empty where nothing does.
[[nodiscard]] std::string LoadWarningsText(const LoadReport& report);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_
