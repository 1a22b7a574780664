// SPDX-License-Identifier: Apache-2.0
//
// What tests of the map store share: the kinds of stores, a clock that tests set, and content
// made of a seed.

#ifndef VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_FIXTURE_H_
#define VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/maps/store/map_store.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store/sqlite_map_store.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {

constexpr int64_t kSecondNs = 1000000000;
constexpr int64_t kHourNs = 3600 * kSecondNs;
// 2026-01-01.
constexpr int64_t kTestStartNs = 1767225600 * kSecondNs;

// Rows of x, y and z as float32 of random points, the same for a seed.
[[nodiscard]] std::string PointBytes(uint64_t seed, size_t points);

[[nodiscard]] std::string BytesOfFile(const std::string& path);

// Uploads in parts of `part` bytes.
[[nodiscard]] absl::StatusOr<Sha256Digest> UploadBytes(MapStore& store, const std::string& bytes,
                                                       size_t part = 100000);
[[nodiscard]] absl::StatusOr<std::string> ReadBytes(MapStore& store, const Sha256Digest& digest);

// A tile of the points of `seed`, whose content is uploaded.
[[nodiscard]] TileRecord UploadTile(MapStore& store, uint64_t seed, size_t points = 100);

// A commit that puts tiles of these seeds in place.
[[nodiscard]] RevisionCommit CommitOf(MapStore& store, const std::string& map, uint64_t base,
                                      const std::vector<std::pair<std::string, uint64_t>>& tiles);

// The seed-independent part of a manifest: id and digest of each tile.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> DigestsOf(const Manifest& manifest);

// Collects until nothing is left to be done, and sums up.
CollectReport CollectAll(MapStore& store);

MATCHER_P2(StatusIs, code, message_matcher, "") {
  *result_listener << arg.ToString();
  return arg.code() == code && ::testing::Matches(message_matcher)(std::string(arg.message()));
}

enum class StoreKind { kFile, kMemory, kPostgres };

class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreTest();

  void SetUp() override;

  // Anew with these options; a store that lasts goes on with what it had.
  void Open(const MapStoreOptions& options);
  // Another one on the same database, as another server has it. Of PostgreSQL only.
  [[nodiscard]] std::unique_ptr<MapStore> OpenAnother(const MapStoreOptions& options) const;
  void Close() { store_.reset(); }
  [[nodiscard]] bool OnFile() const { return GetParam() == StoreKind::kFile; }
  [[nodiscard]] bool InPostgres() const { return GetParam() == StoreKind::kPostgres; }
  // Beyond the end of a process.
  [[nodiscard]] bool Lasts() const { return GetParam() != StoreKind::kMemory; }
  [[nodiscard]] std::string directory() const { return scratch_.Path("data"); }

  MapStoreOptions options_;  // with the clock below
  std::atomic<int64_t> now_ns_{kTestStartNs};
  ScratchDir scratch_;
  PostgresOptions database_;  // with a schema of the test's own
  std::unique_ptr<MapStore> store_;
};

// The test has a schema of its own, empty, in PostgreSQL's shared server.
[[nodiscard]] std::string NewPostgresSchema();

// Those that every test of what a store does runs on.
[[nodiscard]] inline auto AllStores() {
  return ::testing::Values(StoreKind::kFile, StoreKind::kMemory, StoreKind::kPostgres);
}
[[nodiscard]] std::string NameOf(const ::testing::TestParamInfo<StoreKind>& info);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_FIXTURE_H_
