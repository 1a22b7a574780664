// SPDX-License-Identifier: Apache-2.0
//
// What a load test has found out, whether it has measured the server or itself, whether it has
// shown what it must, and all of that for people and for scripts.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/tally.h"
#include "clients/cli/load_test/tile_updates.h"
#include "clients/cli/output/output.h"

namespace voxloc::cli {

struct LoadResult {
  // As `opened` of the first session says.
  std::string engine;
  std::string profile;
  std::string server_version;

  // What the drives hold, after thinning.
  uint64_t scans = 0;
  uint64_t points = 0;

  double steady_s = 0.0;     // that was measured; less than planned where it was interrupted
  bool interrupted = false;  // it ended early because that was asked for

  Tally tally;
  std::optional<TileUpdateCounts> tile_updates;  // nullopt: no tile was to be replaced
};

// The generator is the limit where more than 1 % of the sends began late (see kLateSend_ns), which
// then decide the p99 of the latency, or where it used more than 90 % of the processors that it may
// use. Late sends are of open loop: a closed loop is never late.
struct GeneratorLimit {
  double late_percent = 0.0;       // of the sends in the steady part
  double processor_percent = 0.0;  // of all processors that the generator may use
  size_t processors = 0;           // that it may use
  bool limited = false;
};

constexpr double kMaxLatePercent = 1.0;
constexpr double kMaxProcessorPercent = 90.0;

[[nodiscard]] GeneratorLimit JudgeGenerator(const LoadTiming& timing, const Tally& tally,
                                            size_t processors);

struct Objectives {
  std::optional<double> max_p99_ms;            // of the latency
  std::optional<double> min_answered_percent;  // of the scans that were due
  bool one_outcome = false;                    // of every scan that was sent: none lost, none twice
  // The p99 of the latency while tiles are updated, divided by that before.
  std::optional<double> max_update_factor = std::nullopt;
};

struct ObjectiveResult {
  std::string name;  // as in the JSON: "max_p99_ms", "min_answered_percent", ...
  double limit = 0.0;
  double value = 0.0;  // NaN: nothing was answered, or due
  bool met = false;
};

// One for each objective that is set. What has no value is not met; a factor is not met either
// where fewer updates than asked for were made.
[[nodiscard]] std::vector<ObjectiveResult> JudgeObjectives(const Objectives& objectives,
                                                           const LoadResult& result);

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

// Why the numbers are unreliable, or the test failed; one line each, or empty.
[[nodiscard]] std::string LoadWarningsText(const LoadReport& report);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_REPORT_H_
