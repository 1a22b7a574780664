// SPDX-License-Identifier: Apache-2.0
//
// A row of the table of `voxloc_bench gpu`: a kind of work, run on one engine after another.

#ifndef VOXLOC_TESTS_BENCH_GPU_ROW_H_
#define VOXLOC_TESTS_BENCH_GPU_ROW_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/summary.h"
#include "core/engine/engine.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/device_time_recorder.h"
#include "tests/bench/gpu_data.h"

namespace voxloc::bench {

// One timed call of an engine and what it did.
struct CallResult {
  double ms = 0.0;
  double items = 0.0;  // jobs, poses, points: see Row::item
  double iterations = 0.0;
  double point_evaluations = 0.0;
  std::vector<double> errors_m;  // of alignments, against the truth
};
// Times one call of its engine. The inputs depend on the round and are prepared before.
using Call = std::function<absl::StatusOr<CallResult>(size_t round)>;

struct Row {
  std::string name;
  std::string item;  // what is counted per second
  // Prepares the inputs for an engine; not timed.
  std::function<absl::StatusOr<Call>(Engine& engine)> prepare;
  bool on_device_only = false;  // not on the CPU engines
};

// The row, measured while another thread runs calls of `other`.
[[nodiscard]] Row WithBackgroundLoad(const Row& row, const Row& other);

// With `packers`, the jobs of a call are packed by them first, within its time.
[[nodiscard]] std::vector<Row> AlignRows(const GpuData& data, std::shared_ptr<ThreadPool> packers);
// Tracking, beside each class of other work on the device.
[[nodiscard]] std::vector<Row> TrackingRows(const GpuData& data);
[[nodiscard]] std::vector<Row> ScoreRows(const GpuData& data);
[[nodiscard]] std::vector<Row> BuildRows();
[[nodiscard]] std::vector<Row> FilterRows();
[[nodiscard]] std::vector<Row> EigenRows();

struct Budget {
  double seconds = 2.0;  // of one row on one engine, after warming up
  size_t max_repeats = 2000;
};

struct Measured {
  Summary ms;  // per call
  double items_per_s = 0.0;
  double point_evaluations_per_s = 0.0;  // 0: the row has none
  double items_per_call = 0.0;
  double iterations_per_item = 0.0;
  Summary error_m;
  std::optional<DeviceTimes> device_times;  // medians
};
// Warms up with a few calls, then repeats within the budget, at least once.
[[nodiscard]] absl::StatusOr<Measured> Measure(const Row& row, Engine& engine,
                                               const Budget& budget);

[[nodiscard]] nlohmann::json ToJson(const Measured& measured);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_GPU_ROW_H_
