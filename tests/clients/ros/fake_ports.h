// SPDX-License-Identifier: Apache-2.0
//
// Ports that a test holds in its hands: a clock that it sets, transforms that it gives, and an
// output that keeps everything that was published. Thread-safe.

#ifndef VOXLOC_TESTS_CLIENTS_ROS_FAKE_PORTS_H_
#define VOXLOC_TESTS_CLIENTS_ROS_FAKE_PORTS_H_

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "clients/ros/core/ports.h"

namespace voxloc::ros {

class FakeClock : public Clock {
 public:
  [[nodiscard]] int64_t NowNs() const override { return now_ns; }
  [[nodiscard]] bool IsSimulated() const override { return simulated; }

  std::atomic<int64_t> now_ns{0};
  std::atomic<bool> simulated{true};
};

// Knows target_T_source for all stamps but those before `known_from_ns`.
class FakeTransforms : public TransformLookup {
 public:
  void Set(const std::string& target, const std::string& source, const Pose& target_T_source);
  [[nodiscard]] absl::StatusOr<Pose> Lookup(const std::string& target, const std::string& source,
                                            std::optional<int64_t> stamp_ns) const override;

  std::atomic<int64_t> known_from_ns{0};

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Pose> transforms_;
};

class FakeLog : public Log {
 public:
  void Write(LogLevel level, absl::string_view text) override;
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

using Message =
    std::variant<PoseStamped, PoseWithCovarianceStamped, TwistWithCovarianceStamped, PoseArray,
                 PointCloud2, Float32Stamped, Int32Stamped, std::vector<ArrowMarker>>;

class RecordingOutput : public Output {
 public:
  // Nobody listens to anything else.
  void Subscribe(Topic topic);

  [[nodiscard]] bool HasSubscribers(Topic topic) const override;
  void Publish(Topic topic, const PoseStamped& message) override { Keep(topic, message); }
  void Publish(Topic topic, const PoseWithCovarianceStamped& message) override {
    Keep(topic, message);
  }
  void Publish(Topic topic, const TwistWithCovarianceStamped& message) override {
    Keep(topic, message);
  }
  void Publish(Topic topic, const PoseArray& message) override { Keep(topic, message); }
  void Publish(Topic topic, PointCloud2 message) override { Keep(topic, std::move(message)); }
  void Publish(Topic topic, const Float32Stamped& message) override { Keep(topic, message); }
  void Publish(Topic topic, const Int32Stamped& message) override { Keep(topic, message); }
  void Publish(Topic topic, const std::vector<ArrowMarker>& message) override {
    Keep(topic, message);
  }
  void PublishDiagnostics(int64_t stamp_ns, const DiagnosticStatus& status) override;
  void Broadcast(const TransformStamped& transform) override;

  template <typename Value>
  [[nodiscard]] std::vector<Value> Of(Topic topic) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Value> values;
    const auto found = messages_.find(topic);
    if (found == messages_.end()) return values;
    for (const Message& message : found->second) values.push_back(std::get<Value>(message));
    return values;
  }
  [[nodiscard]] size_t Count(Topic topic) const;
  [[nodiscard]] std::vector<TransformStamped> transforms() const;
  // Those of one group, "scan_matching_status" for example.
  [[nodiscard]] std::vector<DiagnosticStatus> Statuses(const std::string& group) const;

 private:
  void Keep(Topic topic, Message message);

  mutable std::mutex mutex_;
  std::set<Topic> subscribed_;
  std::map<Topic, std::vector<Message>> messages_;
  std::vector<TransformStamped> transforms_;
  std::vector<DiagnosticStatus> statuses_;
};

// The value of a key; "" where the status has no such key.
[[nodiscard]] std::string ValueOf(const DiagnosticStatus& status, const std::string& key);
[[nodiscard]] std::vector<std::string> KeysOf(const DiagnosticStatus& status);

struct FakePorts {
  FakeClock clock;
  FakeTransforms transforms;
  RecordingOutput output;
  FakeLog log;

  [[nodiscard]] Ports ports() { return {&clock, &transforms, &output, &log, nullptr}; }
};

}  // namespace voxloc::ros

#endif  // VOXLOC_TESTS_CLIENTS_ROS_FAKE_PORTS_H_
