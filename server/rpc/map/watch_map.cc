// SPDX-License-Identifier: Apache-2.0

#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/map/map_name.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/convert/range.h"
#include "server/rpc/services.h"
#include "server/rpc/support/write_stream.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxChangedTiles = 1000;

// In the order of the contract.
constexpr MapEventKind kEventKinds[] = {MapEventKind::kPresent, MapEventKind::kCreated,
                                        MapEventKind::kUpdated, MapEventKind::kDeleted,
                                        MapEventKind::kStaged,  MapEventKind::kWithdrawn};
static_assert(std::size(kEventKinds) == v1::MapEventKind_MAX);

// Keeps, of each map and of each staged revision, what the client has not received: the last that
// happened, with all tiles that changed.
class WatchMapStream : public WriteStream<v1::WatchMapRequest, v1::WatchMapResponse> {
 public:
  using WriteStream::WriteStream;

  // The stream has no end of its own. The client watches another server, which lists its maps
  // first.
  void OnDrainStarted(const absl::Status& why) override { End(why); }

 private:
  // A map by its name and 0, or one of its staged revisions.
  using Key = std::pair<std::string, uint64_t>;
  struct Pending {
    MapEvent last;
    std::set<std::string> changed_tiles;
    bool tiles_omitted = false;
  };

  absl::Status Begin(const v1::WatchMapRequest& request) override {
    wanted_ = request.map();
    if (!wanted_.empty()) {
      VOXLOC_TRY(ValidateMapName(wanted_));
    }
    VOXLOC_TRY(runtime_.sessions.Admit());
    pass_ = runtime_.watchers.Enter();
    if (pass_ == nullptr) {
      return LimitReached(runtime_.watchers.limit(), "watchers", "TOO_MANY_WATCHERS");
    }
    watching_ = runtime_.map_events.Watch([this](const MapEvent& event) { Take(event); },
                                          [this] { TakePresent(); });
    return absl::OkStatus();
  }

  void OnCaughtUp() override {
    const absl::MutexLock lock(&mutex_);
    sending_ = false;
    SendNext();
  }

  void OnEnded() override {
    watching_.reset();
    pass_.reset();
  }

  void TakePresent() {
    for (MapView& view : runtime_.maps.List()) {
      MapEvent event;
      event.map = view.snapshot->name;
      event.revision = view.snapshot->revision;
      event.view = std::move(view);
      Take(event);
    }
  }

  void Take(const MapEvent& event) {
    if (!wanted_.empty() && event.map != wanted_) return;
    const absl::MutexLock lock(&mutex_);
    const bool is_of_staged =
        event.kind == MapEventKind::kStaged || event.kind == MapEventKind::kWithdrawn;
    Pending& pending = pending_[{event.map, is_of_staged ? event.revision : 0}];
    const MapEventKind before = pending.last.kind;
    const bool created = before == MapEventKind::kCreated && !pending.last.map.empty();
    pending.last = event;
    // The client has not received the creation yet.
    if (created && event.kind == MapEventKind::kUpdated) {
      pending.last.kind = MapEventKind::kCreated;
    }
    pending.last.changed_tiles.clear();
    if (event.view.snapshot == nullptr) {
      pending.changed_tiles.clear();
      pending.tiles_omitted = false;
    }
    pending.changed_tiles.insert(event.changed_tiles.begin(), event.changed_tiles.end());
    if (pending.changed_tiles.size() > kMaxChangedTiles) {
      pending.changed_tiles.clear();
      pending.tiles_omitted = true;
    }
    SendNext();
  }

  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (absl::Status status = access().Check(); !status.ok()) {
      pending_.clear();
      End(status);
      return;
    }
    // A map that the caller may not see now is not mentioned, whenever its event came.
    while (!sending_ && !pending_.empty() && !access().MaySee(pending_.begin()->first.first)) {
      pending_.erase(pending_.begin());
    }
    if (sending_ || pending_.empty()) return;
    const Pending pending = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    auto response = std::make_unique<v1::WatchMapResponse>();
    response->set_kind(EnumToProto<v1::MapEventKind>(kEventKinds, pending.last.kind));
    if (pending.last.view.snapshot != nullptr) {
      MapInfoToProto(pending.last.view, *response->mutable_map());
    } else {
      response->mutable_map()->set_name(pending.last.map);
      response->mutable_map()->set_revision(pending.last.revision);
    }
    response->set_tiles_omitted(pending.tiles_omitted);
    if (!pending.tiles_omitted) {
      for (const std::string& id : pending.changed_tiles) response->add_changed_tiles(id);
    }
    sending_ = true;
    Send(std::move(response));
  }

  std::string wanted_;  // empty: all maps
  Admission::Pass pass_;
  std::shared_ptr<void> watching_;  // set before the first event
  absl::Mutex mutex_;
  std::map<Key, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

MethodHandler* MakeWatchMapHandler(Runtime& runtime, RpcMethod method) {
  return MakeWriteStreamHandler<WatchMapStream>(runtime, method);
}

}  // namespace voxloc::server
