// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench store`: what the map store takes for maps of many tiles, without a server.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_map_store.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

using server::Manifest;
using server::MapStore;
using server::MapStoreOptions;
using server::RevisionCommit;

struct StoreFlags {
  MapOptions map;
  std::string directory;
  size_t tiles = 400;
  size_t points = 1000;
  size_t threads = 2;
  size_t repeat = 20;
  std::string json;
};

// A new folder, removed by the destructor.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& parent) : path_(parent + "/voxloc_bench_store_XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code error;
    if (made_) std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

std::string RowsOf(const PointCloud& cloud) {
  std::string rows(cloud.size() * 3 * sizeof(float), '\0');
  char* next = rows.data();
  for (size_t i = 0; i < cloud.size(); ++i) {
    for (const float value : {cloud.x[i], cloud.y[i], cloud.z[i]}) {
      std::memcpy(next, &value, sizeof(value));
      next += sizeof(value);
    }
  }
  return rows;
}

// Content of as many tiles as are asked for: those of the map in turn, each with a first point of
// its own.
class Contents {
 public:
  explicit Contents(const std::vector<PointCloud>& clouds) {
    for (const PointCloud& cloud : clouds) {
      if (!cloud.empty()) rows_.push_back(RowsOf(cloud));
    }
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string Get(size_t i) const {
    std::string rows = rows_[i % rows_.size()];
    const auto number = static_cast<uint64_t>(i);
    std::memcpy(rows.data(), &number, sizeof(number));
    return rows;
  }

 private:
  std::vector<std::string> rows_;
};

absl::StatusOr<TileRecord> UploadContent(MapStore& store, const std::string& rows) {
  auto upload = store.Upload();
  if (!upload.ok()) return upload.status();
  if (absl::Status status = (*upload)->Append(rows); !status.ok()) return status;
  const auto digest = (*upload)->Finish();
  if (!digest.ok()) return digest.status();
  TileRecord tile;
  tile.digest = *digest;
  tile.points = rows.size() / 12;
  return tile;
}

// What a sync of a page appended to a file takes on that file system, without any database.
absl::StatusOr<std::vector<double>> TimeSyncs(const std::string& folder, size_t repeat) {
  const int file = ::open((folder + "/sync").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return absl::InternalError("cannot write into " + folder);
  const std::string page(4096, 'x');
  std::vector<double> times_ms;
  bool written = true;
  for (size_t i = 0; i < repeat; ++i) {
    times_ms.push_back(TimeMs([&] {
      written = ::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()) &&
                ::fdatasync(file) == 0 && written;
    }));
  }
  ::close(file);
  if (!written) return absl::InternalError("cannot write into " + folder);
  return times_ms;
}

absl::Status ReadAll(MapStore& store, const Manifest& manifest, size_t threads,
                     std::atomic<uint64_t>& bytes) {
  std::vector<Sha256Digest> digests;
  for (const auto& [id, tile] : manifest) digests.push_back(tile.digest);
  std::atomic<size_t> next{0};
  std::vector<absl::Status> statuses(threads);
  std::vector<std::thread> readers;
  for (size_t thread = 0; thread < threads; ++thread) {
    readers.emplace_back([&, thread] {
      for (size_t i = next++; i < digests.size() && statuses[thread].ok(); i = next++) {
        statuses[thread] = store.ReadContent(digests[i], [&bytes](absl::string_view part) {
          bytes += part.size();
          return absl::OkStatus();
        });
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void Print(const char* what, const Summary& summary) {
  std::printf("%-12s p50 %.2f  p95 %.2f  max %.2f ms\n", what, summary.p50, summary.p95,
              summary.max);
}

absl::Status RunStore(const StoreFlags& options) {
  std::vector<PointCloud> clouds;
  if (options.map.map.empty()) {
    for (uint64_t seed = 0; seed < 16; ++seed) {
      clouds.push_back(SyntheticCloud(options.points, 20.0, seed));
    }
  } else {
    auto loaded = LoadMapClouds(options.map);
    if (!loaded.ok()) return loaded.status();
    clouds = *std::move(loaded);
  }
  const Contents contents(clouds);
  if (contents.empty()) return absl::InvalidArgumentError("the map has no points");
  const WorkFolder folder(options.directory);
  if (!folder.made()) {
    return absl::InvalidArgumentError("cannot write into " + options.directory);
  }
  const std::string data = folder.path() + "/data";
  auto store = server::OpenSqliteMapStore(data, MapStoreOptions());
  if (!store.ok()) return store.status();

  absl::Status status;
  RevisionCommit commit;
  commit.map = "town";
  uint64_t raw_bytes = 0;
  double upload_ms = 0.0;
  for (size_t i = 0; i < options.tiles && status.ok(); ++i) {
    const std::string rows = contents.Get(i);
    raw_bytes += rows.size();
    upload_ms += TimeMs([&] {
      const auto tile = UploadContent(**store, rows);
      status = tile.status();
      if (tile.ok()) commit.change[absl::StrCat(i % 200, "_", i / 200)] = *tile;
    });
  }
  if (!status.ok()) return status;
  const double first_commit_ms = TimeMs([&] { status = (*store)->Commit(commit).status(); });
  if (!status.ok()) return status;

  std::vector<double> commit_ms;
  for (size_t i = 0; i < options.repeat; ++i) {
    const auto tile = UploadContent(**store, contents.Get(options.tiles + i));
    if (!tile.ok()) return tile.status();
    RevisionCommit change;
    change.map = "town";
    change.base_revision = i + 1;
    change.change[absl::StrCat(i % 200, "_0")] = *tile;
    commit_ms.push_back(TimeMs([&] { status = (*store)->Commit(change).status(); }));
    if (!status.ok()) return status;
  }
  const auto sync_ms = TimeSyncs(folder.path(), options.repeat);
  if (!sync_ms.ok()) return sync_ms.status();

  Manifest manifest;
  std::vector<double> manifest_ms;
  for (size_t i = 0; i < options.repeat; ++i) {
    manifest_ms.push_back(TimeMs([&] {
      auto read = (*store)->GetManifest("town", options.repeat + 1);
      status = read.status();
      if (read.ok()) manifest = *std::move(read);
    }));
    if (!status.ok()) return status;
  }
  const double backup_ms = TimeMs([&] {
    status = (*store)->Backup(folder.path() + "/backup.db", [](double) { return true; });
  });
  if (!status.ok()) return status;
  const auto usage = (*store)->Usage();
  if (!usage.ok()) return usage.status();
  store->reset();
  const double open_ms =
      TimeMs([&] { store = server::OpenSqliteMapStore(data, MapStoreOptions()); });
  if (!store.ok()) return store.status();
  std::atomic<uint64_t> read_bytes{0};
  const double read_ms =
      TimeMs([&] { status = ReadAll(**store, manifest, options.threads, read_bytes); });
  if (!status.ok()) return status;

  const double raw_mb = static_cast<double>(raw_bytes) / 1e6;
  const double read_mb = static_cast<double>(read_bytes) / 1e6;
  const Summary commits = Summarize(commit_ms);
  const Summary syncs = Summarize(*sync_ms);
  const Summary manifests = Summarize(manifest_ms);
  const double stored = static_cast<double>(usage->content_bytes);
  std::printf("store        %zu tiles, %.1f MB of points, %.1f MB on the disk\n", options.tiles,
              raw_mb, static_cast<double>(usage->bytes) / 1e6);
  std::printf("upload       %.0f MB/s\n", raw_mb / upload_ms * 1e3);
  std::printf("first commit %.0f ms\n", first_commit_ms);
  Print("commit", commits);
  Print("sync", syncs);
  Print("manifest", manifests);
  std::printf("open         %.0f ms\n", open_ms);
  std::printf("read         %.0f MB/s on %zu threads\n", read_mb / read_ms * 1e3, options.threads);
  std::printf("backup       %.0f ms\n", backup_ms);
  return WriteJson(options.json, {{"tiles", options.tiles},
                                  {"raw_mb", raw_mb},
                                  {"stored_mb", stored / 1e6},
                                  {"disk_mb", static_cast<double>(usage->bytes) / 1e6},
                                  {"upload_mb_per_s", raw_mb / upload_ms * 1e3},
                                  {"first_commit_ms", first_commit_ms},
                                  {"commit_ms", ToJson(commits)},
                                  {"sync_ms", ToJson(syncs)},
                                  {"manifest_ms", ToJson(manifests)},
                                  {"open_ms", open_ms},
                                  {"threads", options.threads},
                                  {"read_mb_per_s", read_mb / read_ms * 1e3},
                                  {"backup_ms", backup_ms}});
}

}  // namespace

Command AddStoreCommand(CLI::App& program) {
  auto options = std::make_shared<StoreFlags>();
  CLI::App* app =
      program.add_subcommand("store", "Measure the map store: uploads, commits, manifests, reads");
  AddMapFlags(*app, options->map);
  app->add_option("--directory", options->directory,
                  "Work in a new folder in this one, on the disk that is measured")
      ->required();
  app->add_option("--tiles", options->tiles, "Keep a map of this many tiles")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  app->add_option("--points", options->points,
                  "Make tiles of this many generated points, without --map")
      ->check(CLI::Range(size_t{1}, size_t{20'000'000}))
      ->capture_default_str();
  app->add_option("--threads", options->threads, "Read on this many threads")
      ->check(CLI::Range(size_t{1}, size_t{256}))
      ->capture_default_str();
  AddRepeatFlag(*app, options->repeat, "Time this many commits of one tile each, and manifests");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunStore(*options); }};
}

}  // namespace voxloc::bench
