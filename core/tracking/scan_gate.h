// SPDX-License-Identifier: Apache-2.0
//
// ScanGate: the checks before and after the alignment of one scan, with the order, conditions and
// diagnostic keys of Autoware's ndt_scan_matcher (`scan_matching_status`). It decides whether the
// scan is aligned and whether the result is accepted, and records both as diagnostics.
//
//   ScanGate gate(options);
//   if (gate.BeforeAlign(facts) == Rejection::kNone) {
//     ... align, estimate ...
//     accepted = gate.AfterAlign(...);
//   }
//   diagnostics = gate.Finish(skipped);
//
// One object a scan, one thread at a time.

#ifndef VOXLOC_CORE_TRACKING_SCAN_GATE_H_
#define VOXLOC_CORE_TRACKING_SCAN_GATE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/engine/align.h"
#include "core/geometry/pose.h"

namespace voxloc {

enum class DiagnosticLevel { kOk, kWarn, kError };  // by severity

struct DiagnosticEntry {
  std::string key;
  std::variant<bool, int64_t, double> value;
};

// What the checks around one scan found, as a record of keys and values with the worst level of
// all, in the manner of ROS diagnostics. A plain value: any number of threads may read one.
class Diagnostics {
 public:
  // A key that is there already keeps its place and takes the new value.
  void SetBool(absl::string_view key, bool value) { Set(key, value); }
  void SetInt(absl::string_view key, int64_t value) { Set(key, value); }
  void SetDouble(absl::string_view key, double value) { Set(key, value); }

  void Warn(absl::string_view text) { Report(DiagnosticLevel::kWarn, text); }
  void Error(absl::string_view text) { Report(DiagnosticLevel::kError, text); }

  [[nodiscard]] DiagnosticLevel level() const { return level_; }
  // All texts, joined by "; "; "OK" when there are none.
  [[nodiscard]] std::string message() const { return text_.empty() ? "OK" : text_; }
  // In the order in which the keys first came.
  [[nodiscard]] const std::vector<DiagnosticEntry>& entries() const { return entries_; }

 private:
  void Set(absl::string_view key, const std::variant<bool, int64_t, double>& value);
  void Report(DiagnosticLevel level, absl::string_view text);

  DiagnosticLevel level_ = DiagnosticLevel::kOk;
  std::string text_;
  std::vector<DiagnosticEntry> entries_;
};

// The names in brackets are Autoware's. Which score decides, and its threshold
// [score_estimation.converged_param_*], are the profile's.
struct GateOptions {
  double timeout_s = 1.0;             // a delay beyond it warns [sensor_points.timeout_sec]; >= 0
  double required_distance_m = 10.0;  // [sensor_points.required_distance]; >= 0
  // Between guess and result; beyond it a warning
  // [validation.initial_to_result_distance_tolerance_m]; >= 0.
  double initial_to_result_distance_tolerance_m = 3.0;
  double max_execution_time_s = 0.1;  // [validation.critical_upper_bound_exe_time_ms]; >= 0
  int64_t max_skipped_scans = 5;  // as many in a row warn [validation.skipping_publish_num]; >= 1
  int max_oscillations = kMaxOscillations;  // a constant there; >= 0
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateGateOptions(const GateOptions& options);

// Scans in a row without an accepted result. One a session, which locks.
class SkippedScans {
 public:
  // Counts a scan: 0 after one that was accepted, or that came while the session was inactive.
  int64_t Count(bool accepted, bool active) {
    return count_ = accepted || !active ? 0 : count_ + 1;
  }
  [[nodiscard]] int64_t count() const { return count_; }

 private:
  int64_t count_ = 0;
};

// The facts about a scan before it is aligned, in the order in which they are checked. Facts after
// the first one that rejects the scan are ignored.
struct ScanFacts {
  int64_t stamp_ns = 0;
  size_t points = 0;              // as received
  absl::Status malformed;         // not ok: what was wrong with the message, which no check knows
  double delay_s = 0.0;           // from the stamp to the receipt; 0: not known
  absl::Status transform;         // of the points into the base frame; not ok: why there is none
  double max_distance_m = 0.0;    // of a point from the base
  bool active = true;             // the session
  absl::Status guess;             // not ok: why there is none
  bool out_of_map_range = false;  // the map may not reach as far as the scan
  bool has_map = true;            // of any tile, near or far, as the reference has it
};

// Why a scan is not aligned.
enum class Rejection {
  kNone,
  kMalformed,
  kNoPoints,
  kNoTransform,
  kTooNear,
  kInactive,
  kNoGuess,
  kNoMap
};

class ScanGate {
 public:
  explicit ScanGate(const GateOptions& options) : options_(options) {}

  // The first fact that rejects the scan; kNone: it is to be aligned.
  [[nodiscard]] Rejection BeforeAlign(const ScanFacts& facts);

  // Whether the result is accepted; its own status must be ok. `execution_time_s` is the time since
  // the receipt of the scan.
  [[nodiscard]] bool AfterAlign(const AlignResult& result, const Profile& profile,
                                const Pose& map_T_base_guess, double execution_time_s);

  // After AfterAlign: rejects the result for a reason that the reference does not have.
  void Reject(absl::string_view why);

  // Counts the scan, whether it was aligned or not, and hands out the record.
  [[nodiscard]] Diagnostics Finish(SkippedScans& skipped);

 private:
  // False: the profile's kind of score is unknown.
  [[nodiscard]] bool CheckScores(const AlignResult& result, const Profile& profile,
                                 const Judgement& judgement);

  GateOptions options_;
  Diagnostics diagnostics_;
  bool active_ = true;
  bool accepted_ = false;
};

// TrackCheck: whether a result that is far from its guess is plausible, given the results before
// it. The results of a lost vehicle may each look right, but no vehicle could have driven from one
// to the next. So a result that is near neither its guess nor the vehicle's track is accepted only
// after several consecutive scans form a new track. Not thread-safe: its session locks.
class TrackCheck {
 public:
  // Scans in a row that must agree with a new track, or after which a track without a result is
  // over: as many as confirm the pose of a recovery, and as make a vehicle lost (RecoveryOptions).
  static constexpr int kRequiredInARow = 5;

  // Adds a result that is good enough by itself; `near_guess`: it is near its guess. Empty: the
  // result is accepted, because it is near its guess, continues the track, is confirmed, or has no
  // stamp (0). Otherwise the reason for the rejection.
  [[nodiscard]] std::string Add(int64_t stamp_ns, const Pose& map_T_base, bool near_guess);
  // A scan without such a result.
  void AddMiss();
  // Forgets the vehicle.
  void Reset() { *this = TrackCheck(); }

 private:
  // Results that lead from one to the next.
  struct Track {
    int64_t stamp_ns = 0;
    Pose map_T_base;
    std::optional<Eigen::Vector3d> velocity_base_m_s;  // by the last two; nullopt: there is one
    int results = 1;
  };

  // The track extended by this pose. nullopt: the pose cannot be reached in that time, is not later
  // than the track, or is too late for a prediction.
  [[nodiscard]] static std::optional<Track> Extend(const Track& track, int64_t stamp_ns,
                                                   const Pose& map_T_base);

  void CountMiss();

  std::optional<Track> track_;      // of accepted results
  int missed_ = 0;                  // scans since then
  std::optional<Track> candidate_;  // of those since that do not follow from it
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_SCAN_GATE_H_
