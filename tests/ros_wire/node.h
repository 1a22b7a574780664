// SPDX-License-Identifier: Apache-2.0
//
// What a ROS 2 node on rmw_cyclonedds has, made with Cyclone DDS alone: a participant, topics under
// their names on the wire with the qualities of service of ROS 2, and callback groups. Services are
// in service.h.
//
// A callback group is a thread that calls its handlers one after the other. Thread-safe, but
// handlers must not destroy the node. What handlers refer to has to outlive Stop.

#ifndef VOXLOC_TESTS_ROS_WIRE_NODE_H_
#define VOXLOC_TESTS_ROS_WIRE_NODE_H_

#include <dds/dds.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "tests/ros_wire/wire_types.h"

namespace voxloc::ros_wire {

// As rmw_cyclonedds makes them of ROS 2's profiles; history is always KEEP_LAST.
struct Qos {
  bool reliable = true;
  bool transient_local = false;
  int depth = 10;
};
inline constexpr Qos kDefaultQos{};
inline constexpr Qos kSensorDataQos{false, false, 5};
inline constexpr Qos kTfQos{true, false, 100};       // tf2_ros
inline constexpr Qos kTfStaticQos{true, true, 100};  // tf2_ros, the listener's depth
inline constexpr Qos kLatchedQos{true, true, 1};     // "transient local, depth 1"
// A client's reader holds the replies to all clients of the service until the client looks at them,
// and its own must not be pushed out: more than clients have under way in a test.
inline constexpr Qos kServiceQos{true, false, 1000};

template <typename Sample>
class Writer {
 public:
  Writer() = default;
  explicit Writer(dds_entity_t entity) : entity_(entity) {}

  // False: not written, for example because a reliable reader has not made room in time.
  bool Write(const Sample& sample) const { return dds_write(entity_, &sample) == DDS_RETCODE_OK; }

  // How many readers there are.
  [[nodiscard]] uint32_t readers() const {
    dds_publication_matched_status_t matched{};
    dds_get_publication_matched_status(entity_, &matched);
    return matched.current_count;
  }

 private:
  dds_entity_t entity_ = 0;
};

class Node {
 public:
  // In a domain of Cyclone, with so many callback groups.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Node>> Create(dds_domainid_t domain,
                                                                    int callback_groups);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // The first thing that could not be made; what was not made does nothing.
  [[nodiscard]] absl::Status status() const;

  // A topic of ROS 2, such as "/points_raw".
  template <typename Sample>
  [[nodiscard]] Writer<Sample> Advertise(const std::string& topic, const Qos& qos) {
    return Writer<Sample>(MakeWriter(Descriptor<Sample>(), "rt" + topic, qos, ""));
  }

  template <typename Sample>
  void Subscribe(int group, const std::string& topic, const Qos& qos,
                 std::function<void(const Sample&)> handler) {
    const dds_entity_t reader = MakeReader(Descriptor<Sample>(), "rt" + topic, qos, "");
    Dispatch(group, reader, [reader, handler = std::move(handler)] {
      TakeAll<Sample>(reader, [&](const Sample& sample, const dds_sample_info_t& /*info*/) {
        handler(sample);
      });
    });
  }

  // The names on the wire of what others in the domain publish, as far as it is known here.
  [[nodiscard]] std::set<std::string> TopicsOfOthers() const;

  // Ends the callback groups: no handler runs any more.
  void Stop();

  // For service.h: entities under their names on the wire. 0 where one could not be made.
  [[nodiscard]] dds_entity_t MakeWriter(const dds_topic_descriptor_t& type, const std::string& name,
                                        const Qos& qos, const std::string& user_data);
  [[nodiscard]] dds_entity_t MakeReader(const dds_topic_descriptor_t& type, const std::string& name,
                                        const Qos& qos, const std::string& user_data);
  // Calls `on_data` in the group whenever the reader has something.
  void Dispatch(int group, dds_entity_t reader, std::function<void()> on_data);
  // A name that no other endpoint has, as rmw_cyclonedds gives to the two ends of a service.
  [[nodiscard]] std::string UniqueId();

  // Takes what the reader has, and hands over what is data.
  template <typename Sample, typename Handler>
  static void TakeAll(dds_entity_t reader, const Handler& handler) {
    void* sample = nullptr;
    dds_sample_info_t info;
    while (dds_take(reader, &sample, &info, 1, 1) == 1) {
      if (info.valid_data) handler(*static_cast<const Sample*>(sample), info);
      dds_return_loan(reader, &sample, 1);
      sample = nullptr;
    }
  }

 private:
  class CallbackGroup;

  explicit Node(dds_entity_t participant);
  dds_entity_t Checked(dds_entity_t entity, const std::string& what);

  const dds_entity_t participant_;
  std::vector<std::unique_ptr<CallbackGroup>> groups_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  int next_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_NODE_H_
