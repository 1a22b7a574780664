// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/not_reading_streams.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "tests/chaos/town_load.h"

namespace voxloc::chaos {
namespace {

// On one connection. gRPC's clients have one for all calls to a server.
constexpr size_t kStreamsOfConnection = 50;

}  // namespace

class NotReadingStreams::Stream
    : public grpc::ClientBidiReactor<v1::AlignScansRequest, v1::AlignScansResponse> {
 public:
  Stream(NotReadingStreams& owner, size_t number) : owner_(owner), next_(number) {
    open_.mutable_open()->mutable_setup()->set_map(kTown);
    open_.mutable_open()->mutable_setup()->set_vehicle(absl::StrCat("does not read ", number));
  }

  void Start(v1::LocalizationService::Stub& stub) {
    stub.async()->AlignScans(&context_, this);
    AddHold();  // writes come from outside
    StartWrite(&open_);
    StartCall();
  }

  void SendNext() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (writing_ || ended_) return;
      writing_ = true;
    }
    StartWrite(&owner_.scans_[next_++ % owner_.scans_.size()]);
  }

  void End() {
    context_.TryCancel();
    RemoveHold();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = false;
    if (ok) {
      ++owner_.sent_;
    } else if (!ended_) {
      ended_ = true;
      ++owner_.ended_;
    }
  }

  void OnDone(const grpc::Status& /*status*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

 private:
  NotReadingStreams& owner_;
  size_t next_;
  grpc::ClientContext context_;
  v1::AlignScansRequest open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool writing_ = true;  // `open`
  bool ended_ = false;
  bool done_ = false;
};

NotReadingStreams::NotReadingStreams(const std::string& address, const cli::LoadDrive& drive,
                                     size_t streams, double rate_hz) {
  for (size_t i = 0; i < drive.scans.size(); ++i) {
    v1::AlignScansRequest request;
    request.mutable_scan()->set_sequence(i + 1);
    *request.mutable_scan()->add_clouds()->mutable_cloud() = drive.scans[i];
    client::EncodePose(drive.guesses_map_T_base[i],
                       request.mutable_scan()->mutable_guess_map_t_base()->mutable_pose());
    scans_.push_back(std::move(request));
  }
  for (size_t s = 0; s < streams; ++s) {
    if (s % kStreamsOfConnection == 0) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(v1::LocalizationService::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
    }
    streams_.push_back(std::make_unique<Stream>(*this, s));
    streams_.back()->Start(*stubs_.back());
  }
  thread_ = std::thread([this, rate_hz] { Run(rate_hz); });
}

NotReadingStreams::~NotReadingStreams() {
  running_ = false;
  thread_.join();
  for (const std::unique_ptr<Stream>& stream : streams_) stream->End();
}

void NotReadingStreams::Run(double rate_hz) {
  // One stream after the other, so that their scans are spread over the period.
  const std::chrono::duration<double> pause(
      1.0 / (rate_hz * static_cast<double>(std::max<size_t>(1, streams_.size()))));
  auto next = std::chrono::steady_clock::now();
  for (size_t i = 0; running_ && !streams_.empty(); ++i) {
    streams_[i % streams_.size()]->SendNext();
    next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
    std::this_thread::sleep_until(next);
  }
}

}  // namespace voxloc::chaos
