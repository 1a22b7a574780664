// SPDX-License-Identifier: Apache-2.0
//
// Calls of a server: the addresses that are tried, one request and one answer, messages in both
// directions, deadlines, and the map that a call names.
// Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_CALLS_H_
#define VOXLOC_CLIENTS_CPP_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/channel_impl.h"

namespace voxloc::client {

// `timeout_s` from now; 0 or less: none.
[[nodiscard]] inline std::chrono::system_clock::time_point DeadlineAfter(double timeout_s) {
  if (timeout_s <= 0.0) return std::chrono::system_clock::time_point::max();
  return std::chrono::system_clock::now() +
         std::chrono::microseconds(static_cast<int64_t>(timeout_s * 1e6));
}

// A deadline for one exchange within a longer call: cancels the call when it passes. gRPC's own
// deadline holds for a whole stream; a stream that lives for hours needs one for each exchange. The
// guard starts a thread, and its destructor ends it.
class CancelAfter {
 public:
  // 0 or less: never. `context` must outlive the guard.
  CancelAfter(grpc::ClientContext* context, double timeout_s) {
    if (timeout_s <= 0.0) return;
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(timeout_s));
    thread_ = std::thread([this, context, deadline] {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_until(lock, deadline, [this] { return done_; })) return;
      fired_ = true;
      context->TryCancel();
    });
  }
  ~CancelAfter() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  CancelAfter(const CancelAfter&) = delete;
  CancelAfter& operator=(const CancelAfter&) = delete;

  // Whether the time passed and the call was cancelled.
  [[nodiscard]] bool fired() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fired_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool fired_ = false;
  std::thread thread_;
};

// Calls `work(endpoint, &began)` for one address after another until one is not Unavailable. An
// error is final once `began` is set: output was delivered, and a retry would deliver it twice.
template <typename Work>
auto TryEach(const Channel& channel, const Work& work)
    -> decltype(work(std::declval<const Endpoint&>(), std::declval<bool*>())) {
  AddressRound round(channel);
  while (true) {
    bool began = false;
    auto result = work(round.endpoint(), &began);
    if (began || result.ok() || !absl::IsUnavailable(result.status())) return result;
    if (!round.Next(result.status())) return round.Refusal();
  }
}

// The map that a request names, itself or in its setup; empty: none.
template <typename Request>
auto MapOf(const Request& request, int /*preferred*/) -> decltype(request.map()) {
  return request.map();
}
template <typename Request>
auto MapOf(const Request& request, int /*preferred*/) -> decltype(request.setup().map()) {
  return request.setup().map();
}
template <typename Request>
absl::string_view MapOf(const Request& /*request*/, double /*otherwise*/) {
  return {};
}

// For a call with this request.
template <typename Request>
std::unique_ptr<grpc::ClientContext> ContextFor(const Channel& channel, const Request& request) {
  std::unique_ptr<grpc::ClientContext> context = channel.impl().NewContext();
  NameMap(MapOf(request, 0), context.get());
  return context;
}

template <typename Stub, typename Request, typename Response>
using UnaryMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// A call of one endpoint, which may run until `deadline`.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallEndpoint(const Channel& channel, const Endpoint& endpoint,
                                      absl::string_view call,
                                      UnaryMethod<Stub, Request, Response> method,
                                      const Request& request,
                                      std::chrono::system_clock::time_point deadline) {
  const std::unique_ptr<grpc::ClientContext> context = ContextFor(channel, request);
  context->set_deadline(deadline);
  Response response;
  const grpc::Status status = (Stub(endpoint.channel).*method)(context.get(), request, &response);
  if (!status.ok()) return channel.impl().StatusOf(endpoint, call, status);
  return response;
}

// A call that changes nothing: where an address is unavailable, the next one is called. `timeout_s`
// is for all of them together; 0 or less: none.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallWithFailover(const Channel& channel, absl::string_view call,
                                          UnaryMethod<Stub, Request, Response> method,
                                          const Request& request, double timeout_s) {
  const auto deadline = DeadlineAfter(timeout_s);
  return TryEach(channel, [&](const Endpoint& endpoint, bool* /*began*/) {
    return CallEndpoint(channel, endpoint, call, method, request, deadline);
  });
}

// A call that changes something: it is sent once, to the first address that can be reached.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallOnce(const Channel& channel, absl::string_view call,
                                  UnaryMethod<Stub, Request, Response> method,
                                  const Request& request, double timeout_s) {
  const auto deadline = DeadlineAfter(timeout_s);
  const Endpoint& endpoint = channel.impl().AwaitReachable(deadline);
  return CallEndpoint(channel, endpoint, call, method, request, deadline);
}

// The message that a response has, by its `mutable_` accessor.
template <typename Response, typename Message>
absl::StatusOr<Message> MessageIn(absl::StatusOr<Response> response,
                                  Message* (Response::*message)()) {
  if (!response.ok()) return response.status();
  return std::move(*((*response).*message)());
}

// A call of one endpoint with messages in both directions. Not thread-safe. The destructor cancels
// a call that has not ended. After an error every further exchange returns it.
template <typename Stub, typename Request, typename Response>
struct DuplexCall {
  // `first` names the map. `timeout_s` is for each exchange; 0: no limit. `awaited` is what the
  // stream may not end before.
  template <typename First>
  DuplexCall(const Channel& a_channel, const Endpoint& an_endpoint, absl::string_view a_call,
             const First& first, double a_timeout_s, absl::string_view an_awaited)
      : channel(a_channel),
        endpoint(an_endpoint),
        call(a_call),
        timeout_s(a_timeout_s),
        awaited(an_awaited),
        context(ContextFor(a_channel, first)) {}
  ~DuplexCall() {
    if (rpc == nullptr || finished) return;
    context->TryCancel();
    Finish();
  }
  DuplexCall(const DuplexCall&) = delete;
  DuplexCall& operator=(const DuplexCall&) = delete;

  using Rpc = std::unique_ptr<grpc::ClientReaderWriter<Request, Response>>;
  void Start(Rpc (Stub::*method)(grpc::ClientContext*)) {
    rpc = (Stub(endpoint.channel).*method)(context.get());
  }

  [[nodiscard]] absl::Status Write(const Request& request, const CancelAfter& deadline) {
    if (!error.ok()) return error;
    return rpc->Write(request) ? absl::OkStatus() : Fail(deadline);
  }
  [[nodiscard]] absl::Status Write(const Request& request) {
    return Write(request, CancelAfter(context.get(), timeout_s));
  }
  [[nodiscard]] absl::Status Read(Response* response, const CancelAfter& deadline) {
    return rpc->Read(response) ? absl::OkStatus() : Fail(deadline);
  }
  [[nodiscard]] absl::Status Read(Response* response) {
    return Read(response, CancelAfter(context.get(), timeout_s));
  }

  // How the call ended. Discards what the server sent before.
  grpc::Status Finish() {
    Response ignored;
    while (rpc->Read(&ignored)) {
    }
    finished = true;
    return rpc->Finish();
  }

  absl::Status Fail(const CancelAfter& deadline) {
    error = StatusOf(Finish());
    if (deadline.fired()) {
      error = absl::DeadlineExceededError(
          absl::StrCat(endpoint.address, " ", call, ": no answer in ", timeout_s, " s"));
    } else if (error.ok()) {
      error = absl::InternalError(
          absl::StrCat(endpoint.address, " ", call, ": the stream ended before ", awaited));
    }
    return error;
  }

  [[nodiscard]] absl::Status StatusOf(const grpc::Status& end) const {
    return channel.impl().StatusOf(endpoint, call, end);
  }

  // Cancels the call.
  absl::Status Refuse(absl::Status reason) {
    context->TryCancel();
    error = std::move(reason);
    return error;
  }
  absl::Status Unexpected(absl::string_view what) {
    return Refuse(absl::InternalError(absl::StrCat(endpoint.address, " ", call, ": ", what)));
  }

  const Channel channel;
  const Endpoint& endpoint;
  const absl::string_view call;
  const double timeout_s;
  const absl::string_view awaited;
  const std::unique_ptr<grpc::ClientContext> context;
  Rpc rpc;
  bool finished = false;  // Finish was called
  absl::Status error;     // what ended the call
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CALLS_H_
