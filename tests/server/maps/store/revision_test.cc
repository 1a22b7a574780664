// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RevisionTest : public StoreTest {
 protected:
  // The revision of a commit that must succeed.
  StoredRevision Commit(const RevisionCommit& commit) {
    return store_->Commit(commit).value().revision;
  }
  StoredRevision CommitSeeds(uint64_t base,
                             const std::vector<std::pair<std::string, uint64_t>>& tiles) {
    return Commit(CommitOf(*store_, "town", base, tiles));
  }
  RevisionCommit StagedOn(uint64_t base,
                          const std::vector<std::pair<std::string, uint64_t>>& tiles) {
    RevisionCommit commit = CommitOf(*store_, "town", base, tiles);
    commit.stage = true;
    return commit;
  }
  absl::StatusCode CodeOfCommit(const RevisionCommit& commit) {
    return store_->Commit(commit).status().code();
  }
  std::vector<uint64_t> Readable(const std::string& map) {
    std::vector<uint64_t> numbers;
    const StoredMap stored = store_->GetMap(map).value();
    for (const StoredRevision& revision : stored.revisions) numbers.push_back(revision.revision);
    return numbers;
  }
  // Its tiles, and those that it adds, replaces and removes.
  static std::vector<uint64_t> TilesOf(const StoredRevision& revision) {
    return {revision.tiles, revision.added, revision.replaced, revision.removed};
  }
  // The seeds of the tiles are told by their bounds.
  std::map<std::string, int> Seeds(const std::string& map, uint64_t revision) {
    std::map<std::string, int> seeds;
    const Manifest manifest = store_->GetManifest(map, revision).value();
    for (const auto& [id, tile] : manifest) seeds[id] = static_cast<int>(tile.bounds.min.z());
    return seeds;
  }
  using SeedMap = std::map<std::string, int>;
};

INSTANTIATE_TEST_SUITE_P(Kinds, RevisionTest, AllStores(), NameOf);

TEST_P(RevisionTest, AMapBeginsWithItsFirstCommit) {
  RevisionCommit commit = CommitOf(*store_, "town", 0, {{"a", 1}, {"b", 2}});
  commit.build = std::string("\0build", 6);
  commit.frame = "frame";
  commit.comment = "the first";
  commit.request_id = "r1";
  now_ns_ += kSecondNs;
  const StoredRevision revision = Commit(commit);
  EXPECT_EQ(revision.revision, 1U);
  EXPECT_EQ(revision.parent, 0U);
  EXPECT_EQ(revision.state, RevisionState::kActive);
  EXPECT_EQ(revision.committed_unix_ns, kTestStartNs + kSecondNs);
  EXPECT_EQ(revision.activated_unix_ns, kTestStartNs + kSecondNs);
  EXPECT_EQ(revision.comment, "the first");
  EXPECT_EQ(revision.request_id, "r1");
  EXPECT_THAT(TilesOf(revision), ElementsAre(2, 2, 0, 0));
  EXPECT_EQ(revision.points, 200U);

  const auto map = store_->GetMap("town").value();
  EXPECT_EQ(map.name, "town");
  EXPECT_EQ(map.build, commit.build);
  EXPECT_EQ(map.frame, "frame");
  EXPECT_EQ(map.active_revision, 1U);
  ASSERT_EQ(map.revisions.size(), 1U);
  EXPECT_EQ(map.revisions[0].comment, "the first");

  const auto manifest = store_->GetManifest("town", 1).value();
  TileRecord expected = *commit.change["b"];
  expected.revision = 1;
  EXPECT_EQ(manifest.at("b"), expected);
  EXPECT_EQ(manifest.at("b").bounds.min, expected.bounds.min);
  EXPECT_EQ(manifest.at("b").bounds.max, expected.bounds.max);
  EXPECT_EQ(manifest.at("b").bounds.finite_points, 100U);

  EXPECT_EQ(CodeOfCommit(CommitOf(*store_, "town", 0, {})), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(CodeOfCommit(CommitOf(*store_, "city", 1, {})), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetMap("city").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetManifest("town", 2).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(RevisionTest, EachKeepsItsOwnTiles) {
  CommitSeeds(0, {{"a", 1}, {"b", 2}, {"c", 3}});
  RevisionCommit second = CommitOf(*store_, "town", 1, {{"b", 4}, {"d", 5}});
  second.change["c"] = std::nullopt;
  second.change["absent"] = std::nullopt;
  const StoredRevision revision = Commit(second);
  EXPECT_EQ(revision.revision, 2U);
  EXPECT_EQ(revision.parent, 1U);
  EXPECT_THAT(TilesOf(revision), ElementsAre(3, 1, 1, 1));
  EXPECT_EQ(revision.points, 300U);
  CommitSeeds(2, {{"c", 6}});

  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}, {"b", 2}, {"c", 3}}));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 1}, {"b", 4}, {"d", 5}}));
  EXPECT_EQ(Seeds("town", 3), (SeedMap{{"a", 1}, {"b", 4}, {"c", 6}, {"d", 5}}));
  const auto manifest = store_->GetManifest("town", 3);
  EXPECT_EQ(manifest->at("a").revision, 1U);
  EXPECT_EQ(manifest->at("b").revision, 2U);
  EXPECT_EQ(manifest->at("c").revision, 3U);
}

TEST_P(RevisionTest, OneThatIsNotBasedOnTheActiveOneIsAborted) {
  CommitSeeds(0, {{"a", 1}});
  CommitSeeds(1, {{"a", 2}});
  EXPECT_THAT(store_->Commit(CommitOf(*store_, "town", 1, {{"a", 3}})).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("at revision 2, not at 1")));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 2}}));
}

TEST_P(RevisionTest, ContentThatIsNotThereIsNamedByTile) {
  CommitSeeds(0, {{"a", 1}});
  RevisionCommit commit = CommitOf(*store_, "town", 1, {{"b", 2}});
  commit.change["c"] = TileRecord();
  commit.change["c"]->digest = Sha256Of("absent");
  EXPECT_THAT(store_->Commit(commit).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"c\"")));
  // Nothing of it is there, and its number is free.
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}}));
  EXPECT_EQ(CommitSeeds(1, {{"b", 2}}).revision, 2U);
}

TEST_P(RevisionTest, ARequestIsCommittedOnce) {
  RevisionCommit first = CommitOf(*store_, "town", 0, {{"a", 1}});
  first.request_id = "one";
  EXPECT_FALSE(store_->Commit(first)->repeated);
  RevisionCommit second = CommitOf(*store_, "town", 1, {{"a", 2}});
  second.request_id = "two";
  Commit(second);
  CommitSeeds(2, {{"a", 3}});
  CommitSeeds(3, {{"a", 4}});  // without a request, twice

  for (const RevisionCommit& again : {first, second}) {
    const auto repeated = store_->Commit(again).value();
    EXPECT_TRUE(repeated.repeated);
    EXPECT_EQ(repeated.revision.revision, again.base_revision + 1);
    EXPECT_EQ(repeated.revision.request_id, again.request_id);
  }
  EXPECT_EQ(store_->GetMap("town")->active_revision, 4U);
  EXPECT_EQ(store_->FindRequest("town", "two").value()->revision, 2U);
  EXPECT_FALSE(store_->FindRequest("town", "three").value().has_value());
  EXPECT_FALSE(store_->FindRequest("town", "").value().has_value());
  EXPECT_FALSE(store_->FindRequest("city", "one").value().has_value());
  // Of each map.
  RevisionCommit elsewhere = CommitOf(*store_, "city", 0, {{"a", 1}});
  elsewhere.request_id = "one";
  EXPECT_FALSE(store_->Commit(elsewhere)->repeated);
}

TEST_P(RevisionTest, ARequestIsRememberedBeyondRetention) {
  options_.retained_revisions = 2;
  Open(options_);
  RevisionCommit first = CommitOf(*store_, "town", 0, {{"a", 1}});
  first.request_id = "one";
  Commit(first);
  for (uint64_t base = 1; base < 6; ++base) CommitSeeds(base, {{"a", base}});
  EXPECT_EQ(CollectAll(*store_).revisions, 4U);
  EXPECT_TRUE(store_->Commit(first)->repeated);
  now_ns_ += 25 * kHourNs;
  CollectAll(*store_);
  EXPECT_EQ(CodeOfCommit(first), absl::StatusCode::kAlreadyExists);
}

TEST_P(RevisionTest, TheNewestAreRetained) {
  options_.retained_revisions = 3;
  Open(options_);
  CommitSeeds(0, {{"a", 1}, {"b", 1}});
  for (uint64_t base = 1; base < 6; ++base) {
    CommitSeeds(base, {{"a", base + 1}});
  }
  // Whether or not they were collected.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Readable("town"), ElementsAre(4, 5, 6));
    EXPECT_EQ(store_->GetManifest("town", 3).status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(Seeds("town", 4), (SeedMap{{"a", 4}, {"b", 1}}));
    EXPECT_EQ(Seeds("town", 6), (SeedMap{{"a", 6}, {"b", 1}}));
    const CollectReport report = CollectAll(*store_);
    EXPECT_EQ(report.revisions, i == 0 ? 3U : 0U);
    // The tiles of seeds 2 and 3; seed 1 is still that of b.
    EXPECT_EQ(report.contents, i == 0 ? 2U : 0U);
  }
  EXPECT_EQ(store_->Usage()->unreferenced_bytes, 0U);
}

TEST_P(RevisionTest, AStagedOneIsReadButNotActive) {
  CommitSeeds(0, {{"a", 1}, {"b", 2}});
  RevisionCommit commit = StagedOn(1, {{"b", 3}, {"c", 4}});
  commit.change["a"] = std::nullopt;
  commit.canary_vehicles = {"bus 2", "bus 1"};
  const StoredRevision staged = Commit(commit);
  EXPECT_EQ(staged.state, RevisionState::kStaged);
  EXPECT_EQ(staged.activated_unix_ns, 0);
  EXPECT_THAT(TilesOf(staged), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(staged.canary_vehicles, ElementsAre("bus 2", "bus 1"));

  EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  EXPECT_THAT(Readable("town"), ElementsAre(1, 2));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"b", 3}, {"c", 4}}));
  EXPECT_EQ(store_->GetManifest("town", 2)->at("b").revision, 2U);
  EXPECT_THAT(store_->GetMap("town")->revisions[1].canary_vehicles, ElementsAre("bus 2", "bus 1"));

  const auto changed = store_->SetCanary("town", 2, {"bus 7"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT(changed->canary_vehicles, ElementsAre("bus 7"));
  EXPECT_THAT(store_->GetMap("town")->revisions[1].canary_vehicles, ElementsAre("bus 7"));
  EXPECT_EQ(store_->SetCanary("town", 1, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->SetCanary("town", 9, {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->SetCanary("city", 1, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(RevisionTest, AStagedOneIsActivated) {
  CommitSeeds(0, {{"a", 1}, {"b", 2}});
  RevisionCommit commit = StagedOn(1, {{"b", 3}, {"c", 4}});
  commit.change["a"] = std::nullopt;
  commit.canary_vehicles = {"bus"};
  Commit(commit);
  now_ns_ += kSecondNs;
  const auto active = store_->Activate("town", 2).value();
  EXPECT_EQ(active.state, RevisionState::kActive);
  EXPECT_EQ(active.committed_unix_ns, kTestStartNs);
  EXPECT_EQ(active.activated_unix_ns, kTestStartNs + kSecondNs);
  EXPECT_THAT(active.canary_vehicles, IsEmpty());
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"b", 3}, {"c", 4}}));
  EXPECT_TRUE(store_->Activate("town", 2).ok());
  EXPECT_EQ(store_->Withdraw("town", 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Activate("town", 3).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Activate("city", 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(RevisionTest, AStagedOneWhoseParentIsNotActiveAnyMoreIsNotActivated) {
  CommitSeeds(0, {{"a", 1}});
  RevisionCommit staged = StagedOn(1, {{"a", 2}});
  Commit(staged);
  EXPECT_EQ(CommitSeeds(1, {{"a", 3}}).revision, 3U);
  EXPECT_THAT(store_->Activate("town", 2).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("; a rollback to it makes a new")));
  // Nor is one that was active before.
  EXPECT_EQ(store_->Activate("town", 1).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 2}}));
}

TEST_P(RevisionTest, AStagedOneStaysReadableWhenItsParentIsForgotten) {
  options_.retained_revisions = 1;
  Open(options_);
  CommitSeeds(0, {{"a", 1}, {"b", 2}});
  RevisionCommit staged = StagedOn(1, {{"a", 3}});
  Commit(staged);
  for (uint64_t base : {1, 3, 4}) CommitSeeds(base, {{"b", base + 10}});
  CollectAll(*store_);
  EXPECT_THAT(Readable("town"), ElementsAre(2, 5));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 3}, {"b", 2}}));
}

TEST_P(RevisionTest, AStagedOneIsWithdrawn) {
  CommitSeeds(0, {{"a", 1}});
  RevisionCommit commit = StagedOn(1, {{"a", 2}});
  commit.request_id = "staged";
  commit.canary_vehicles = {"bus"};
  Commit(commit);
  const auto withdrawn = store_->Withdraw("town", 2).value();
  EXPECT_EQ(withdrawn.state, RevisionState::kWithdrawn);
  EXPECT_THAT(withdrawn.canary_vehicles, IsEmpty());
  EXPECT_TRUE(store_->Withdraw("town", 2).ok());
  EXPECT_THAT(Readable("town"), ElementsAre(1));
  EXPECT_EQ(store_->Activate("town", 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->GetManifest("town", 2).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->FindRequest("town", "staged").value()->state, RevisionState::kWithdrawn);
  EXPECT_EQ(store_->Withdraw("town", 9).status().code(), absl::StatusCode::kNotFound);

  EXPECT_EQ(CollectAll(*store_).revisions, 0U);
  now_ns_ += 25 * kHourNs;
  const CollectReport report = CollectAll(*store_);
  EXPECT_EQ(report.revisions, 1U);
  EXPECT_EQ(report.contents, 1U);
  EXPECT_EQ(store_->Withdraw("town", 2).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}}));
}

TEST_P(RevisionTest, StagedOnesAreLimited) {
  options_.max_staged_revisions = 2;
  Open(options_);
  CommitSeeds(0, {{"a", 1}});
  RevisionCommit staged = StagedOn(1, {{"a", 2}});
  Commit(staged);
  Commit(staged);
  EXPECT_EQ(CodeOfCommit(staged), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(store_->Withdraw("town", 2).ok());
  EXPECT_EQ(Commit(staged).revision, 4U);
}

TEST_P(RevisionTest, AMapMayBeginStaged) {
  RevisionCommit staged = StagedOn(0, {{"a", 1}});
  EXPECT_EQ(Commit(staged).revision, 1U);
  EXPECT_EQ(store_->GetMap("town")->active_revision, 0U);
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}}));
  EXPECT_EQ(CodeOfCommit(staged), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(store_->Activate("town", 1).ok());
  EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}}));
  // One whose only revision is withdrawn goes with it.
  staged.map = "city";
  Commit(staged);
  ASSERT_TRUE(store_->Withdraw("city", 1).ok());
  CollectAll(*store_);
  EXPECT_EQ(store_->GetMap("city").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ListMaps()->size(), 1U);
  EXPECT_EQ(store_->DeleteMap("city", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->Withdraw("city", 1).ok());  // again is no fault
  now_ns_ += 25 * kHourNs;
  CollectAll(*store_);
  CollectAll(*store_);
  EXPECT_EQ(store_->Withdraw("city", 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->GetMap("town").ok());
}

TEST_P(RevisionTest, AMapThatWasWithdrawnWholeIsBegunAnew) {
  RevisionCommit first = StagedOn(0, {{"a", 1}});
  first.build = "one";
  first.request_id = "first";
  Commit(first);
  ASSERT_TRUE(store_->Withdraw("town", 1).ok());
  // The request that was withdrawn is no new one when it is repeated.
  EXPECT_TRUE(store_->Commit(first)->repeated);
  RevisionCommit second = StagedOn(0, {{"b", 2}});
  second.build = "two";
  EXPECT_EQ(Commit(second).revision, 2U);
  EXPECT_EQ(store_->GetMap("town")->build, "two");
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"b", 2}}));
  ASSERT_TRUE(store_->Activate("town", 2).ok());
  CollectAll(*store_);
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"b", 2}}));
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
}

TEST_P(RevisionTest, AMapGetsItsFrameOnce) {
  CommitSeeds(0, {{"a", 1}});
  EXPECT_EQ(store_->GetMap("town")->frame, "");
  RevisionCommit commit = CommitOf(*store_, "town", 1, {{"a", 2}});
  commit.frame = std::string("\0frame", 6);
  commit.stage = true;
  Commit(commit);
  EXPECT_EQ(store_->GetMap("town")->frame, commit.frame);
  // Without one, and with the same one, it stays.
  CommitSeeds(1, {{"a", 3}});
  EXPECT_EQ(store_->GetMap("town")->frame, commit.frame);
  commit.base_revision = 3;
  commit.stage = false;
  EXPECT_EQ(Commit(commit).revision, 4U);
  EXPECT_EQ(store_->GetMap("town")->frame, commit.frame);
  // Another one is refused, and the revision with it.
  commit.base_revision = 4;
  const std::string frame = commit.frame;
  commit.frame = "another";
  EXPECT_EQ(CodeOfCommit(commit), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->GetMap("town")->frame, frame);
  EXPECT_EQ(store_->GetMap("town")->active_revision, 4U);
  // A map of the same name that comes later begins anew.
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  CommitSeeds(0, {{"a", 1}});
  EXPECT_EQ(store_->GetMap("town")->frame, "");
}

TEST_P(RevisionTest, ADeletedMapIsGoneAndItsNumbersAreNotUsedAgain) {
  CommitSeeds(0, {{"a", 1}});
  CommitSeeds(1, {{"a", 2}});
  Commit(CommitOf(*store_, "city", 0, {{"a", 3}}));
  EXPECT_EQ(store_->DeleteMap("town", 1).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->DeleteMap("town", 2).value(), 2U);
  EXPECT_EQ(store_->DeleteMap("town", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetMap("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetManifest("town", 2).status().code(), absl::StatusCode::kNotFound);

  const StoredRevision again = CommitSeeds(0, {{"b", 4}});
  EXPECT_EQ(again.revision, 3U);
  EXPECT_EQ(again.tiles, 1U);
  EXPECT_EQ(Seeds("town", 3), (SeedMap{{"b", 4}}));
  EXPECT_EQ(CollectAll(*store_).contents, 0U) << "it may still be taken back";
  now_ns_ += 25 * kHourNs;
  EXPECT_EQ(CollectAll(*store_).contents, 2U);
  EXPECT_EQ(Seeds("town", 3), (SeedMap{{"b", 4}}));
  EXPECT_EQ(Seeds("city", 1), (SeedMap{{"a", 3}}));
  EXPECT_EQ(store_->Usage()->contents, 2U);
}

TEST_P(RevisionTest, ADeletedMapCanBeUndeletedForADay) {
  CommitSeeds(0, {{"a", 1}, {"b", 2}});
  CommitSeeds(1, {{"a", 3}});
  RevisionCommit staged = CommitOf(*store_, "town", 2, {{"c", 4}});
  staged.stage = true;
  Commit(staged);
  EXPECT_EQ(store_->UndeleteMap("town").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->UndeleteMap("city").status().code(), absl::StatusCode::kNotFound);

  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  now_ns_ += 23 * kHourNs;
  CollectAll(*store_);
  EXPECT_EQ(store_->UndeleteMap("town").value(), 2U);
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
  EXPECT_EQ(Seeds("town", 1), (SeedMap{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(Seeds("town", 3), (SeedMap{{"a", 3}, {"b", 2}, {"c", 4}}));
  // The day counts from the last deletion.
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  now_ns_ += 23 * kHourNs;
  CollectAll(*store_);
  EXPECT_TRUE(store_->UndeleteMap("town").ok());
  EXPECT_EQ(CommitSeeds(2, {{"a", 5}}).revision, 4U) << "numbers go on";

  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  now_ns_ += 25 * kHourNs;
  CollectAll(*store_);
  EXPECT_EQ(store_->UndeleteMap("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Usage()->contents, 0U);
}

// Of several that were deleted, the last; a new one of the name is in its way.
TEST_P(RevisionTest, TheLastDeletedMapOfANameComesBack) {
  CommitSeeds(0, {{"a", 1}});
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  CommitSeeds(0, {{"a", 2}});
  EXPECT_EQ(store_->UndeleteMap("town").status().code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  EXPECT_EQ(store_->UndeleteMap("town").value(), 2U);
  EXPECT_EQ(Seeds("town", 2), (SeedMap{{"a", 2}}));
  // One of staged revisions alone cannot come back, and no older one comes in its place.
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  RevisionCommit staged = CommitOf(*store_, "town", 0, {{"a", 3}});
  staged.stage = true;
  Commit(staged);
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  EXPECT_EQ(store_->UndeleteMap("town").status().code(), absl::StatusCode::kNotFound);
}

TEST_P(RevisionTest, MapsAreListedByNameWhateverTheyAreCalled) {
  std::string longest;
  while (longest.size() < 256) longest += "\xc3\xa4";
  const std::vector<std::string> names = {
      "'; DROP TABLE maps; --", "../../etc/passwd", "a\"b", "a/b\\c", "town", longest};
  for (const std::string& name : names) {
    RevisionCommit commit = CommitOf(*store_, name, 0, {});
    for (const std::string& tile : names) commit.change[tile] = UploadTile(*store_, tile.size());
    commit.request_id = name;
    commit.comment = name;
    Commit(commit);
  }
  const auto maps = store_->ListMaps().value();
  ASSERT_EQ(maps.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(maps[i].name, names[i]);
    EXPECT_EQ(maps[i].revisions.at(0).comment, names[i]);
    const auto manifest = store_->GetManifest(names[i], 1).value();
    for (const std::string& tile : names) EXPECT_EQ(manifest.count(tile), 1U);
    EXPECT_EQ(store_->FindRequest(names[i], names[i]).value()->revision, 1U);
  }
}

// Statements that SQLite begins on connections that are opened while it lives.
class StatementCount {
 public:
  StatementCount() {
    Count() = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&Trace));
  }
  StatementCount(const StatementCount&) = delete;
  StatementCount& operator=(const StatementCount&) = delete;
  ~StatementCount() { sqlite3_reset_auto_extension(); }
  [[nodiscard]] static int Take() { return Count().exchange(0); }

 private:
  static std::atomic<int>& Count() {
    static std::atomic<int> count{0};
    return count;
  }
  static int Trace(sqlite3* database, const char** /*error*/, const void* /*api*/) {
    const auto note = [](unsigned /*kind*/, void* /*context*/, void* /*statement*/,
                         void* /*text*/) {
      ++Count();
      return 0;
    };
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, note, nullptr);
  }
};

TEST(RevisionReading, TakesAsManyStatementsForManyMapsAsForOne) {
  const StatementCount count;
  const std::unique_ptr<MapStore> store = MakeMemoryMapStore({}).value();
  const auto read_all = [&store](size_t maps) {
    static_cast<void>(StatementCount::Take());
    EXPECT_EQ(store->ListMaps()->size(), maps);
    return StatementCount::Take();
  };
  const auto begin = [&store](const std::string& map) {
    ASSERT_TRUE(store->Commit(CommitOf(*store, map, 0, {{"a", 1}})).ok());
    RevisionCommit staged = CommitOf(*store, map, 1, {{"a", 2}});
    staged.stage = true;
    staged.canary_vehicles = {"bus", "tram"};
    ASSERT_TRUE(store->Commit(staged).ok());
    ASSERT_TRUE(store->Commit(staged).ok());
  };
  begin("map-0");
  const int one = read_all(1);
  EXPECT_GT(one, 0);
  for (int i = 1; i < 20; ++i) begin("map-" + std::to_string(i));
  EXPECT_EQ(read_all(20), one);
  // Of one map among many, too.
  EXPECT_EQ(store->GetMap("map-7")->revisions.size(), 3U);
  EXPECT_EQ(StatementCount::Take(), one);
  EXPECT_EQ(store->GetMap("map-7")->revisions[2].canary_vehicles,
            (std::vector<std::string>{"bus", "tram"}));
}

}  // namespace
}  // namespace voxloc::server
