// SPDX-License-Identifier: Apache-2.0

#include "server/runtime.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/observe/metrics/exporter.h"

namespace voxloc::server {
namespace {

// Streams post one task at a time; the spare places are for tasks that free maps.
constexpr size_t kSpareTasks = 1024;

// One batch on a GPU while the host prepares or answers another. The CPU engine uses the host
// itself.
constexpr size_t kBatchesPerGpu = 2;

// Half the period of a LiDAR at 10 Hz: a scan that comes while a batch runs is answered within a
// period by the next one.
constexpr double kMaxBatchS = 0.05;

Scheduler::Options SchedulerOptions(const Limits& limits, size_t gpus) {
  Scheduler::Options options;
  options.max_queued = limits.max_queued_scans;
  options.max_queued_bytes = limits.max_queued_bytes;
  options.max_batch = limits.max_batch;
  options.batches_in_flight = gpus == 0 ? 1 : kBatchesPerGpu * gpus;
  options.max_batch_s = kMaxBatchS;
  return options;
}

size_t MappingTasks(const Limits& limits) { return limits.max_map_transactions + kSpareTasks; }
size_t ScoringTasks(const Limits& limits) { return limits.max_scoring_streams + kSpareTasks; }

// Each that may be in has a thread to run on.
WorkQueue::Options SearchingOptions(const Limits& limits) {
  const size_t most = size_t{limits.max_searches} + limits.max_recoveries;
  return {most, most, /*background=*/true};
}

// A GPU builds a tile sooner from points than from moments (docs/performance.md).
std::unique_ptr<MomentsCache> OpenMoments(const Config& config, Engine& engine,
                                          const Metrics& metrics) {
  const bool wanted =
      config.moments_cache == "auto" ? engine.Info().name == "cpu" : config.moments_cache == "on";
  if (!wanted || config.data_dir.empty()) return nullptr;
  return std::make_unique<MomentsCache>(
      MomentsCacheOptions{config.data_dir + "/moments", config.limits.max_moments_bytes}, engine,
      metrics);
}

std::unique_ptr<FailoverEngine> WithStandby(EngineChoice& choice) {
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::move(choice.engine));
  if (choice.standby != nullptr) engines.push_back(std::move(choice.standby));
  return std::make_unique<FailoverEngine>(std::move(engines));
}

std::unique_ptr<SpanExporter> MakeSpanExporter(const Config& config, const Metrics& metrics) {
  if (config.otlp_endpoint.empty()) return nullptr;
  return std::make_unique<SpanExporter>(SpanExporterOptions{config.otlp_endpoint}, metrics);
}

// The names of the devices that have memory of their own, which measure their stages.
std::vector<std::string> GpusOf(const Engine& engine, const std::vector<uint32_t>& ordinals) {
  std::vector<std::string> names;
  for (const EngineInfo& device : DevicesOf(engine, ordinals)) {
    if (device.memory_bytes_total > 0) names.push_back(device.name);
  }
  return names;
}

}  // namespace

Runtime::Runtime(const EffectiveConfig& resolved, const HostResources& found, EngineChoice choice,
                 std::unique_ptr<MapStore> store)
    : config(resolved.config),
      live_config(resolved),
      host(found),
      started_unix_ns(absl::GetCurrentTimeNanos()),
      engine(WithStandby(choice)),
      engine_devices(std::move(choice.devices)),
      engine_note(std::move(choice.note)),
      host_threads(config.threads),
      metrics(GpusOf(*engine, engine_devices)),
      spans(MakeSpanExporter(config, metrics)),
      // The prefix of ids is different with each start.
      captures(absl::StrCat("c", absl::Hex(started_unix_ns / 1'000'000)), metrics),
      access(std::make_shared<AccessControl>(config.access_file, metrics)),
      audit(config.audit_log, metrics),
      reply_bytes(config.limits.max_reply_bytes, metrics.reply_bytes),
      unopened_streams(config.limits.max_unopened_streams),
      searches(config.limits.max_searches),
      recoveries(config.limits.max_recoveries),
      scoring_streams(config.limits.max_scoring_streams),
      transactions(config.limits.max_map_transactions),
      watchers(config.limits.max_watchers),
      map_readers(config.limits.max_map_readers),
      map_read_bytes(config.limits.max_reply_bytes, metrics.map_read_bytes),
      map_store(std::move(store)),
      max_map_memory_bytes(MapMemoryBytes(config.limits, engine->Info())),
      moments(OpenMoments(config, *engine, metrics)),
      mapping("mapping", MappingTasks(config.limits), metrics.mapping_queue),
      reading("reading", config.limits.max_map_readers, metrics.reading_queue),
      scoring("scoring", ScoringTasks(config.limits), metrics.scoring_queue),
      searching("searching", SearchingOptions(config.limits), metrics.searching_queue),
      maps(config.limits.max_maps, metrics, mapping, config.access_file.empty()),
      library({*map_store, *engine, maps, map_events, live_config, metrics, max_map_memory_bytes,
               moments.get()}),
      last_poses(MapStoreOptions().max_last_poses),
      places(config.residency.update_distance_m),
      residency(std::make_shared<Residency>(Residency::Parts{library, maps, places, host_threads,
                                                             mapping, metrics, config.residency,
                                                             max_map_memory_bytes})),
      residency_check(config.residency, places, *residency),
      engine_faults{*engine, maps, library, *residency, metrics},
      tile_fits(config.limits.max_tile_fits, metrics.fit_tiles),
      fit_sampler(tile_fits, FitSampler::Options{config.tile_fit}, metrics),
      map_update(absl::StrCat("u", absl::Hex(started_unix_ns / 1'000'000)), tile_fits,
                 config.map_update, metrics),
      global_search(*engine, config.limits.search_cache_bytes),
      sessions(config.limits.max_sessions, metrics, lifecycle),
      scheduler(*engine, host_threads, SchedulerOptions(config.limits, engine_devices.size()),
                metrics),
      readiness(std::make_shared<Readiness>(*engine, maps, lifecycle)),
      drain({lifecycle,
             *readiness,
             sessions,
             calls,
             {config.drain_delay_s, config.drain_spread_s, config.drain_timeout_s}}) {
  maps.set_memory(MapMemoryOf(engine->name()));
  metrics.engine_fallback.Set(engine_note.empty() ? 0.0 : 1.0);
  captures.Configure(config);
  map_update.Configure(config);
}

void Runtime::Reload(EffectiveConfig next) {
  const Limits limits = next.config.limits;
  captures.Configure(next.config);
  map_update.Configure(next.config);
  live_config.Set(std::move(next));
  reply_bytes.set_limit(limits.max_reply_bytes);
  unopened_streams.set_limit(limits.max_unopened_streams);
  mapping.SetLimits(MappingTasks(limits), /*max_threads=*/1);
  // Streams that are open may be more than the new limit.
  reading.SetLimits(std::max(limits.max_map_readers, config.limits.max_map_readers),
                    /*max_threads=*/1);
  scoring.SetLimits(ScoringTasks(limits), /*max_threads=*/1);
  const WorkQueue::Options searching_options = SearchingOptions(limits);
  searching.SetLimits(searching_options.capacity, searching_options.max_threads);
  searches.set_limit(limits.max_searches);
  recoveries.set_limit(limits.max_recoveries);
  scoring_streams.set_limit(limits.max_scoring_streams);
  transactions.set_limit(limits.max_map_transactions);
  watchers.set_limit(limits.max_watchers);
  map_readers.set_limit(limits.max_map_readers);
  map_read_bytes.set_limit(limits.max_reply_bytes);
  maps.set_max_maps(limits.max_maps);
  sessions.set_max_sessions(limits.max_sessions);
  scheduler.SetLimits(limits.max_queued_scans, limits.max_queued_bytes, limits.max_batch);
}

}  // namespace voxloc::server
