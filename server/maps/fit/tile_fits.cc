// SPDX-License-Identifier: Apache-2.0

#include "server/maps/fit/tile_fits.h"

#include <Eigen/Geometry>
#include <algorithm>

#include "absl/time/clock.h"
#include "core/estimate/map_fit/scan_fit.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// One in this many records is evicted at a time, which amortizes the search for the oldest.
constexpr size_t kFitEvictionDivisor = 10;

}  // namespace

absl::Status TileFits::Load(MapStore& store) {
  VOXLOC_ASSIGN_OR_RETURN(const auto maps, store.ListMaps());
  for (const StoredMap& map : maps) {
    VOXLOC_ASSIGN_OR_RETURN(auto fits, store.ListTileFits(map.name));
    const absl::MutexLock lock(&mutex_);
    Contents& contents = maps_[map.name];
    for (StoredTileFit& stored : fits) {
      Entry& kept = contents[{std::move(stored.tile_id), stored.digest}];
      kept.record = {stored.fit, stored.last_used_unix_ns};
      ++count_;
    }
    EvictOldest();
    tiles_.Set(static_cast<double>(count_));
  }
  return absl::OkStatus();
}

void TileFits::Add(absl::string_view map, absl::Span<const TileObservation> tiles,
                   int64_t unix_ns) {
  if (tiles.empty()) return;
  const absl::MutexLock lock(&mutex_);
  Contents& contents = maps_[map];
  for (const TileObservation& seen : tiles) {
    const auto [it, added] = contents.try_emplace({seen.tile_id, seen.digest});
    if (added) ++count_;
    Entry& kept = it->second;
    TileFitRecord& record = kept.record;
    if (!added) {
      const double since_s = 1e-9 * static_cast<double>(unix_ns - record.last_used_unix_ns);
      record.fit.Scale(DecayPerScan() * DecayAfter(since_s));
    }
    record.fit.Add(seen.fit);
    // A clock that was set back makes nothing older.
    record.last_used_unix_ns = std::max(record.last_used_unix_ns, unix_ns);
    kept.changed = true;
  }
  EvictOldest();
  tiles_.Set(static_cast<double>(count_));
}

void TileFits::EvictOldest() {
  if (count_ <= max_tiles_) return;
  std::vector<int64_t> times;
  times.reserve(count_);
  for (const auto& [map, contents] : maps_) {
    for (const auto& [content, kept] : contents) times.push_back(kept.record.last_used_unix_ns);
  }
  // Contents of one scan have equal times: of the newest evicted time, any of them may go.
  size_t surplus = std::max(count_ - max_tiles_, count_ / kFitEvictionDivisor);
  const auto last = times.begin() + static_cast<ptrdiff_t>(surplus - 1);
  std::nth_element(times.begin(), last, times.end());
  const int64_t newest_evicted = *last;
  for (auto& [map, contents] : maps_) {
    absl::erase_if(contents, [&](const auto& entry) {
      if (surplus == 0 || entry.second.record.last_used_unix_ns > newest_evicted) return false;
      --surplus;
      --count_;
      return true;
    });
  }
}

std::optional<TileFitRecord> TileFits::Find(absl::string_view map, absl::string_view tile_id,
                                            const Sha256Digest& digest) const {
  const absl::MutexLock lock(&mutex_);
  const auto contents = maps_.find(map);
  if (contents == maps_.end()) return std::nullopt;
  const auto it = contents->second.find(Content(tile_id, digest));
  if (it == contents->second.end()) return std::nullopt;
  return it->second.record;
}

std::vector<TileFits::Content> TileFits::ChangedTiles(absl::string_view map,
                                                      double min_change) const {
  std::vector<Content> changed;
  const absl::MutexLock lock(&mutex_);
  const auto contents = maps_.find(map);
  if (contents == maps_.end()) return changed;
  for (const auto& [content, kept] : contents->second) {
    if (kept.record.fit.change() >= min_change) changed.push_back(content);
  }
  return changed;
}

void TileFits::RemoveMap(absl::string_view map) {
  const absl::MutexLock lock(&mutex_);
  const auto contents = maps_.find(map);
  if (contents == maps_.end()) return;
  count_ -= contents->second.size();
  maps_.erase(contents);
  tiles_.Set(static_cast<double>(count_));
}

absl::Status TileFits::Save(MapStore& store) {
  std::vector<StoredTileFit> changed;
  {
    const absl::MutexLock lock(&mutex_);
    for (auto& [map, contents] : maps_) {
      for (auto& [content, kept] : contents) {
        if (!std::exchange(kept.changed, false)) continue;
        changed.push_back(
            {map, content.first, content.second, kept.record.last_used_unix_ns, kept.record.fit});
      }
    }
  }
  if (changed.empty()) return absl::OkStatus();
  absl::Status status = store.SaveTileFits(changed);
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  for (StoredTileFit& stored : changed) {
    const auto contents = maps_.find(stored.map);
    if (contents == maps_.end()) continue;
    const auto it = contents->second.find(Content(std::move(stored.tile_id), stored.digest));
    if (it != contents->second.end()) it->second.changed = true;
  }
  return status;
}

namespace {

// Limit of the unused budget, so that no burst follows a pause.
constexpr double kMaxCreditS = 0.1;
// After this time a round ends even if some sessions had no turn: they may have ended.
constexpr std::chrono::seconds kMaxWait{10};
constexpr size_t kMaxSessions = 10'000;  // of a round
// Weight of the last comparison in the exponential average of the expected cost.
constexpr double kSmoothing = 0.2;

}  // namespace

void FitTurns::Earn(double tracking_s) {
  credit_s_ = std::min(kMaxCreditS, credit_s_ + share_ * tracking_s);
}

bool FitTurns::Begin(absl::string_view session, double tracking_s, Clock::time_point now) {
  Earn(tracking_s);
  if (round_.size() >= kMaxSessions) BeginRound();
  const bool served = round_[session];
  if (!(credit_s_ > 0.0)) return false;
  if (served) {
    if (served_sessions_ < round_.size() && now - last_turn_ < kMaxWait) return false;
    BeginRound();
  }
  round_[session] = true;
  ++served_sessions_;
  last_turn_ = now;
  credit_s_ -= expected_s_;
  return true;
}

void FitTurns::BeginRound() {
  round_.clear();
  served_sessions_ = 0;
}

void FitTurns::End(double spent_s) {
  credit_s_ += expected_s_ - spent_s;
  if (spent_s > 0.0) expected_s_ += kSmoothing * (spent_s - expected_s_);
}

namespace {

using Clock = std::chrono::steady_clock;

// One that waits while another one is compared.
constexpr size_t kWaitingScans = 1;
// Maps whose tiles are indexed at a time; that of a map of 40,000 tiles takes 4 MB.
constexpr size_t kMaxIndexes = 4;

Bounds Widened(Bounds bounds, double by_m) {
  bounds.min.array() -= by_m;
  bounds.max.array() += by_m;
  return bounds;
}

// Removes observations inside tiles that are not in memory: these could not explain any point.
void RemoveWithin(const std::vector<Bounds>& absent, std::vector<FitObservation>& observations) {
  const auto lies_in = [](const Bounds& bounds, const Eigen::Vector3d& place) {
    return (place.array() >= bounds.min.array()).all() &&
           (place.array() <= bounds.max.array()).all();
  };
  observations.erase(std::remove_if(observations.begin(), observations.end(),
                                    [&](const FitObservation& observation) {
                                      return std::any_of(
                                          absent.begin(), absent.end(), [&](const Bounds& bounds) {
                                            return lies_in(bounds, observation.place_map);
                                          });
                                    }),
                     observations.end());
}

}  // namespace

FitSampler::FitSampler(TileFits& fits, const Options& options, const Metrics& metrics)
    : fits_(fits),
      options_(options),
      metrics_(metrics),
      turns_(options.share),
      queue_("fitting", WorkQueue::Options{kWaitingScans, 1, /*background=*/true},
             metrics.fitting_queue) {}

void FitSampler::Offer(absl::string_view session, double tracking_s,
                       absl::FunctionRef<FitSample()> make) {
  if (!options_.enabled) return;
  {
    const absl::MutexLock lock(&mutex_);
    if (!turns_.Begin(session, tracking_s, Clock::now())) return;
  }
  const bool posted = queue_.Post([this, sample = make()] {
    const double start_s = ThreadCpuSeconds();
    const absl::Status status = Compare(sample);
    const double spent_s = ThreadCpuSeconds() - start_s;
    metrics_.fit_s.Increment(spent_s);
    (status.ok() ? metrics_.fit_samples_taken : metrics_.fit_samples_failed).Increment();
    if (!status.ok()) {
      Log(LogLevel::kDebug, "tile_fit_failed",
          {{"map", sample.map->name}, {"error", status.ToString()}});
    }
    const absl::MutexLock lock(&mutex_);
    turns_.End(spent_s);
  });
  if (posted) return;
  metrics_.fit_samples_dropped.Increment();
  const absl::MutexLock lock(&mutex_);
  turns_.End(0.0);
}

absl::Status FitSampler::Compare(const FitSample& sample) {
  const std::vector<CellStatistics>& there = sample.map->resident->statistics();
  const auto at = std::find(there.begin(), there.end(), sample.cells);
  if (at == there.end()) {
    return absl::FailedPreconditionError("the map has no cells of the scan's last stage");
  }
  ScanFitRequest request;
  request.map = sample.map->resident.get();
  request.statistics_index = static_cast<size_t>(at - there.begin());
  request.points_base = sample.points_base.get();
  request.sensor_position_base = sample.sensor_position_base;
  request.map_T_base = sample.map_T_base;
  VOXLOC_ASSIGN_OR_RETURN(auto observations, ObserveFit(request));
  if (observations.empty()) return absl::OkStatus();

  const TileIndex& index = IndexOf(sample.map);
  const double margin_m = sample.cells.cell_size_m;
  Eigen::AlignedBox2d box;
  for (const FitObservation& seen : observations) box.extend(seen.place_map.head<2>());
  const Eigen::Vector2d margin = Eigen::Vector2d::Constant(margin_m);
  std::vector<const TileCatalogue::Tile*> tiles;
  std::vector<Bounds> bounds;
  std::vector<Bounds> absent;
  index.by_bounds.ForEachTouching(
      box.min() - margin, box.max() + margin, [&](const BoundsTree::Box& found) {
        const TileCatalogue::Tile* const tile = index.tiles[found.number];
        if (tile->second.resident == nullptr) {
          absent.push_back(Widened(tile->second.bounds, margin_m));
          return;
        }
        tiles.push_back(tile);
        bounds.push_back(tile->second.bounds);
      });
  RemoveWithin(absent, observations);
  const std::vector<TileFit> fits = SumByTile(observations, bounds, margin_m);
  std::vector<TileObservation> seen;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (fits[i].scans > 0.0) seen.push_back({tiles[i]->first, tiles[i]->second.digest, fits[i]});
  }
  fits_.Add(sample.map->name, seen, absl::GetCurrentTimeNanos());
  return absl::OkStatus();
}

const FitSampler::TileIndex& FitSampler::IndexOf(const std::shared_ptr<const MapSnapshot>& map) {
  const auto known = std::find_if(indexes_.begin(), indexes_.end(),
                                  [&](const TileIndex& index) { return index.map.lock() == map; });
  if (known != indexes_.end()) {
    std::rotate(indexes_.begin(), known, known + 1);  // the last used comes first
    return indexes_.front();
  }
  TileIndex index;
  index.map = map;
  std::vector<BoundsTree::Box> boxes;
  map->tiles.ForEach([&](const TileCatalogue::Tile& tile) {
    const Bounds& bounds = tile.second.bounds;
    if (bounds.finite_points == 0) return;
    boxes.push_back(
        {bounds.min.head<2>(), bounds.max.head<2>(), static_cast<uint32_t>(index.tiles.size())});
    index.tiles.push_back(&tile);
  });
  index.by_bounds = BoundsTree(std::move(boxes));
  indexes_.erase(std::remove_if(indexes_.begin(), indexes_.end(),
                                [](const TileIndex& other) { return other.map.expired(); }),
                 indexes_.end());
  if (indexes_.size() == kMaxIndexes) indexes_.pop_back();
  indexes_.insert(indexes_.begin(), std::move(index));
  return indexes_.front();
}

}  // namespace voxloc::server
