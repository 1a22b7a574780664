// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/gpu_row.h"

#include <chrono>
#include <utility>

namespace voxloc::bench {
namespace {

constexpr size_t kWarmUpCalls = 10;
constexpr double kWarmUpShare = 0.2;  // of the budget
constexpr size_t kDeviceTimeCalls = 100;
constexpr double kDeviceTimeShare = 0.2;

using Clock = std::chrono::steady_clock;

// Adds up what the calls did.
class Tally {
 public:
  void Add(const CallResult& call) {
    ms_.push_back(call.ms);
    seconds_ += call.ms * 1e-3;
    items_ += call.items;
    iterations_ += call.iterations;
    point_evaluations_ += call.point_evaluations;
    errors_m_.insert(errors_m_.end(), call.errors_m.begin(), call.errors_m.end());
  }

  void AddDeviceTimes(const DeviceTimes& device_times) {
    upload_s_.push_back(device_times.upload_s);
    kernel_s_.push_back(device_times.kernel_s);
    download_s_.push_back(device_times.download_s);
  }

  [[nodiscard]] Measured Finish() const {
    Measured measured;
    measured.ms = Summarize(ms_);
    measured.items_per_s = items_ / seconds_;
    measured.point_evaluations_per_s = point_evaluations_ / seconds_;
    measured.items_per_call = items_ / static_cast<double>(ms_.size());
    measured.iterations_per_item = iterations_ / items_;
    measured.error_m = Summarize(errors_m_);
    if (!kernel_s_.empty()) {
      measured.device_times.emplace();
      measured.device_times->upload_s = Summarize(upload_s_).p50;
      measured.device_times->kernel_s = Summarize(kernel_s_).p50;
      measured.device_times->download_s = Summarize(download_s_).p50;
    }
    return measured;
  }
  [[nodiscard]] size_t calls() const { return ms_.size(); }

 private:
  std::vector<double> ms_;
  double seconds_ = 0.0;
  double items_ = 0.0;
  double iterations_ = 0.0;
  double point_evaluations_ = 0.0;
  std::vector<double> errors_m_;
  std::vector<double> upload_s_;
  std::vector<double> kernel_s_;
  std::vector<double> download_s_;
};

}  // namespace

absl::StatusOr<Measured> Measure(const Row& row, Engine& engine, const Budget& budget) {
  DeviceTimeRecorder timer(engine);
  const absl::StatusOr<Call> call = row.prepare(timer);
  if (!call.ok()) return call.status();
  Tally tally;
  const Clock::time_point warming = Clock::now();
  for (size_t i = 0; i < kWarmUpCalls; ++i) {
    const auto result = (*call)(i);
    if (!result.ok()) return result.status();
    // One call that fills the budget is enough, and counts.
    if (result->ms * 1e-3 > budget.seconds) {
      tally.Add(*result);
      return tally.Finish();
    }
    if (SecondsSince(warming) > kWarmUpShare * budget.seconds) break;
  }
  const Clock::time_point start = Clock::now();
  while (tally.calls() == 0 ||
         (tally.calls() < budget.max_repeats && SecondsSince(start) < budget.seconds)) {
    const auto result = (*call)(tally.calls());
    if (!result.ok()) return result.status();
    tally.Add(*result);
  }
  // By itself, since the events that it takes cost some microseconds a call.
  const bool on_device = engine.Info().name != "cpu";
  timer.set_recording(on_device);
  const Clock::time_point splitting = Clock::now();
  for (size_t i = 0; i < kDeviceTimeCalls && on_device; ++i) {
    if (SecondsSince(splitting) > kDeviceTimeShare * budget.seconds) break;
    const auto result = (*call)(i);
    if (!result.ok()) return result.status();
    if (const auto device_times = timer.LastCall()) tally.AddDeviceTimes(*device_times);
  }
  return tally.Finish();
}

nlohmann::json ToJson(const Measured& measured) {
  nlohmann::json json = {{"ms", ToJson(measured.ms)},
                         {"calls", measured.ms.count},
                         {"items_per_call", measured.items_per_call},
                         {"items_per_s", measured.items_per_s}};
  if (measured.point_evaluations_per_s > 0.0) {
    json["point_evaluations_per_s"] = measured.point_evaluations_per_s;
  }
  if (measured.error_m.count > 0) {
    json["iterations"] = measured.iterations_per_item;
    json["error_m"] = ToJson(measured.error_m);
  }
  if (measured.device_times) {
    json["upload_ms"] = 1e3 * measured.device_times->upload_s;
    json["kernel_ms"] = 1e3 * measured.device_times->kernel_s;
    json["download_ms"] = 1e3 * measured.device_times->download_s;
  }
  return json;
}

}  // namespace voxloc::bench
