// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: what the checks around one scan found, as a record of keys and values with the worst
// level of all, in the manner of ROS diagnostics. A plain value: any number of threads may read
// one.

#ifndef VOXLOC_CORE_TRACKING_DIAGNOSTICS_H_
#define VOXLOC_CORE_TRACKING_DIAGNOSTICS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace voxloc {

enum class DiagnosticLevel { kOk, kWarn, kError };  // by severity

struct DiagnosticEntry {
  std::string key;
  std::variant<bool, int64_t, double> value;
};

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_DIAGNOSTICS_H_
