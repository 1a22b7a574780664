// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

// A snapshot with as many tiles as its revision.
std::shared_ptr<const MapSnapshot> Snapshot(const std::string& name, uint64_t revision) {
  auto snapshot = std::make_shared<MapSnapshot>();
  snapshot->name = name;
  snapshot->revision = revision;
  for (uint64_t i = 0; i < revision; ++i) {
    MapTile tile;
    tile.points = 10;
    tile.revision = revision;
    snapshot->tiles.emplace(absl::StrCat("tile", i), tile);
  }
  return snapshot;
}

TEST(MapCatalogueTest, PublishedMapsAreFoundAndListedByName) {
  MapCatalogue catalogue(4);
  EXPECT_TRUE(catalogue.List().empty());
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 1), 0).ok());
  ASSERT_TRUE(catalogue.Publish(Snapshot("port", 1), 0).ok());
  const auto found = catalogue.Find("town");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->name, "town");
  const auto list = catalogue.List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]->name, "port");
  EXPECT_EQ(list[1]->name, "town");
}

TEST(MapCatalogueTest, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  MapCatalogue catalogue(4);
  EXPECT_EQ(catalogue.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(catalogue.Find("town").status().message()), HasSubstr("has none"));
  ASSERT_TRUE(catalogue.Publish(Snapshot("port", 1), 0).ok());
  ASSERT_TRUE(catalogue.Publish(Snapshot("yard", 1), 0).ok());
  EXPECT_THAT(std::string(catalogue.Find("town").status().message()), HasSubstr("port, yard"));
}

TEST(MapCatalogueTest, ARevisionFollowsTheOneItIsBasedOn) {
  MapCatalogue catalogue(4);
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 1), 0).ok());
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 2), 1).ok());
  EXPECT_EQ((*catalogue.Find("town"))->revision, 2u);

  // Based on what is no longer the newest.
  const absl::Status conflict = catalogue.Publish(Snapshot("town", 3), 1);
  EXPECT_EQ(conflict.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(conflict.message()), HasSubstr("at revision 2"));
  // Meant as new, but there already.
  EXPECT_EQ(catalogue.Publish(Snapshot("town", 1), 0).code(), absl::StatusCode::kAborted);
  // Based on a map that is not there.
  EXPECT_EQ(catalogue.Publish(Snapshot("port", 3), 2).code(), absl::StatusCode::kAborted);
  // Not above its base.
  EXPECT_EQ(catalogue.Publish(Snapshot("town", 2), 2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(catalogue.Publish(Snapshot("town", 1), 2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*catalogue.Find("town"))->revision, 2u);
}

TEST(MapCatalogueTest, TheLimitCountsMapsAndNotRevisions) {
  MapCatalogue catalogue(2);
  ASSERT_TRUE(catalogue.Publish(Snapshot("a", 1), 0).ok());
  ASSERT_TRUE(catalogue.Publish(Snapshot("b", 1), 0).ok());
  EXPECT_EQ(catalogue.Publish(Snapshot("c", 1), 0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(catalogue.Publish(Snapshot("a", 2), 1).ok());
  ASSERT_TRUE(catalogue.Remove("b").ok());
  EXPECT_TRUE(catalogue.Publish(Snapshot("c", 1), 0).ok());
}

TEST(MapCatalogueTest, ARemovedMapIsGoneButLivesForThoseWhoHoldIt) {
  MapCatalogue catalogue(2);
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 1), 0).ok());
  const auto held = catalogue.Find("town");
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(catalogue.Remove("town").ok());
  EXPECT_EQ(catalogue.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalogue.Remove("town").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*held)->tiles.size(), 1u);
  EXPECT_EQ(held->use_count(), 1);
  // An update based on it comes too late.
  EXPECT_EQ(catalogue.Publish(Snapshot("town", 2), 1).code(), absl::StatusCode::kAborted);
}

TEST(MapCatalogueTest, AReplacedSnapshotIsFreedWithItsLastOwner) {
  MapCatalogue catalogue(2);
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 1), 0).ok());
  std::weak_ptr<const MapSnapshot> first = *catalogue.Find("town");
  EXPECT_FALSE(first.expired());
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 2), 1).ok());
  EXPECT_TRUE(first.expired());
}

TEST(MapCatalogueTest, ReadersSeeWholeRevisionsInTheirOrder) {
  constexpr uint64_t kRevisions = 300;
  MapCatalogue catalogue(4);
  ASSERT_TRUE(catalogue.Publish(Snapshot("town", 1), 0).ok());
  std::atomic<int> faults{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (last < kRevisions) {
        const auto snapshot = catalogue.Find("town");
        if (!snapshot.ok() || (*snapshot)->revision < last ||
            (*snapshot)->tiles.size() != (*snapshot)->revision || catalogue.List().size() != 1) {
          ++faults;
          return;
        }
        last = (*snapshot)->revision;
      }
    });
  }
  // Two writers race for every revision; one of them wins it.
  std::atomic<uint64_t> published{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&] {
      for (uint64_t base = 1; base < kRevisions;) {
        const absl::Status status = catalogue.Publish(Snapshot("town", base + 1), base);
        if (status.ok()) ++published;
        if (!status.ok() && status.code() != absl::StatusCode::kAborted) ++faults;
        base = (*catalogue.Find("town"))->revision;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(published, kRevisions - 1);
}

TEST(MapCatalogueTest, NamesAreLettersDigitsAndInnerMarks) {
  for (const std::string& name :
       {std::string("a"), std::string("Town-2_b.v1"), std::string("0"), std::string(64, 'x')}) {
    EXPECT_TRUE(ValidateMapName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string(".a"), std::string("-a"),
        std::string("_a"), std::string("a b"), std::string("a/b"), std::string("a\0b", 3),
        std::string("\xc3\xa4"), std::string("a\n"), std::string("..")}) {
    EXPECT_EQ(ValidateMapName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace voxloc
