// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/status_report.h"

#include "absl/strings/str_cat.h"

namespace voxloc::ros {

StatusReport::StatusReport(absl::string_view node_name, absl::string_view status_name) {
  status_.name = absl::StrCat(node_name, ": ", status_name);
  status_.hardware_id = std::string(node_name);
}

void StatusReport::SetBool(absl::string_view key, bool value) {
  SetText(key, value ? "True" : "False");
}

void StatusReport::SetInt(absl::string_view key, int64_t value) {
  SetText(key, std::to_string(value));
}

void StatusReport::SetDouble(absl::string_view key, double value) {
  SetText(key, std::to_string(value));
}

void StatusReport::SetText(absl::string_view key, absl::string_view value) {
  for (DiagnosticStatus::KeyValue& entry : status_.values) {
    if (entry.key == key) {
      entry.value = std::string(value);
      return;
    }
  }
  status_.values.push_back({std::string(key), std::string(value)});
}

void StatusReport::Warn(absl::string_view text) { Report(DiagnosticStatus::kWarn, text); }

void StatusReport::Error(absl::string_view text) { Report(DiagnosticStatus::kError, text); }

void StatusReport::Report(DiagnosticStatus::Level level, absl::string_view text) {
  absl::StrAppend(&status_.message, status_.message.empty() ? "" : "; ", text);
  if (level > status_.level) status_.level = level;
}

DiagnosticStatus StatusReport::Status() const {
  DiagnosticStatus status = status_;
  if (status.level == DiagnosticStatus::kOk) status.message = "OK";
  return status;
}

}  // namespace voxloc::ros
