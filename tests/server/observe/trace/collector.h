// SPDX-License-Identifier: Apache-2.0
//
// Collector: a collector of traces for tests, a gRPC server on a free port that keeps what it is
// sent and answers as it was told. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_
#define VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"

namespace voxloc::server {

class Collector {
 public:
  using Request = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
  struct Answer {
    grpc::StatusCode code = grpc::StatusCode::OK;
    int64_t rejected_spans = 0;
    bool hangs = false;  // takes the request and says nothing
  };

  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] std::string endpoint() const;
  // For the next requests, in turn; those after them are answered with OK.
  void AnswerWith(std::deque<Answer> answers);
  [[nodiscard]] std::vector<Request> requests() const;

 private:
  class Service;

  const std::unique_ptr<Service> service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The spans of requests as JSON, after a look at each against the rules of OTLP. Expectations
// inside fail the test. The JSON is that of OTLP: ids are hexadecimal, 64-bit integers are strings,
// enumerations are numbers, names are in lowerCamelCase.
[[nodiscard]] std::vector<nlohmann::json> SpansOf(const std::vector<Collector::Request>& requests);

// The value of a span's attribute, as its JSON; null: it has none of that name.
[[nodiscard]] nlohmann::json AttributeOf(const nlohmann::json& span, const std::string& key);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_OBSERVE_TRACE_COLLECTOR_H_
