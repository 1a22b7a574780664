// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_watch.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/channel_impl.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {
namespace {

constexpr char kWatchCall[] = "WatchMap";

}  // namespace

struct MapWatch::Impl {
  Impl(const Channel& a_channel, const ReconnectOptions& reconnect)
      : channel(a_channel), round(a_channel), backoff(reconnect) {}

  // False: cancelled.
  bool Begin() {
    std::unique_ptr<grpc::ClientContext> next = ContextFor(channel, request);
    const std::lock_guard<std::mutex> lock(mutex);
    if (cancelled) return false;
    context = std::move(next);
    reader = v1::MapService::Stub(round.endpoint().channel).WatchMap(context.get(), request);
    return true;
  }

  // How the call ended.
  absl::Status End() {
    const grpc::Status end = reader->Finish();
    {
      const std::lock_guard<std::mutex> lock(mutex);
      reader = nullptr;
      if (cancelled) return Cancelled();
    }
    if (end.ok()) {
      channel.impl().FailOver(round.endpoint());
      return absl::UnavailableError(
          absl::StrCat(round.endpoint().address, " ", kWatchCall, ": the server ended the watch"));
    }
    return channel.impl().StatusOfStream(round.endpoint(), kWatchCall, end, /*cancelled=*/false);
  }

  // False: cancelled in the meantime.
  bool Wait(double wait_s) {
    std::unique_lock<std::mutex> lock(mutex);
    return !changed.wait_for(lock, std::chrono::duration<double>(wait_s),
                             [this] { return cancelled; });
  }

  [[nodiscard]] absl::Status Cancelled() const {
    return absl::CancelledError(
        absl::StrCat(round.endpoint().address, " ", kWatchCall, ": cancelled by the client"));
  }

  const Channel channel;
  v1::WatchMapRequest request;
  // These are of the thread of Next.
  AddressRound round;
  bool had_event = false;  // from the endpoint of the round
  Backoff backoff;

  std::mutex mutex;
  std::condition_variable changed;
  bool cancelled = false;
  // Of the call, where there is one. Replaced with the lock held, by the thread of Next only.
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientReader<v1::WatchMapResponse>> reader;
};

MapWatch::MapWatch(const Channel& channel, const std::string& map,
                   const ReconnectOptions& reconnect)
    : impl_(std::make_unique<Impl>(channel, reconnect)) {
  impl_->request.set_map(map);
}

MapWatch::~MapWatch() {
  Cancel();
  if (impl_->reader == nullptr) return;
  v1::WatchMapResponse ignored;
  while (impl_->reader->Read(&ignored)) {
  }
  impl_->reader->Finish();
}

absl::StatusOr<v1::WatchMapResponse> MapWatch::Next() {
  while (true) {
    if (impl_->reader == nullptr && !impl_->Begin()) return impl_->Cancelled();
    v1::WatchMapResponse event;
    if (impl_->reader->Read(&event)) {
      impl_->backoff.Reset();
      impl_->had_event = true;
      return event;
    }
    const absl::Status end = impl_->End();
    if (end.code() != absl::StatusCode::kUnavailable) return end;
    const bool lost = std::exchange(impl_->had_event, false);
    if (!lost && impl_->round.Next(end)) continue;
    const absl::Status refusal = lost ? end : impl_->round.Refusal();
    if (!impl_->backoff.CanRetry()) return refusal;
    // Another address is tried at once.
    const double wait_s = impl_->backoff.NextWait(impl_->round.RetryAfter_s());
    impl_->round = AddressRound(impl_->channel);
    const bool elsewhere = lost && impl_->channel.impl().endpoints.size() > 1;
    if (!elsewhere && !impl_->Wait(wait_s)) return impl_->Cancelled();
  }
}

void MapWatch::Cancel() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->cancelled = true;
  impl_->changed.notify_all();
  if (impl_->reader != nullptr) impl_->context->TryCancel();
}

}  // namespace voxloc::client
