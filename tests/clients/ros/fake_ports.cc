// SPDX-License-Identifier: Apache-2.0

#include "tests/clients/ros/fake_ports.h"

#include "absl/strings/str_cat.h"

namespace voxloc::ros {

void FakeTransforms::Set(const std::string& target, const std::string& source,
                         const Pose& target_T_source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  transforms_[{target, source}] = target_T_source;
}

absl::StatusOr<Pose> FakeTransforms::Lookup(const std::string& target, const std::string& source,
                                            std::optional<int64_t> stamp_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = transforms_.find({target, source});
  if (found == transforms_.end()) {
    return absl::NotFoundError(absl::StrCat("frame '", source, "' does not exist"));
  }
  if (stamp_ns.has_value() && *stamp_ns < known_from_ns) {
    return absl::OutOfRangeError("extrapolation into the past");
  }
  return found->second;
}

void FakeLog::Write(LogLevel, absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lines_.emplace_back(text);
}

std::vector<std::string> FakeLog::lines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lines_;
}

void RecordingOutput::Subscribe(Topic topic) {
  const std::lock_guard<std::mutex> lock(mutex_);
  subscribed_.insert(topic);
}

bool RecordingOutput::HasSubscribers(Topic topic) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return subscribed_.count(topic) > 0;
}

void RecordingOutput::PublishDiagnostics(int64_t, const DiagnosticStatus& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_.push_back(status);
}

void RecordingOutput::Broadcast(const TransformStamped& transform) {
  const std::lock_guard<std::mutex> lock(mutex_);
  transforms_.push_back(transform);
}

size_t RecordingOutput::Count(Topic topic) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = messages_.find(topic);
  return found == messages_.end() ? 0 : found->second.size();
}

std::vector<TransformStamped> RecordingOutput::transforms() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return transforms_;
}

std::vector<DiagnosticStatus> RecordingOutput::Statuses(const std::string& group) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<DiagnosticStatus> statuses;
  for (const DiagnosticStatus& status : statuses_) {
    if (status.name == absl::StrCat(status.hardware_id, ": ", group)) statuses.push_back(status);
  }
  return statuses;
}

void RecordingOutput::Keep(Topic topic, Message message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  messages_[topic].push_back(std::move(message));
}

std::string ValueOf(const DiagnosticStatus& status, const std::string& key) {
  for (const DiagnosticStatus::KeyValue& entry : status.values) {
    if (entry.key == key) return entry.value;
  }
  return "";
}

std::vector<std::string> KeysOf(const DiagnosticStatus& status) {
  std::vector<std::string> keys;
  for (const DiagnosticStatus::KeyValue& entry : status.values) keys.push_back(entry.key);
  return keys;
}

}  // namespace voxloc::ros
