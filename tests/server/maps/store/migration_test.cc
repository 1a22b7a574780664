// SPDX-License-Identifier: Apache-2.0
//
// Databases of earlier versions of the schema, as the servers of these versions left them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <string>

#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/store_schema.h"
#include "tests/server/maps/store/store_dump.h"
#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::IsEmpty;

// Makes the database of a directory from a text of SQL.
void MakeDatabase(const std::string& directory, const std::string& sql) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/maps.db").c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << (error == nullptr ? "" : error);
  sqlite3_free(error);
  sqlite3_close(database);
}

int64_t VersionOf(const std::string& directory) {
  const auto database =
      SqliteDatabase::Open(directory + "/maps.db", SqliteDatabase::Access::kCreate);
  if (!database.ok()) return -1;
  return (*database)->Number("PRAGMA user_version").value_or(-1);
}

TEST(Migration, Version1ComesForwardWithItsContent) {
  const ScratchDir scratch;
  const std::string directory = scratch.Path("data");
  MakeDatabase(directory, BytesOfFile(VOXLOC_STORE_VERSION_1));
  ASSERT_EQ(VersionOf(directory), 1);
  {
    auto store = OpenSqliteMapStore(directory, MapStoreOptions()).value();
    EXPECT_THAT(store->damage(), IsEmpty());
    const StoredMap map = store->GetMap("yard").value();
    EXPECT_EQ(map.active_revision, 2U);
    ASSERT_EQ(map.revisions.size(), 2U);
    EXPECT_EQ(map.revisions[0].tiles, 1U);
    const auto manifest = store->GetManifest("yard", 2).value();
    ASSERT_EQ(manifest.size(), 2U);
    EXPECT_EQ(manifest.at("x0_y0").points, 40U);
    EXPECT_EQ(manifest.at("x10_y0").points, 30U);
    for (const auto& [id, tile] : manifest) {
      EXPECT_EQ(Sha256Of(ReadBytes(*store, tile.digest).value()), tile.digest) << id;
    }
    const auto pose = store->GetLastPose("bus").value();
    EXPECT_EQ(pose.map_T_base.translation, Eigen::Vector3d(1.5, 2.5, 0.5));

    StoredTileFit fit;
    fit.map = "yard";
    fit.tile_id = "x0_y0";
    fit.fit.scans = 1.0;
    ASSERT_TRUE(store->SaveTileFits({fit}).ok());
    EXPECT_EQ(store->ListTileFits("yard")->size(), 1U);
    EXPECT_TRUE(store->Commit(CommitOf(*store, "yard", 2, {{"more", 7}})).ok());
  }
  EXPECT_EQ(VersionOf(directory), StoreSchemaVersion());
  EXPECT_THAT(FaultsOf(directory), IsEmpty());
}

}  // namespace
}  // namespace voxloc::server
