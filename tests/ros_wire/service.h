// SPDX-License-Identifier: Apache-2.0
//
// Services of ROS 2 as rmw_cyclonedds has them: two topics, whose bodies begin with the client's id
// and its count of requests. The server returns both, and a client takes only replies with its own
// id. Both sides mark their two endpoints with an id in the user data, so that the other side knows
// which belong together.
//
// Clients and servers are made on a Node, and have to outlive its Stop. Thread-safe.

#ifndef VOXLOC_TESTS_ROS_WIRE_SERVICE_H_
#define VOXLOC_TESTS_ROS_WIRE_SERVICE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/ros_wire/node.h"

namespace voxloc::ros_wire {

// The two endpoints of a client, or of a server.
struct ServiceEndpoints {
  dds_entity_t writer = 0;
  dds_entity_t reader = 0;

  // As rmw_service_server_is_available: the two endpoints of one server are matched.
  [[nodiscard]] bool HasServer() const;
  // As rmw_send_response: whether the reader of the client whose writer sent a request is matched.
  // Waits for that as long as rmw_cyclonedds does.
  [[nodiscard]] bool AwaitClient(dds_instance_handle_t request_writer) const;
};

template <typename Request, typename Response>
class ServiceServer {
 public:
  // Sends the reply; header fields of the argument are filled in. Once, from any thread. False: the
  // client is gone.
  using Reply = std::function<bool(Response)>;
  using Handler = std::function<void(const Request&, Reply)>;

  ServiceServer(Node& node, int group, const std::string& service, Handler handler) {
    const std::string id = "serviceid=" + node.UniqueId() + ";";
    ends_.writer =
        node.MakeWriter(Descriptor<Response>(), "rr" + service + "Reply", kServiceQos, id);
    ends_.reader =
        node.MakeReader(Descriptor<Request>(), "rq" + service + "Request", kServiceQos, id);
    node.Dispatch(group, ends_.reader, [ends = ends_, handler = std::move(handler)] {
      Node::TakeAll<Request>(
          ends.reader, [&](const Request& request, const dds_sample_info_t& info) {
            handler(request, [ends, guid = request.guid, seq = request.seq,
                              from = info.publication_handle](Response response) {
              response.guid = guid;
              response.seq = seq;
              return ends.AwaitClient(from) && dds_write(ends.writer, &response) == DDS_RETCODE_OK;
            });
          });
    });
  }
  ServiceServer(const ServiceServer&) = delete;
  ServiceServer& operator=(const ServiceServer&) = delete;

 private:
  ServiceEndpoints ends_;
};

template <typename Request, typename Response>
class ServiceClient {
 public:
  ServiceClient(Node& node, int group, const std::string& service) {
    const std::string id = "clientid=" + node.UniqueId() + ";";
    ends_.writer =
        node.MakeWriter(Descriptor<Request>(), "rq" + service + "Request", kServiceQos, id);
    ends_.reader =
        node.MakeReader(Descriptor<Response>(), "rr" + service + "Reply", kServiceQos, id);
    dds_instance_handle_t handle = 0;
    dds_get_instance_handle(ends_.writer, &handle);
    guid_ = handle;
    node.Dispatch(group, ends_.reader, [this] {
      Node::TakeAll<Response>(ends_.reader,
                              [this](const Response& response, const dds_sample_info_t& /*info*/) {
                                if (response.guid == guid_) Take(response);
                              });
    });
  }
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;

  [[nodiscard]] bool IsAvailable() const { return ends_.HasServer(); }

  // Sends the request and waits for the reply, for which it calls `on_reply`, from the thread of
  // the group, before it returns. False: no reply within the time. A client knows a server before
  // the server knows the client, and a request is lost meanwhile: until the first reply it is sent
  // again now and then.
  bool Call(Request request, const std::function<void(const Response&)>& on_reply,
            absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    const int64_t seq = ++last_seq_;
    waiting_[seq] = &on_reply;
    request.guid = guid_;
    request.seq = seq;
    const auto is_answered = [this, seq]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return waiting_.count(seq) == 0;
    };
    const absl::Time deadline = absl::Now() + timeout;
    bool answered = false;
    absl::Duration repeat = kFirstRepeat;
    do {
      dds_write(ends_.writer, &request);
      const absl::Time until = has_server_ ? deadline : std::min(deadline, absl::Now() + repeat);
      answered = mutex_.AwaitWithDeadline(absl::Condition(&is_answered), until);
      repeat *= 2;
    } while (!answered && absl::Now() < deadline);
    has_server_ = has_server_ || answered;
    waiting_.erase(seq);
    return answered;
  }

 private:
  // Longer than a server takes for its answer. Each wait is twice the one before: to a server that
  // takes longer, each repetition is another request, of which the node refuses more than 4.
  static constexpr absl::Duration kFirstRepeat = absl::Seconds(5);

  void Take(const Response& response) {
    const absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(response.seq);
    if (found == waiting_.end()) return;
    (*found->second)(response);
    waiting_.erase(found);
  }

  ServiceEndpoints ends_;
  uint64_t guid_ = 0;
  absl::Mutex mutex_;
  int64_t last_seq_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_server_ ABSL_GUARDED_BY(mutex_) = false;  // one that has answered
  std::map<int64_t, const std::function<void(const Response&)>*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_SERVICE_H_
