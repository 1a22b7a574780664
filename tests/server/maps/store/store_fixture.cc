// SPDX-License-Identifier: Apache-2.0

#include "tests/server/maps/store/store_fixture.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/checksum/crc32c.h"
#include "server/maps/store/postgres_map_store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/random_numbers.h"

namespace voxloc::server {

std::string PointBytes(uint64_t seed, size_t points) {
  RandomNumbers random(seed);
  std::string bytes(points * 3 * sizeof(float), '\0');
  for (size_t i = 0; i < points * 3; ++i) {
    const auto value = static_cast<float>(random.Uniform(-20.0, 20.0));
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  return bytes;
}

std::string BytesOfFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  std::string bytes(stream ? static_cast<size_t>(stream.tellg()) : 0, '\0');
  stream.seekg(0);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

absl::StatusOr<Sha256Digest> UploadBytes(MapStore& store, const std::string& bytes, size_t part) {
  auto upload = store.Upload();
  if (!upload.ok()) return upload.status();
  for (size_t at = 0; at < bytes.size(); at += part) {
    absl::Status status = (*upload)->Append(absl::string_view(bytes).substr(at, part));
    if (!status.ok()) return status;
  }
  return (*upload)->Finish();
}

absl::StatusOr<std::string> ReadBytes(MapStore& store, const Sha256Digest& digest) {
  std::string bytes;
  absl::Status status = store.ReadContent(digest, [&bytes](absl::string_view part) {
    bytes.append(part.data(), part.size());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return bytes;
}

TileRecord UploadTile(MapStore& store, uint64_t seed, size_t points) {
  const std::string bytes = PointBytes(seed, points);
  TileRecord tile;
  tile.digest = UploadBytes(store, bytes).value();
  tile.points = points;
  tile.bounds.min = {-20.0, -20.0, static_cast<double>(seed)};
  tile.bounds.max = {20.0, 20.0, static_cast<double>(seed) + 0.1};
  tile.bounds.finite_points = points;
  tile.crc32c = Crc32c(bytes);
  return tile;
}

RevisionCommit CommitOf(MapStore& store, const std::string& map, uint64_t base,
                        const std::vector<std::pair<std::string, uint64_t>>& tiles) {
  RevisionCommit commit;
  commit.map = map;
  commit.base_revision = base;
  for (const auto& [id, seed] : tiles) commit.change[id] = UploadTile(store, seed);
  return commit;
}

std::vector<std::pair<std::string, std::string>> DigestsOf(const Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> digests;
  for (const auto& [id, tile] : manifest) digests.emplace_back(id, ToHex(tile.digest));
  return digests;
}

CollectReport CollectAll(MapStore& store) {
  CollectReport sum;
  sum.more = true;
  for (int i = 0; i < 1000 && sum.more; ++i) {
    const CollectReport report = store.Collect().value();
    sum.revisions += report.revisions;
    sum.contents += report.contents;
    sum.bytes += report.bytes;
    sum.more = report.more;
  }
  EXPECT_FALSE(sum.more);
  return sum;
}

StoreTest::StoreTest() {
  options_.unix_ns = [this] { return now_ns_.load(); };
}

void StoreTest::SetUp() {
  if (InPostgres()) {
    if (!PostgresServer::Installed()) GTEST_SKIP() << PostgresServer::kMissingReason;
    ASSERT_NE(PostgresServer::Shared(), nullptr);
    database_.url = PostgresServer::Shared()->Url(NewPostgresSchema());
  }
  Open(options_);
}

void StoreTest::Open(const MapStoreOptions& options) {
  store_.reset();
  store_ = (InPostgres() ? OpenPostgresMapStore(database_, options)
            : OnFile()   ? OpenSqliteMapStore(directory(), options)
                         : MakeMemoryMapStore(options))
               .value();
}

std::unique_ptr<MapStore> StoreTest::OpenAnother(const MapStoreOptions& options) const {
  return OpenPostgresMapStore(database_, options).value();
}

std::string NewPostgresSchema() {
  std::string schema = PostgresServer::Shared()->NewSchema();
  EXPECT_NE(schema, "");
  return schema;
}

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& info) {
  switch (info.param) {
    case StoreKind::kFile:
      return "File";
    case StoreKind::kMemory:
      return "Memory";
    case StoreKind::kPostgres:
      return "Postgres";
  }
  return "";
}

}  // namespace voxloc::server
