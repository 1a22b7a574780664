// SPDX-License-Identifier: Apache-2.0
//
// Collector: a collector of traces for tests, an HTTP server on a free port that keeps what it is
// sent and answers as it was told. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_
#define VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_

#include <atomic>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class Collector {
 public:
  struct Request {
    std::string head;  // the request's line and its headers
    std::string body;
  };
  struct Answer {
    int code = 200;
    std::string body = "{}";
    bool hangs = false;  // takes the request and says nothing
  };

  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] std::string endpoint() const;
  // For the next requests, in turn; those after them are answered with 200.
  void AnswerWith(std::deque<Answer> answers);
  [[nodiscard]] std::vector<Request> requests() const;

 private:
  void Serve();
  void ServeOne(int connection);

  const int listening_;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable absl::Mutex mutex_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The spans of ExportTraceServiceRequests, after a look at each against the rules of OTLP/JSON.
// Expectations inside fail the test.
[[nodiscard]] std::vector<nlohmann::json> SpansOf(const std::vector<Collector::Request>& requests);

// The value of a span's attribute, as its JSON; null: it has none of that name.
[[nodiscard]] nlohmann::json AttributeOf(const nlohmann::json& span, const std::string& key);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_
