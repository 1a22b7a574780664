// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/residency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"
#include "server/maps/resident_maps.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

// A vehicle at 15 m/s drives 1.5 m in a period.
constexpr std::chrono::milliseconds kPeriod{100};
// Period of steps without a Wake: evictions after a commit, retries.
constexpr std::chrono::seconds kIdlePeriod{1};
// How long a step loads before it publishes: tiles that vehicles wait for in short steps, the
// others in long ones, of which fewer are published.
constexpr double kNeededStepS = 0.1;
constexpr double kOtherStepS = 0.5;
// Points of tiles that are built between two looks at the time: about 0.2 s on one core.
constexpr size_t kBatchPoints = 1'000'000;
// A vehicle that has not been seen for so long needs no tiles; where memory is short, for the
// shorter one, so that those who drive come first.
constexpr std::chrono::seconds kPlaceLifetime{60};
constexpr std::chrono::seconds kActiveWindow{5};
// A map that loads faster than this is opened to requests when it is fully loaded.
constexpr std::chrono::seconds kOpenWholeTimeout{5};
// After a first and after many failures.
constexpr double kFirstRetryS = 1.0;
constexpr double kMaxRetryS = 60.0;

// Once memory is full, tiles that nobody needs are loaded again when 1 / this of it is free.
constexpr size_t kResumeDivisor = 16;

bool IsFullyResident(const MapView& view) {
  return view.snapshot->residency == nullptr || view.snapshot->residency->all().missing == 0;
}

// ComposedRatio of a map; of one without tiles, the largest of the maps that have some.
double ExpectedRatio(const MapSnapshot& snapshot, const ResidentMaps& maps) {
  if (snapshot.tiles.MemoryBytes() > 0) return ComposedRatio(&snapshot);
  double largest = 0.0;
  for (const MapView& view : maps.List()) {
    if (view.snapshot->tiles.MemoryBytes() == 0) continue;
    largest = std::max(largest, ComposedRatio(view.snapshot.get()));
  }
  return largest > 0.0 ? largest : ComposedRatio(nullptr);
}

// The same revision with other tiles resident.
struct RevisionChange {
  MapView view;
  TileCatalogue::Change change;
};

}  // namespace

TimeoutWatch::Clock::time_point Residency::Poll(TimeoutWatch::Clock::time_point now) {
  const bool woken =
      woken_.exchange(false, std::memory_order_relaxed) || parts_.library.engine_changed();
  if ((woken || now >= next_step_) && !posted_.exchange(true)) {
    next_step_ = now + kIdlePeriod;
    if (!PostStep()) Wake();
  }
  return now + kPeriod;
}

void Residency::SwitchEngineNow() {
  if (parts_.library.engine_changed() && !posted_.exchange(true)) static_cast<void>(PostStep());
}

bool Residency::PostStep() {
  if (parts_.mapping.Post([self = shared_from_this()] { self->Step(); })) return true;
  posted_.store(false);
  return false;
}

void Residency::Step() {
  const Clock::time_point now = Clock::now();
  if (SwitchEngine(now)) {
    if (on_demand()) DropUnused(now);
    if (parts_.maps.MemoryBytes() > max_bytes()) {
      static_cast<void>(EvictUntilFree(0, std::nullopt, now));
    }
    if (std::optional<Task> task = ChooseTask(now); task.has_value()) {
      Load(*task, now);
      // The next one, after whatever else waits in the queue.
      if (!PostStep()) Wake();
      return;
    }
  }
  posted_.store(false);
}

bool Residency::SwitchEngine(Clock::time_point now) {
  if (!parts_.library.engine_changed()) return true;
  if (now < switch_retry_at_) return false;
  if (const absl::Status status = parts_.library.SwitchEngine(); !status.ok()) {
    Log(LogLevel::kError, "maps_not_moved", {{"error", status.ToString()}});
    switch_retry_at_ = now + ToDuration(kFirstRetryS);
    return false;
  }
  full_at_.store(0);
  return true;
}

Residency::Clock::time_point Residency::UsedSince(Clock::time_point now) const {
  return now - ToDuration(parts_.options.idle_timeout_s);
}

bool Residency::HasUnheldTiles() const {
  const std::vector<MapView> views = parts_.maps.List();
  return std::any_of(views.begin(), views.end(), [this](const MapView& view) {
    return view.snapshot->tiles.resident() > 0 &&
           LastUse(view.snapshot->name) != Clock::time_point::max();
  });
}

void Residency::DropUnused(Clock::time_point now) {
  for (const std::string& map : parts_.maps.Names()) {
    if (LastUse(map) >= UsedSince(now)) continue;
    size_t dropped = 0;
    for (const MapView& view : parts_.maps.Views(map)) {
      const size_t resident = view.snapshot->tiles.resident();
      if (resident == 0) continue;
      if (const absl::Status status = parts_.library.DropTiles(view); !status.ok()) {
        ScheduleRetry(map, states_[map], status, now);
        break;
      }
      dropped += resident;
    }
    if (dropped == 0) continue;
    states_[map].demanded_at.reset();
    parts_.metrics.map_tiles_evicted.Increment(static_cast<double>(dropped));
    parts_.metrics.maps_dropped.Increment();
    Log(LogLevel::kInfo, "map_dropped", {{"map", map}, {"tiles", dropped}});
  }
}

void Residency::RecordDemand(const Task& task, bool whole, MapState& state, Clock::time_point now) {
  const TileCatalogue& tiles = task.views.front().snapshot->tiles;
  if (!whole && tiles.resident() == 0 && !state.demanded_at.has_value()) {
    state.demanded_at = now;
    parts_.metrics.maps_demanded.Increment();
  }
  if (!whole || !state.demanded_at.has_value()) return;
  const double load_s = ToSeconds(now - *std::exchange(state.demanded_at, std::nullopt));
  parts_.metrics.map_load_s.Observe(load_s);
  Log(LogLevel::kInfo, "map_loaded", {{"map", task.map}, {"load_s", load_s}});
}

std::optional<Residency::Task> Residency::ChooseTask(Clock::time_point now) {
  const std::vector<std::string> maps = parts_.maps.Names();
  std::map<std::string, MapState> states;
  for (const std::string& map : maps) {
    const auto known = states_.find(map);
    states[map] =
        known == states_.end() ? MapState{now, {}, {}, 0, false, {}} : std::move(known->second);
  }
  states_ = std::move(states);
  parts_.places.EvictBefore(now - kPlaceLifetime, std::min(UsedSince(now), now - kPlaceLifetime));
  std::optional<Task> other;
  const size_t full_at = full_at_.load(std::memory_order_relaxed);
  if (parts_.maps.MemoryBytes() + full_at / kResumeDivisor < full_at) full_at_.store(0);
  const bool unheld_tiles = on_demand() && HasUnheldTiles();
  for (const std::string& map : maps) {
    MapState& state = states_[map];
    Task task;
    task.map = map;
    task.views = parts_.maps.Views(map);
    if (task.views.empty() || now < state.retry_at) continue;
    const bool loading = parts_.maps.IsLoading(map);
    const bool whole = std::all_of(task.views.begin(), task.views.end(), IsFullyResident);
    const Clock::time_point last_use = LastUse(map);
    const bool wanted = last_use >= UsedSince(now);
    // For tiles that nobody needs.
    const bool room = !full() || (unheld_tiles && last_use == Clock::time_point::max());
    if (on_demand() && wanted && !loading) RecordDemand(task, whole, state, now);
    if (wanted) task.tiles = FindMissing(task, /*needed=*/true, state, now);
    if (!task.tiles.empty()) {
      task.needed = true;
      task.step_s = loading ? kOtherStepS : kNeededStepS;
      return task;
    }
    if (room && wanted) {
      task.tiles = FindMissing(task, /*needed=*/false, state, now);
      task.step_s = kOtherStepS;
      // Small maps do not wait for large ones.
      const bool less = !other.has_value() || task.tiles.size() < other->tiles.size();
      if (!task.tiles.empty() && less) other = std::move(task);
    }
    const bool in_time = room && wanted && now - state.first_seen < kOpenWholeTimeout;
    if (loading && (whole || !in_time)) {
      parts_.maps.Open(map);
      const double load_s = ToSeconds(now - state.first_seen);
      if (wanted) parts_.metrics.map_load_s.Observe(load_s);
      Log(LogLevel::kInfo, "map_opened", {{"map", map}, {"load_s", load_s}});
    }
  }
  return other;
}

std::vector<Residency::TileToLoad> Residency::FindMissing(const Task& task, bool needed,
                                                          MapState& state, Clock::time_point now) {
  std::vector<TileToLoad> missing;
  std::vector<PlaceInUse> places;
  if (needed) {
    places = parts_.places.List(task.map, now - (full() ? kActiveWindow : kPlaceLifetime));
  }
  for (const MapView& view : task.views) {
    if (IsFullyResident(view)) continue;
    const TileResidency& residency = *view.snapshot->residency;
    const TileLayout& layout = *residency.layout();
    const auto add_if_missing = [&](uint32_t number) {
      if (residency.state(number) != TileState::kMissing) return;
      const std::string& id = layout.id(number);
      missing.push_back({id, *view.snapshot->tiles.Find(id)});
    };
    if (!needed) {
      for (uint32_t number = 0; number < layout.size(); ++number) add_if_missing(number);
      continue;
    }
    for (const uint32_t number : PlanResidency(layout, places, parts_.options)) {
      state.needed[layout.id(number)] = now;
      add_if_missing(number);
    }
    // Removes the entries of tiles that the map no longer has.
    if (state.needed.size() > layout.size()) {
      absl::erase_if(state.needed, [&](const auto& entry) { return entry.second != now; });
    }
  }
  return missing;
}

void Residency::Load(Task& task, Clock::time_point now) {
  MapState& state = states_[task.map];
  const MapBuild& build = *task.views.front().facts->build;
  absl::Mutex mutex;
  absl::Status failure;
  size_t loaded = 0;
  // In turns of a few tiles a thread, so that a step ends in time.
  const size_t most = 4 * parts_.threads.threads();
  const Clock::time_point end = now + ToDuration(task.step_s);
  while (loaded < task.tiles.size() && failure.ok() && (loaded == 0 || Clock::now() < end)) {
    size_t count = 0;
    for (size_t points = 0;
         count < most && loaded + count < task.tiles.size() && points < kBatchPoints; ++count) {
      points += task.tiles[loaded + count].tile.points;
    }
    parts_.threads.ParallelFor(count, [&](size_t i) {
      TileToLoad& item = task.tiles[loaded + i];
      auto tile = parts_.library.tiles().Load(item.id, item.tile, build);
      if (tile.ok()) {
        item.tile = *std::move(tile);
        return;
      }
      const absl::MutexLock lock(&mutex);
      if (absl::IsDataLoss(tile.status()) || absl::IsNotFound(tile.status())) {
        Log(LogLevel::kError, "tile_damaged",
            {{"map", task.map}, {"tile", item.id}, {"error", tile.status().message()}});
        parts_.metrics.map_tiles_damaged.Increment();
        item.tile.damaged = true;
      } else {
        failure = tile.status();
      }
    });
    loaded += count;
  }
  task.tiles.resize(loaded);
  if (failure.ok()) {
    TrimToMemory(task, state, now);
    failure = Publish(task);
  }
  if (failure.ok()) {
    state.failures = 0;
    return;
  }
  ScheduleRetry(task.map, state, failure, now);
}

void Residency::TrimToMemory(Task& task, MapState& state, Clock::time_point now) {
  const MapSnapshot& snapshot = *task.views.front().snapshot;
  const double share = ExpectedRatio(snapshot, parts_.maps);
  size_t bytes = 0;
  for (const TileToLoad& item : task.tiles) {
    if (item.tile.resident != nullptr) bytes += BytesInMap(*item.tile.resident, share);
  }
  const size_t used = parts_.maps.MemoryBytes();
  const size_t room = EvictUntilFree(
      bytes, task.needed ? std::nullopt : std::make_optional(LastUse(task.map)), now);
  if (bytes <= room) {
    if (task.needed) state.full = false;
    return;
  }
  const bool estimated = snapshot.tiles.MemoryBytes() == 0;
  size_t kept = 0;
  for (bytes = 0; kept < task.tiles.size(); ++kept) {
    const MapTile& tile = task.tiles[kept].tile;
    if (tile.resident != nullptr) bytes += BytesInMap(*tile.resident, share);
    // The composed ratio is an estimate until the map has a tile. The first tile only has to fit by
    // itself, so that too high an estimate does not keep the map out.
    const bool first =
        kept == 0 && estimated && tile.resident != nullptr && tile.resident->MemoryBytes() <= room;
    if (bytes > room && !first) break;
  }
  task.tiles.resize(kept);
  if (estimated && kept > 0) return;  // the next step knows the ratio
  full_at_.store(std::max<size_t>(used, 1));
  if (!task.needed) return;
  if (!std::exchange(state.full, true)) {
    Log(LogLevel::kWarn, "map_memory_full", {{"map", task.map}, {"bytes", max_bytes()}});
  }
  state.retry_at = now + ToDuration(kFirstRetryS);
}

size_t Residency::EvictUntilFree(size_t bytes, std::optional<Clock::time_point> used_before,
                                 Clock::time_point now) {
  const size_t used = parts_.maps.MemoryBytes();
  const size_t most = max_bytes();
  if (used + bytes <= most) return bytes;
  struct Victim {
    Clock::time_point used;  // the map
    Clock::time_point needed;
    size_t changed = 0;
    std::string id;
    size_t bytes = 0;
  };
  std::vector<Victim> victims;
  std::vector<RevisionChange> changed;
  for (const std::string& map : parts_.maps.Names()) {
    const Clock::time_point used_at = LastUse(map);
    if (used_before.has_value() && used_at >= *used_before) continue;
    const std::vector<PlaceInUse> places = parts_.places.List(map, now - kActiveWindow);
    const MapState& state = states_[map];
    for (const MapView& view : parts_.maps.Views(map)) {
      const MapSnapshot& snapshot = *view.snapshot;
      const TileLayout layout(snapshot.tiles);
      absl::flat_hash_set<std::string> needed;
      for (const uint32_t number : PlanResidency(layout, places, parts_.options)) {
        needed.insert(layout.id(number));
      }
      const double share = ComposedRatio(&snapshot);
      snapshot.tiles.ForEach([&](const TileCatalogue::Tile& entry) {
        if (entry.second.resident == nullptr || needed.contains(entry.first)) return;
        const auto last = state.needed.find(entry.first);
        victims.push_back({used_at,
                           last == state.needed.end() ? Clock::time_point::min() : last->second,
                           changed.size(), entry.first, BytesInMap(*entry.second.resident, share)});
      });
      changed.push_back({view, {}});
    }
  }
  std::sort(victims.begin(), victims.end(), [](const Victim& a, const Victim& b) {
    return std::tie(a.used, a.needed, a.id) < std::tie(b.used, b.needed, b.id);
  });
  size_t freed = 0;
  size_t evicted = 0;
  for (const Victim& victim : victims) {
    if (used + bytes <= most + freed) break;
    RevisionChange& of = changed[victim.changed];
    MapTile tile = *of.view.snapshot->tiles.Find(victim.id);
    tile.resident = nullptr;
    of.change.emplace(victim.id, std::move(tile));
    freed += victim.bytes;
    ++evicted;
  }
  for (const RevisionChange& of : changed) {
    if (of.change.empty()) continue;
    if (const absl::Status status = parts_.library.UpdateResidency(of.view, of.change);
        !status.ok()) {
      ScheduleRetry(of.view.snapshot->name, states_[of.view.snapshot->name], status, now);
      return 0;
    }
  }
  parts_.metrics.map_tiles_evicted.Increment(static_cast<double>(evicted));
  const size_t limit = most + freed;
  return used >= limit ? 0 : std::min(bytes, limit - used);
}

absl::Status Residency::Publish(const Task& task) {
  // Evictions may have republished the map in the meantime.
  const std::vector<MapView> views = parts_.maps.Views(task.map);
  for (const MapView& view : views) {
    TileCatalogue::Change change;
    for (const TileToLoad& item : task.tiles) {
      const MapTile* const there = view.snapshot->tiles.Find(item.id);
      if (there == nullptr || there->digest != item.tile.digest) continue;
      if (StateOf(*there) != TileState::kMissing) continue;
      MapTile tile = *there;
      tile.resident = item.tile.resident;
      tile.damaged = item.tile.damaged;
      change.insert_or_assign(item.id, std::move(tile));
    }
    if (change.empty()) continue;
    VOXLOC_TRY(parts_.library.UpdateResidency(view, change));
    parts_.metrics.map_tiles_loaded.Increment(static_cast<double>(change.size()));
  }
  return absl::OkStatus();
}

void Residency::ScheduleRetry(const std::string& map, MapState& state, const absl::Status& status,
                              Clock::time_point now) {
  const double retry_s = std::min(std::ldexp(kFirstRetryS, state.failures++), kMaxRetryS);
  state.retry_at = now + ToDuration(retry_s);
  if (parts_.maps.IsLoading(map)) parts_.maps.Fail(map, status);
  Log(LogLevel::kError, "tiles_not_loaded",
      {{"map", map}, {"retry_s", retry_s}, {"error", status.ToString()}});
}

}  // namespace voxloc::server
