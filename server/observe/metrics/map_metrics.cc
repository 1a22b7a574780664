// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/map_metrics.h"

#include "server/observe/metrics/buckets.h"

namespace voxloc::server {
namespace {

constexpr MetricName kMaps = {"voxloc_maps", "Resident maps."};
constexpr MetricName kTiles = {"voxloc_map_tiles", "Tiles of all maps."};
constexpr MetricName kMapPoints = {"voxloc_map_points", "Points of all maps."};
constexpr MetricName kCells = {"voxloc_map_voxels", "Cells of all maps, over all cell statistics."};
constexpr MetricName kBytes = {"voxloc_map_bytes",
                               "Memory of all maps, where the engine that serves keeps them: the "
                               "host's for the CPU engine, that of the GPUs for theirs.",
                               "memory"};
constexpr MetricName kCommits = {"voxloc_map_commits_total", "Revisions published."};
constexpr MetricName kSwap = {"voxloc_map_swap_seconds",
                              "Time from a commit to the use of the new revision."};
constexpr MetricName kLoad = {
    "voxloc_map_load_seconds",
    "Time to load a map of the data directory at the start, until requests could use it."};
constexpr MetricName kDamaged = {
    "voxloc_map_tiles_damaged_total",
    "Tiles that were left out because their content in the store is damaged or missing."};
constexpr MetricName kResident = {"voxloc_map_tiles_resident",
                                  "Tiles of all maps that are in memory."};
constexpr MetricName kLoaded = {"voxloc_map_tiles_loaded_total",
                                "Tiles brought to memory from the store."};
constexpr MetricName kEvicted = {"voxloc_map_tiles_evicted_total",
                                 "Tiles taken out of memory to make room for others."};
constexpr MetricName kConnected = {
    "voxloc_store_connected",
    "1: the database of the maps answers, or they are kept by this server alone; 0: the maps that "
    "are served stay as they are, and nothing can be written."};
constexpr MetricName kLosses = {"voxloc_store_connections_lost_total",
                                "Times that the database of the maps has ceased to answer."};
constexpr MetricName kFollowed = {
    "voxloc_store_followed_timestamp_seconds",
    "Unix time at which the served maps were last found to be those of the database that several "
    "servers share; 0: they are kept by this server alone."};
constexpr MetricName kFollow = {
    "voxloc_map_follow_seconds",
    "Time from noticing that another server has changed maps to serving what it made of them."};
constexpr MetricName kStore = {"voxloc_store_bytes", "Size of the store of maps."};
constexpr MetricName kContent = {"voxloc_store_content_bytes",
                                 "Content of tiles in the store, compressed."};
constexpr MetricName kUnreferenced = {
    "voxloc_store_unreferenced_bytes",
    "Content of tiles in the store, compressed, that no revision of a map holds."};
constexpr MetricName kMoments = {
    "voxloc_moments_total",
    "Tiles at the cache of moments: found (hit); built from points (miss), since they were damaged "
    "(also damaged); built, and not written, since too many waited, the disk was full or the tile "
    "too large (not_kept); removed at max_moments_bytes (evicted).",
    "outcome"};
constexpr MetricName kMomentsBytes = {"voxloc_moments_bytes", "Cell moments in the cache."};
constexpr MetricName kFitSamples = {
    "voxloc_tile_fit_samples_total",
    "Scans chosen to be compared with the tiles of their map: compared (taken), left out since "
    "another one waited (dropped), failed.",
    "outcome"};
constexpr MetricName kFitSeconds = {
    "voxloc_tile_fit_seconds_total",
    "Processor time spent on comparing scans with the tiles of their map."};
constexpr MetricName kFits = {"voxloc_tile_fits",
                              "Tiles of all maps whose fit to the scans is known."};

}  // namespace

MapGroup::MapGroup(const Registrar& make)
    : maps(make.MakeGauge(kMaps)),
      map_tiles(make.MakeGauge(kTiles)),
      map_points(make.MakeGauge(kMapPoints)),
      map_cells(make.MakeGauge(kCells)),
      map_bytes_host(make.GaugeOf(kBytes, "host")),
      map_bytes_device(make.GaugeOf(kBytes, "device")),
      map_commits(make.MakeCounter(kCommits)),
      map_commit_s(make.MakeHistogram(kSwap, LongBuckets())),
      map_load_s(make.MakeHistogram(kLoad, LongBuckets())),
      map_tiles_damaged(make.MakeCounter(kDamaged)),
      map_tiles_resident(make.MakeGauge(kResident)),
      map_tiles_loaded(make.MakeCounter(kLoaded)),
      map_tiles_evicted(make.MakeCounter(kEvicted)),
      store_connected(make.MakeGauge(kConnected)),
      store_losses(make.MakeCounter(kLosses)),
      store_followed_unix_s(make.MakeGauge(kFollowed)),
      map_follow_s(make.MakeHistogram(kFollow, LongBuckets())),
      store_bytes(make.MakeGauge(kStore)),
      store_content_bytes(make.MakeGauge(kContent)),
      store_unreferenced_bytes(make.MakeGauge(kUnreferenced)),
      moments_hits(make.CounterOf(kMoments, "hit")),
      moments_misses(make.CounterOf(kMoments, "miss")),
      moments_damaged(make.CounterOf(kMoments, "damaged")),
      moments_not_kept(make.CounterOf(kMoments, "not_kept")),
      moments_evicted(make.CounterOf(kMoments, "evicted")),
      moments_bytes(make.MakeGauge(kMomentsBytes)),
      fit_samples_taken(make.CounterOf(kFitSamples, "taken")),
      fit_samples_dropped(make.CounterOf(kFitSamples, "dropped")),
      fit_samples_failed(make.CounterOf(kFitSamples, "failed")),
      fit_s(make.MakeCounter(kFitSeconds)),
      fit_tiles(make.MakeGauge(kFits)) {}

}  // namespace voxloc::server
