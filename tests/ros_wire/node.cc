// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/node.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::ros_wire {
namespace {

struct DeleteQos {
  void operator()(dds_qos_t* qos) const { dds_delete_qos(qos); }
};
using OwnedQos = std::unique_ptr<dds_qos_t, DeleteQos>;

// How long a reliable writer waits for room at its readers: rmw_cyclonedds has no limit, a test
// has.
constexpr dds_duration_t kLongestBlocking = DDS_SECS(10);

// As create_readwrite_qos of rmw_cyclonedds.
OwnedQos QosOf(const Qos& qos, const std::string& user_data) {
  OwnedQos made(dds_create_qos());
  dds_qset_history(made.get(), DDS_HISTORY_KEEP_LAST, qos.depth);
  dds_qset_reliability(made.get(),
                       qos.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                       kLongestBlocking);
  if (qos.transient_local) {
    dds_qset_durability(made.get(), DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_durability_service(made.get(), 0, DDS_HISTORY_KEEP_LAST, qos.depth,
                                DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  }
  dds_qset_writer_data_lifecycle(made.get(), false);
  const dds_data_representation_id_t plain_cdr = DDS_DATA_REPRESENTATION_XCDR1;
  dds_qset_data_representation(made.get(), 1, &plain_cdr);
  if (!user_data.empty()) dds_qset_userdata(made.get(), user_data.data(), user_data.size());
  return made;
}

}  // namespace

// The entities are the participant's, and end with it.
class Node::CallbackGroup {
 public:
  explicit CallbackGroup(dds_entity_t participant)
      : waitset_(dds_create_waitset(participant)), stop_(dds_create_guardcondition(participant)) {
    dds_waitset_attach(waitset_, stop_, 0);
    thread_ = std::thread([this] { Run(); });
  }

  ~CallbackGroup() {
    dds_set_guardcondition(stop_, true);
    thread_.join();
  }

  // False: not possible.
  bool Add(dds_entity_t reader, std::function<void()> on_data) {
    const dds_entity_t condition = dds_create_readcondition(reader, DDS_ANY_STATE);
    if (condition < 0) return false;
    const absl::MutexLock lock(&mutex_);
    handlers_.push_back(std::move(on_data));  // a deque does not move what it has
    return dds_waitset_attach(waitset_, condition,
                              reinterpret_cast<dds_attach_t>(&handlers_.back())) == DDS_RETCODE_OK;
  }

 private:
  void Run() {
    std::array<dds_attach_t, 32> ready{};  // what is ready beyond these comes with the next wait
    while (true) {
      const dds_return_t count =
          dds_waitset_wait(waitset_, ready.data(), ready.size(), DDS_INFINITY);
      for (dds_return_t i = 0; i < count && i < static_cast<dds_return_t>(ready.size()); ++i) {
        const dds_attach_t handler = ready.at(static_cast<size_t>(i));
        if (handler == 0) return;
        (*reinterpret_cast<std::function<void()>*>(handler))();
      }
      if (count < 0) return;
    }
  }

  const dds_entity_t waitset_;
  const dds_entity_t stop_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> handlers_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

Node::Node(dds_entity_t participant) : participant_(participant) {}

absl::StatusOr<std::unique_ptr<Node>> Node::Create(dds_domainid_t domain, int callback_groups) {
  const OwnedQos qos(dds_create_qos());
  const std::string user_data = "enclave=/;";
  dds_qset_userdata(qos.get(), user_data.data(), user_data.size());
  const dds_entity_t participant = dds_create_participant(domain, qos.get(), nullptr);
  if (participant < 0) {
    return absl::InternalError(
        absl::StrCat("Cyclone DDS made no participant: ", dds_strretcode(participant)));
  }
  std::unique_ptr<Node> node(new Node(participant));
  for (int i = 0; i < callback_groups; ++i) {
    node->groups_.push_back(std::make_unique<CallbackGroup>(participant));
  }
  return node;
}

Node::~Node() {
  Stop();
  dds_delete(participant_);
}

std::set<std::string> Node::TopicsOfOthers() const {
  dds_guid_t own{};
  dds_get_guid(participant_, &own);
  const dds_entity_t reader =
      dds_create_reader(participant_, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, nullptr, nullptr);
  std::set<std::string> names;
  TakeAll<dds_builtintopic_endpoint_t>(
      reader, [&](const dds_builtintopic_endpoint_t& writer, const dds_sample_info_t& /*info*/) {
        if (std::memcmp(writer.participant_key.v, own.v, sizeof(own.v)) != 0) {
          names.insert(writer.topic_name);
        }
      });
  dds_delete(reader);
  return names;
}

void Node::Stop() { groups_.clear(); }

absl::Status Node::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

dds_entity_t Node::Checked(dds_entity_t entity, const std::string& what) {
  if (entity >= 0) return entity;
  const absl::MutexLock lock(&mutex_);
  status_.Update(absl::InternalError(
      absl::StrCat("Cyclone DDS made no ", what, ": ", dds_strretcode(entity))));
  return 0;
}

dds_entity_t Node::MakeWriter(const dds_topic_descriptor_t& type, const std::string& name,
                              const Qos& qos, const std::string& user_data) {
  const dds_entity_t topic = Checked(
      dds_create_topic(participant_, &type, name.c_str(), nullptr, nullptr), "topic " + name);
  return Checked(dds_create_writer(participant_, topic, QosOf(qos, user_data).get(), nullptr),
                 "writer of " + name);
}

dds_entity_t Node::MakeReader(const dds_topic_descriptor_t& type, const std::string& name,
                              const Qos& qos, const std::string& user_data) {
  const dds_entity_t topic = Checked(
      dds_create_topic(participant_, &type, name.c_str(), nullptr, nullptr), "topic " + name);
  return Checked(dds_create_reader(participant_, topic, QosOf(qos, user_data).get(), nullptr),
                 "reader of " + name);
}

void Node::Dispatch(int group, dds_entity_t reader, std::function<void()> on_data) {
  if (reader == 0) return;
  if (!groups_.at(static_cast<size_t>(group))->Add(reader, std::move(on_data))) {
    Checked(DDS_RETCODE_ERROR, "read condition");
  }
}

std::string Node::UniqueId() {
  dds_guid_t guid{};
  dds_get_guid(participant_, &guid);
  std::string id;
  for (size_t i = 0; i < 12; ++i) absl::StrAppend(&id, absl::Hex(guid.v[i]), ".");
  const absl::MutexLock lock(&mutex_);
  return absl::StrCat(id, absl::Hex(next_id_++));
}

}  // namespace voxloc::ros_wire
