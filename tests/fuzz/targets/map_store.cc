// SPDX-License-Identifier: Apache-2.0
//
// A store of maps whose database is overwritten in places: all of it is read through the store, and
// a revision is committed.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/checksum/crc32c.h"
#include "core/checksum/sha256.h"
#include "server/maps/store/sqlite_map_store.h"
#include "tests/fuzz/database_edits.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using server::MapStore;

constexpr int64_t kNowUnixNs = 1'700'000'000'000'000'000;

server::MapStoreOptions Options() {
  server::MapStoreOptions options;
  options.unix_ns = [] { return kNowUnixNs; };
  return options;
}

TileRecord Upload(MapStore& store, const std::string& bytes) {
  auto upload = store.Upload();
  FuzzRequire(upload.ok() && (*upload)->Append(bytes).ok(), "content can be uploaded");
  const auto digest = (*upload)->Finish();
  FuzzRequire(digest.ok(), "content can be kept");
  TileRecord tile;
  tile.digest = *digest;
  tile.points = bytes.size() / 12;
  tile.bounds.min = {-20.0, -20.0, 0.0};
  tile.bounds.max = {20.0, 20.0, 3.0};
  tile.bounds.finite_points = tile.points;
  tile.crc32c = Crc32c(bytes);
  return tile;
}

// Two maps, of one an earlier and a staged revision, a pose and a fit.
std::string MakeDatabase() {
  const ScratchDir folder;
  const std::string directory = folder.Path("maps");
  {
    auto store = server::OpenSqliteMapStore(directory, Options());
    FuzzRequire(store.ok(), "a store can be made");
    for (const char* map : {"town", "depot"}) {
      for (uint64_t base : {0, 1, 2}) {
        server::RevisionCommit commit;
        commit.map = map;
        commit.base_revision = base;
        commit.stage = base == 2;
        if (commit.stage) commit.canary_vehicles = {"tram", "bus"};
        commit.request_id = std::string(map) + std::to_string(base);
        for (const char* id : {"a", "b"}) {
          commit.change[id] =
              Upload(**store, std::string(1200, static_cast<char>('a' + base)) + id);
        }
        FuzzRequire((*store)->Commit(commit).ok(), "a revision can be committed");
      }
    }
    server::LastPose pose;
    pose.vehicle = "tram";
    pose.map = "town";
    pose.revision = 2;
    pose.stamp_unix_ns = kNowUnixNs;
    FuzzRequire((*store)->SaveLastPoses({pose}).ok(), "a pose can be kept");
    server::StoredTileFit fit;
    fit.map = "town";
    fit.tile_id = "a";
    FuzzRequire((*store)->SaveTileFits({fit}).ok(), "a fit can be kept");
  }
  return ReadDatabase(directory + "/maps.db");
}

// The first error that reading all of it gives.
absl::Status ReadAll(MapStore& store) {
  absl::Status first;
  const auto maps = store.ListMaps();
  if (!maps.ok()) return maps.status();
  for (const server::StoredMap& map : *maps) {
    for (const server::StoredRevision& revision : map.revisions) {
      const auto manifest = store.GetManifest(map.name, revision.revision);
      first.Update(manifest.status());
      if (!manifest.ok()) continue;
      for (const auto& [id, tile] : *manifest) {
        std::string bytes;
        const absl::Status read = store.ReadContent(tile.digest, [&](absl::string_view part) {
          bytes.append(part.data(), part.size());
          return absl::OkStatus();
        });
        first.Update(read);
        FuzzRequire(!read.ok() || Sha256Of(bytes) == tile.digest, "content has its digest");
        first.Update(store.MapsWithContent(tile.digest).status());
      }
    }
    first.Update(store.ListLastPoses(map.name).status());
    first.Update(store.ListTileFits(map.name).status());
  }
  first.Update(store.FindRequest("town", "town1").status());
  first.Update(store.GetLastPose("tram").status());
  return first;
}

}  // namespace

absl::Status FuzzMapStore(absl::string_view bytes) {
  static const std::string& good = *new std::string(MakeDatabase());
  static const std::string& directory = *new std::string(
      (std::filesystem::temp_directory_path() / "voxloc_fuzz_map_store_").string() +
      std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  WriteDatabase(directory + "/maps.db", WithEdits(good, bytes));
  absl::Status status;
  {
    auto store = server::OpenSqliteMapStore(directory, Options());
    status = store.status();
    if (store.ok()) {
      status = ReadAll(**store);
      if (!(*store)->damage().empty()) status.Update(absl::DataLossError((*store)->damage()[0]));
      // What changes it comes back too.
      server::RevisionCommit commit;
      commit.map = "town";
      commit.base_revision = 2;
      (void)(*store)->Commit(commit);
      (void)(*store)->Collect();
      (void)(*store)->Usage();
      (void)ReadAll(**store);
    }
  }
  std::filesystem::remove_all(directory);
  return status;
}

}  // namespace voxloc
