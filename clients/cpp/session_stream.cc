// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/calls.h"

namespace voxloc::client {
namespace {

constexpr absl::string_view kCall = "AlignScans";

// Poses of 20 s at 50 Hz: older ones are of no use to a server that has not had them.
constexpr size_t kMaxOthers = 1000;

}  // namespace

SessionStream::SessionStream(const Channel& channel, const Endpoint& endpoint)
    : channel_(channel), endpoint_(endpoint), context_(channel.impl().NewContext()) {}

SessionStream::~SessionStream() {
  if (rpc_ != nullptr && !finished_) {
    context_->TryCancel();
    (void)Finish();
  }
  events_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (events_.Next(&tag, &ok)) {
  }
}

absl::Status SessionStream::Open(const v1::OpenSession& open, double timeout_s,
                                 v1::SessionOpened* opened) {
  const Deadline deadline = DeadlineAfter(timeout_s);
  NameMap(open.setup().map(), context_.get());
  rpc_ = v1::LocalizationService::Stub(endpoint_.channel)
             .AsyncAlignScans(context_.get(), &events_, Tag(Event::kStarted));
  v1::AlignScansResponse response;
  bool answered = Await(Event::kStarted, deadline);
  if (answered) {
    v1::AlignScansRequest request;
    *request.mutable_open() = open;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Write(request);
    }
    answered = ReadBefore(deadline, &response);
  }
  if (answered && response.has_opened()) {
    *opened = std::move(*response.mutable_opened());
    return absl::OkStatus();
  }
  if (answered) context_->TryCancel();
  absl::Status end = Finish();
  const auto message = [this](const auto&... what) {
    return absl::StrCat(endpoint_.address, " ", kCall, ": ", what...);
  };
  if (answered) return absl::InternalError(message("`open` was not answered by `opened`"));
  if (timed_out_) {
    return absl::DeadlineExceededError(message("no answer to `open` in ", timeout_s, " s"));
  }
  if (end.ok()) return absl::InternalError(message("the stream ended before it was open"));
  return end;
}

bool SessionStream::Read(v1::AlignScansResponse* response) {
  return ReadBefore(Deadline::max(), response);
}

absl::Status SessionStream::Finish() {
  v1::AlignScansResponse ignored;
  while (Read(&ignored)) {
  }
  const auto is_writing = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    return writing_;
  };
  while (is_writing()) Await(Event::kWritten);
  grpc::Status status;
  rpc_->Finish(&status, Tag(Event::kFinished));
  Await(Event::kFinished);
  finished_ = true;
  return channel_.impl().StatusOfStream(endpoint_, kCall, status, cancelled_);
}

void SessionStream::LimitWaitingScans(size_t scans) {
  const std::lock_guard<std::mutex> lock(mutex_);
  max_waiting_scans_ = std::max<size_t>(scans, 1);
}

std::optional<uint64_t> SessionStream::PutScan(SharedRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return std::nullopt;
  std::optional<uint64_t> dropped;
  if (waiting_scans_ >= max_waiting_scans_) dropped = DropOldest(/*scan=*/true);
  waiting_.push_back(std::move(request));
  ++waiting_scans_;
  WriteNext();
  return dropped;
}

void SessionStream::Put(SharedRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  if (waiting_.size() - waiting_scans_ >= kMaxOthers) DropOldest(/*scan=*/false);
  waiting_.push_back(std::move(request));
  WriteNext();
}

void SessionStream::FinishWrites() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finish_ = true;
  WriteNext();
}

void SessionStream::Cancel() {
  cancelled_ = true;
  context_->TryCancel();
}

void* SessionStream::Tag(Event event) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(event));
}

bool SessionStream::Await(Event awaited, Deadline deadline) {
  void* tag = nullptr;
  bool ok = false;
  while (true) {
    if (events_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::TIMEOUT) {
      timed_out_ = true;
      context_->TryCancel();
      deadline = Deadline::max();
      continue;
    }
    if (tag == Tag(Event::kWritten)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      writing_ = false;
      // After a failed write Read gets the end of the stream, and Finish its status.
      if (!ok) closed_ = true;
      WriteNext();
    }
    if (tag == Tag(awaited)) return ok;
  }
}

bool SessionStream::ReadBefore(Deadline deadline, v1::AlignScansResponse* response) {
  rpc_->Read(response, Tag(Event::kRead));
  return Await(Event::kRead, deadline);
}

void SessionStream::WriteNext() {
  if (writing_ || closed_) return;
  if (!waiting_.empty()) {
    const SharedRequest next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next->has_scan()) --waiting_scans_;
    Write(*next);
  } else if (finish_) {
    writing_ = true;
    closed_ = true;
    rpc_->WritesDone(Tag(Event::kWritten));
  }
}

void SessionStream::Write(const v1::AlignScansRequest& request) {
  writing_ = true;
  rpc_->Write(request, Tag(Event::kWritten));
}

std::optional<uint64_t> SessionStream::DropOldest(bool scan) {
  const auto oldest =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [scan](const SharedRequest& request) { return request->has_scan() == scan; });
  if (oldest == waiting_.end()) return std::nullopt;
  const uint64_t sequence = (*oldest)->scan().sequence();
  waiting_.erase(oldest);
  if (!scan) return std::nullopt;
  --waiting_scans_;
  return sequence;
}

}  // namespace voxloc::client
