// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/flood.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "tests/chaos/town_load.h"

namespace voxloc::chaos {
namespace {

using Clock = std::chrono::steady_clock;

// max_waiting_scans that a stream requests; the server grants fewer.
constexpr uint32_t kWaitingScans = 64;
// Of a unary call: ten periods of a scanner.
constexpr auto kCallDeadline = std::chrono::seconds(1);
// Unary calls that are open at once, as many as a large fleet has vehicles.
constexpr size_t kMaxOpenCalls = 4000;
constexpr size_t kConnections = 4;

std::unique_ptr<v1::LocalizationService::Stub> NewStub(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::LocalizationService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

void Count(const v1::AlignmentResult& result, FloodCounts& counts) {
  if (result.accepted()) {
    ++counts.aligned;
  } else if (result.status() == v1::ALIGNMENT_STATUS_SUPERSEDED) {
    ++counts.superseded;
  } else if (result.status() == v1::ALIGNMENT_STATUS_OVERLOADED) {
    ++counts.refused;
  } else {
    ++counts.other;
  }
}

// Calls `send` on schedule until it returns false or `sending` ends; the number of times due.
template <typename Send>
uint64_t CallOnSchedule(double rate_hz, const std::atomic<bool>& sending, const Send& send) {
  const auto begin = Clock::now();
  const auto due_at = [&](uint64_t i) {
    return begin + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(i) / rate_hz));
  };
  for (uint64_t i = 0; sending; ++i) {
    std::this_thread::sleep_until(due_at(i));
    if (!sending || !send(i)) break;
  }
  return static_cast<uint64_t>(rate_hz *
                               std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace

void FloodCounts::Add(const FloodCounts& more) {
  due += more.due;
  sent += more.sent;
  aligned += more.aligned;
  superseded += more.superseded;
  refused += more.refused;
  deadline += more.deadline;
  other += more.other;
  duplicated += more.duplicated;
}

cli::Json FloodCounts::ToJson() const {
  return {{"due", due},         {"sent", sent},
          {"aligned", aligned}, {"superseded", superseded},
          {"refused", refused}, {"deadline", deadline},
          {"other", other},     {"duplicated", duplicated}};
}

struct StreamFlood::Stream {
  std::unique_ptr<v1::LocalizationService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>> call;
  std::thread writer;
  std::thread reader;
  FloodCounts written;
  FloodCounts read;
  std::vector<bool> seen;  // by sequence
};

StreamFlood::StreamFlood(const std::string& address, const cli::LoadDrive& drive, size_t streams,
                         double rate_hz)
    : drive_(drive) {
  for (size_t s = 0; s < streams; ++s) {
    auto stream = std::make_unique<Stream>();
    Stream& self = *stream;
    streams_.push_back(std::move(stream));
    self.stub = NewStub(address);
    self.call = self.stub->AlignScans(&self.context);
    self.writer = std::thread([this, &self, s, rate_hz, streams] {
      v1::AlignScansRequest open;
      open.mutable_open()->mutable_setup()->set_map(kTown);
      open.mutable_open()->mutable_setup()->set_vehicle(absl::StrCat("flood ", s));
      open.mutable_open()->mutable_limits()->set_max_waiting_scans(kWaitingScans);
      std::vector<v1::AlignScansRequest> requests(drive_.scans.size());
      for (size_t i = 0; i < requests.size(); ++i) *requests[i].mutable_scan() = ScanOf(drive_, i);
      if (!self.call->Write(open)) return;
      self.written.due =
          CallOnSchedule(rate_hz / static_cast<double>(streams), sending_, [&](uint64_t i) {
            v1::AlignScansRequest& request = requests[(i + s) % requests.size()];
            request.mutable_scan()->set_sequence(i + 1);
            if (!self.call->Write(request)) return false;
            ++self.written.sent;
            return true;
          });
      self.call->WritesDone();
    });
    self.reader = std::thread([&self] {
      v1::AlignScansResponse response;
      while (self.call->Read(&response)) {
        if (!response.has_result()) continue;
        const uint64_t sequence = response.result().sequence();
        if (self.seen.size() <= sequence) self.seen.resize(2 * sequence + 1);
        if (self.seen[sequence]) {
          ++self.read.duplicated;
          continue;
        }
        self.seen[sequence] = true;
        Count(response.result(), self.read);
      }
    });
  }
}

StreamFlood::~StreamFlood() { static_cast<void>(Finish()); }

FloodCounts StreamFlood::Finish() {
  sending_ = false;
  FloodCounts counts;
  for (const std::unique_ptr<Stream>& stream : streams_) {
    if (stream->writer.joinable()) {
      stream->writer.join();
      stream->reader.join();
      static_cast<void>(stream->call->Finish());
    }
    counts.Add(stream->written);
    counts.Add(stream->read);
  }
  return counts;
}

struct UnaryFlood::Call {
  grpc::ClientContext context;
  v1::AlignScanResponse response;
};

UnaryFlood::UnaryFlood(const std::string& address, const cli::LoadDrive& drive, double rate_hz) {
  for (size_t i = 0; i < drive.scans.size(); ++i) {
    v1::AlignScanRequest request;
    request.mutable_setup()->set_map(kTown);
    *request.mutable_scan() = ScanOf(drive, i);
    requests_.push_back(std::move(request));
  }
  for (size_t i = 0; i < kConnections; ++i) stubs_.push_back(NewStub(address));
  thread_ = std::thread([this, rate_hz] { Send(rate_hz); });
}

UnaryFlood::~UnaryFlood() { Stop(); }

void UnaryFlood::Send(double rate_hz) {
  const uint64_t due = CallOnSchedule(rate_hz, sending_, [this](uint64_t i) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (open_ == kMaxOpenCalls) return true;  // due, and not sent
      ++open_;
      ++counts_.sent;
    }
    Start(requests_[i % requests_.size()], *stubs_[i % stubs_.size()]);
    return true;
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.due = due;
}

void UnaryFlood::Start(const v1::AlignScanRequest& request, v1::LocalizationService::Stub& stub) {
  auto call = std::make_shared<Call>();
  call->context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  Call& self = *call;
  stub.async()->AlignScan(&self.context, &request, &self.response,
                          [this, call = std::move(call)](const grpc::Status& status) mutable {
                            const v1::AlignmentResult result = call->response.result();
                            // A call holds its channel, and the last channel joins gRPC's threads,
                            // of which this is one. So it ends before Stop sees that none is open.
                            call.reset();
                            OnCallDone(result, status);
                          });
}

void UnaryFlood::OnCallDone(const v1::AlignmentResult& result, const grpc::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      Count(result, counts_);
      break;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE:
      ++counts_.refused;
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      ++counts_.deadline;
      break;
    default:
      ++counts_.other;
  }
  --open_;
  changed_.notify_all();
}

void UnaryFlood::Stop() {
  sending_ = false;
  if (thread_.joinable()) thread_.join();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return open_ == 0; });  // each has a deadline
}

FloodCounts UnaryFlood::Finish() {
  Stop();
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace voxloc::chaos
