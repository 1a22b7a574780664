// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/tile_updates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Tiles that one call asks for, of the 10,000 that it may: few enough that a call is soon over.
constexpr int kUpdatedTilesACall = 1000;

// The cloud except for this point.
PointCloud WithoutPoint(const PointCloud& cloud, size_t point) {
  PointCloud rest = cloud;
  for (std::vector<float>* values : {&rest.x, &rest.y, &rest.z, &rest.intensity}) {
    if (!values->empty()) values->erase(values->begin() + static_cast<ptrdiff_t>(point));
  }
  return rest;
}

}  // namespace

bool TileUpdateCounts::reached() const {
  return committed > 0 && committed + std::max<uint64_t>(1, due / 100) >= due;
}

TileUpdates::TileUpdates(const LoadPlan& plan, client::Channel channel)
    : plan_(plan), channel_(std::move(channel)), points_(std::random_device()()) {
  counts_.due = plan.timing.updates_due();
}

TileUpdates::~TileUpdates() { End(); }

void TileUpdates::End() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  end_requested_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::unique_ptr<TileUpdates>> TileUpdates::Read(const LoadPlan& plan) {
  VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, client::Channel::Create(plan.channel));
  std::unique_ptr<TileUpdates> updates(new TileUpdates(plan, std::move(channel)));
  for (const std::string& map : std::set<std::string>(plan.maps.begin(), plan.maps.end())) {
    v1::ListTilesRequest request;
    request.set_map(map);
    VOXLOC_ASSIGN_OR_RETURN(
        const v1::ListTilesResponse list,
        client::MapClient(updates->channel_).ListTiles(request, plan.timeout_s));
    for (const v1::TileInfo& info : list.tiles()) {
      if (info.points() < 2) continue;
      VOXLOC_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256FromBytes(info.sha256()));
      updates->tiles_.push_back({map, info.tile_id(), PointCloud(), digest});
    }
  }
  std::vector<Tile>& tiles = updates->tiles_;
  if (tiles.empty()) {
    return absl::FailedPreconditionError(
        "--tile-updates needs a map with a tile of at least 2 points");
  }
  std::shuffle(tiles.begin(), tiles.end(), std::mt19937_64(plan.faults.seed));
  if (tiles.size() > updates->counts_.due) {
    tiles.resize(std::max<uint64_t>(1, updates->counts_.due));
  }
  VOXLOC_TRY(updates->ReadPoints());
  return updates;
}

absl::Status TileUpdates::ReadPoints() {
  std::map<std::string, std::map<std::string, Tile*>> tiles_to_read;  // by map and id
  for (Tile& tile : tiles_) tiles_to_read[tile.map][tile.id] = &tile;
  uint64_t bytes = 0;
  for (auto& [map, missing] : tiles_to_read) {
    while (!missing.empty()) {
      v1::GetTilesRequest request;
      request.set_map(map);
      for (const auto& [id, tile] : missing) {
        request.add_tile_ids(id);
        if (request.tile_ids_size() == kUpdatedTilesACall) break;
      }
      const auto receive = [&, &missing = missing](const v1::TileInfo& info, PointCloud cloud) {
        const auto found = missing.find(info.tile_id());
        if (found == missing.end() || info.sha256() != ToBytes(found->second->digest)) {
          return absl::AbortedError(
              absl::StrCat("tile ", info.tile_id(), " changed while it was read"));
        }
        bytes += cloud.size() * 3 * sizeof(float);
        if (bytes > kMaxDriveBytes) {
          return absl::ResourceExhaustedError(absl::StrCat(
              "the tiles to be replaced have over ", kMaxDriveBytes,
              " bytes of points; choose a shorter --seconds or a lower --tile-updates"));
        }
        found->second->cloud_map = std::move(cloud);
        missing.erase(found);
        return absl::OkStatus();
      };
      VOXLOC_TRY(client::MapClient(channel_).GetTiles(request, receive, plan_.timeout_s).status());
    }
  }
  return absl::OkStatus();
}

void TileUpdates::Start(int64_t start_ns) {
  thread_ = std::thread([this, start_ns] { Run(RunClock(start_ns)); });
}

void TileUpdates::Run(const RunClock& clock) {
  for (uint64_t i = 0; i < counts_.due; ++i) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto due = clock.TimePoint(plan_.timing.UpdateDue_ns(i));
    if (end_requested_.wait_until(lock, due, [this] { return ending_; })) return;
    lock.unlock();
    if (clock.Now_ns() >= plan_.timing.end_ns()) return;
    const absl::Status status = Replace(tiles_[i % tiles_.size()], clock);
    if (status.ok()) continue;
    ++counts_.failed;
    AddProblem(absl::StrCat("a tile was not replaced: ", status.message()), 1, &counts_.problems);
  }
}

absl::Status TileUpdates::Replace(Tile& tile, const RunClock& clock) {
  const size_t left_out =
      std::uniform_int_distribution<size_t>(0, tile.cloud_map.size() - 1)(points_);
  const PointCloud cloud_map = WithoutPoint(tile.cloud_map, left_out);
  client::TransactionOptions options;
  options.timeout_s = plan_.timeout_s;
  options.begin.set_map(tile.map);
  const int64_t begin_ns = clock.Now_ns();
  VOXLOC_ASSIGN_OR_RETURN(auto transaction, client::MapTransaction::Begin(channel_, options));
  tile.replaced = true;  // or perhaps not; it is put back in any case
  VOXLOC_TRY(transaction->AddTile(tile.id, cloud_map));
  VOXLOC_TRY(transaction->Flush());
  const int64_t commit_ns = clock.Now_ns();
  v1::CommitUpdate commit;
  commit.set_comment("voxloc load-test");
  VOXLOC_ASSIGN_OR_RETURN(const auto committed, transaction->Commit(commit));
  const int64_t end_ns = clock.Now_ns();
  if (end_ns < plan_.timing.end_ns()) ++counts_.committed;
  counts_.update.Add(end_ns - begin_ns);
  counts_.commit.Add(end_ns - commit_ns);
  return absl::OkStatus();
}

absl::StatusOr<TileUpdateCounts> TileUpdates::Finish() {
  End();
  for (const std::string& map : std::set<std::string>(plan_.maps.begin(), plan_.maps.end())) {
    if (absl::Status status = Restore(map); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("the tiles of map ", map,
                                       " that were replaced are not back: ", status.message()));
    }
  }
  return counts_;
}

absl::Status TileUpdates::Restore(const std::string& map) {
  const auto changed = [&map](const Tile& tile) { return tile.map == map && tile.replaced; };
  if (std::none_of(tiles_.begin(), tiles_.end(), changed)) return absl::OkStatus();
  client::TransactionOptions options;
  options.timeout_s = plan_.timeout_s;
  options.begin.set_map(map);
  VOXLOC_ASSIGN_OR_RETURN(auto transaction, client::MapTransaction::Begin(channel_, options));
  for (const Tile& tile : tiles_) {
    if (!changed(tile)) continue;
    VOXLOC_TRY(transaction->OfferTile(tile.id, tile.cloud_map, tile.digest));
  }
  v1::CommitUpdate commit;
  commit.set_comment("voxloc load-test: as before");
  return transaction->Commit(commit).status();
}

}  // namespace voxloc::cli
