// SPDX-License-Identifier: Apache-2.0
//
// What is left after the power was cut, and after the process was killed. Both loops are short;
// VOXLOC_CRASH_REPETITIONS asks for more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/checksum/crc32c.h"
#include "tests/server/maps/store/faulty_disk.h"
#include "tests/server/maps/store/store_dump.h"
#include "tests/server/maps/store/store_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/random_numbers.h"

namespace voxloc::server {
namespace {

int Repetitions(int by_default) {
  const char* const text = std::getenv("VOXLOC_CRASH_REPETITIONS");
  int repetitions = by_default;
  if (text != nullptr && !absl::SimpleAtoi(text, &repetitions)) ADD_FAILURE() << text;
  return repetitions;
}

MapStoreOptions SmallOptions() {
  MapStoreOptions options;
  options.retained_revisions = 3;
  options.unreferenced_for_s = 0.0;
  options.withdrawn_for_s = 0.0;
  options.requests_for_s = 0.0;
  options.unix_ns = [] { return kTestStartNs; };
  return options;
}

// Something that may be done to a store, the same to every store in the same state.
struct Step {
  int kind = 0;
  uint64_t seed = 0;
};

Step RandomStep(RandomNumbers& random) {
  return {random.Index(20), static_cast<uint64_t>(random.Index(1000000000))};
}

absl::Status ApplyStep(MapStore& store, const Step& step) {
  RandomNumbers random(step.seed);
  const std::string map = absl::StrCat("map ", random.Index(2));
  const auto stored = store.GetMap(map);
  if (!stored.ok() && !absl::IsNotFound(stored.status())) return stored.status();
  const uint64_t active = stored.ok() ? stored->active_revision : 0;
  uint64_t staged = 0;
  if (stored.ok()) {
    for (const StoredRevision& revision : stored->revisions) {
      if (revision.state == RevisionState::kStaged) staged = revision.revision;
    }
  }
  switch (step.kind) {
    case 0:
      return store.DeleteMap(map, 0).status();
    case 1:
    case 2:
      return store.Activate(map, staged).status();
    case 3:
      return store.Withdraw(map, staged).status();
    case 4:
      return store.SetCanary(map, staged, {"bus", "tram"}).status();
    case 5:
    case 6:
    case 7:
      return store.Collect().status();
    case 8: {
      LastPose pose;
      pose.vehicle = absl::StrCat("bus ", random.Index(3));
      pose.map = map;
      return store.SaveLastPoses({pose});
    }
    case 9:
      // More than one piece.
      return UploadBytes(store, PointBytes(step.seed, 180000)).status();
    default:
      break;
  }
  RevisionCommit commit;
  commit.map = map;
  commit.base_revision = active;
  commit.request_id = absl::StrCat(step.seed);
  commit.stage = step.kind < 13;
  for (int i = random.Index(4); i >= 0; --i) {
    const std::string id = absl::StrCat("tile ", random.Index(6));
    if (random.Index(4) == 0) {
      commit.change[id] = std::nullopt;
      continue;
    }
    const auto seed = static_cast<uint64_t>(random.Index(50));
    const std::string bytes = PointBytes(seed, 100 + 10 * seed);
    const auto digest = UploadBytes(store, bytes);
    if (!digest.ok()) return digest.status();
    TileRecord tile;
    tile.digest = *digest;
    tile.points = 100 + 10 * seed;
    tile.crc32c = Crc32c(bytes);
    commit.change[id] = tile;
  }
  return store.Commit(commit).status();
}

TEST(CrashTest, WhatWasAcknowledgedOutlastsAPowerCut) {
  const int cuts = Repetitions(100);
  const ScratchDir scratch;
  const std::string directory = scratch.Path("data");
  FaultyDisk disk;
  RandomNumbers random(20260101);
  const auto twin = MakeMemoryMapStore(SmallOptions()).value();
  int acknowledged = 0;
  int half_way = 0;
  int taken_after_all = 0;
  int while_opening = 0;
  for (int cut = 0; cut < cuts; ++cut) {
    SCOPED_TRACE(absl::StrCat("cut ", cut));
    // At times already while the store recovers from the last one.
    const bool early = random.Index(8) == 0;
    if (early) disk.CutPowerAfter(random.Index(12));
    auto store = OpenSqliteMapStore(directory, SmallOptions());
    if (early && disk.power_is_off()) {
      if (store.ok()) store->reset();
      disk.Restart(random);
      store = OpenSqliteMapStore(directory, SmallOptions());
      ++while_opening;
    }
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_THAT((*store)->damage(), ::testing::IsEmpty());
    if (random.Index(3) == 0) {
      disk.CutPowerAtSync(random.Index(6));
    } else {
      disk.CutPowerAfter(random.Index(random.Index(4) == 0 ? 2000 : 80));
    }
    Step step;
    absl::Status done;
    while (!disk.power_is_off()) {
      step = RandomStep(random);
      done = ApplyStep(**store, step);
      if (!done.ok() && disk.power_is_off()) break;
      // Done, or refused for good, and so it is by the twin.
      ASSERT_EQ(ApplyStep(*twin, step).code(), done.code()) << done;
      ++acknowledged;
    }
    store->reset();
    disk.Restart(random);

    store = OpenSqliteMapStore(directory, SmallOptions());
    ASSERT_TRUE(store.ok()) << store.status();
    // What Collect frees is not synced, and may be back.
    CollectAll(**store);
    CollectAll(*twin);
    const std::string dump = DumpOf(**store);
    if (!done.ok()) {
      ++half_way;
      if (dump != DumpOf(*twin)) {
        // What was not acknowledged is there whole, or not at all.
        ApplyStep(*twin, step).IgnoreError();
        CollectAll(*twin);
        ++taken_after_all;
      }
    }
    ASSERT_EQ(dump, DumpOf(*twin));
    ASSERT_EQ(dump.find("another"), std::string::npos);
    store->reset();
    if (cut % 10 == 0) {
      ASSERT_EQ(FaultsOf(directory), "");
    }
  }
  std::cout << cuts << " cuts, " << while_opening << " more while the store opened; "
            << acknowledged << " steps acknowledged, " << half_way << " cut, of which "
            << taken_after_all << " were there\n";
  EXPECT_GT(half_way, cuts / 4);
}

TEST(CrashTest, AfterASyncThatFailedNothingIsWrittenUntilTheStoreIsOpenedAgain) {
  const ScratchDir scratch;
  const std::string directory = scratch.Path("data");
  FaultyDisk disk;
  RandomNumbers random(1);
  auto store = OpenSqliteMapStore(directory, SmallOptions()).value();
  ASSERT_TRUE(store->Commit(CommitOf(*store, "town", 0, {{"a", 1}})).ok());
  RevisionCommit second = CommitOf(*store, "town", 1, {{"a", 2}});
  second.request_id = "second";
  disk.FailSyncs(1);
  EXPECT_THAT(store->Commit(second).status(),
              StatusIs(absl::StatusCode::kInternal,
                       ::testing::HasSubstr("is unknown until the store is opened")));
  EXPECT_EQ(disk.failed_syncs(), 1);
  // The disk would take it now, without what came before it.
  EXPECT_THAT(
      store->Commit(second).status(),
      StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("nothing is written any more")));
  EXPECT_EQ(store->Upload().status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(store->GetMap("town")->active_revision, 1U);
  EXPECT_EQ(DigestsOf(store->GetManifest("town", 1).value()).size(), 1U);
  // Opened again without a cut, the store finds in its log what the disk never got. What it
  // acknowledges from then on must not stand on that.
  store.reset();
  store = OpenSqliteMapStore(directory, SmallOptions()).value();
  const uint64_t base = store->GetMap("town")->active_revision;
  ASSERT_TRUE(store->Commit(CommitOf(*store, "town", base, {{"b", 3}})).ok());
  const std::string acknowledged = DumpOf(*store);
  disk.CutPowerAfter(0);
  EXPECT_FALSE(store->SaveLastPoses({LastPose()}).ok());
  store.reset();
  disk.Restart(random);
  store = OpenSqliteMapStore(directory, SmallOptions()).value();
  EXPECT_EQ(DumpOf(*store), acknowledged);
  store.reset();
  EXPECT_EQ(FaultsOf(directory), "");
}

TEST(CrashTest, ASyncThatFailsWhileTheLogIsMovedLosesNothing) {
  const ScratchDir scratch;
  const std::string directory = scratch.Path("data");
  FaultyDisk disk;
  RandomNumbers random(2);
  auto store = OpenSqliteMapStore(directory, SmallOptions()).value();
  ASSERT_TRUE(store->Commit(CommitOf(*store, "town", 0, {{"a", 1}})).ok());
  const std::string acknowledged = DumpOf(*store);
  // Content until the log is moved; the sync before that fails.
  disk.FailSyncs(1);
  absl::Status status;
  for (uint64_t seed = 1; seed < 100 && status.ok(); ++seed) {
    status = UploadBytes(*store, PointBytes(seed, 100000)).status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_EQ(disk.failed_syncs(), 1);
  EXPECT_EQ(DumpOf(*store), acknowledged);
  disk.CutPowerAfter(0);
  store.reset();
  disk.Restart(random);
  store = OpenSqliteMapStore(directory, SmallOptions()).value();
  EXPECT_EQ(DumpOf(*store), acknowledged);
}

// Commits for ever; a line to the pipe after each that is acknowledged.
[[noreturn]] void CommitUntilKilled(const std::string& directory, int pipe, uint64_t seed) {
  auto store = OpenSqliteMapStore(directory, SmallOptions());
  RandomNumbers random(seed);
  while (store.ok()) {
    const auto map = (*store)->GetMap("town");
    const uint64_t base = map.ok() ? map->active_revision : 0;
    RevisionCommit commit =
        CommitOf(**store, "town", base,
                 {{absl::StrCat(random.Index(20)), static_cast<uint64_t>(random.Index(1000))}});
    const auto committed = (*store)->Commit(commit);
    if (!committed.ok()) break;
    const uint64_t revision = committed->revision.revision;
    if (::write(pipe, &revision, sizeof(revision)) != sizeof(revision)) break;
    if (random.Index(5) == 0 && !(*store)->Collect().ok()) break;
  }
  ::_exit(1);
}

TEST(CrashTest, WhatWasAcknowledgedOutlastsAKill) {
  const int kills = Repetitions(10);
  const ScratchDir scratch;
  const std::string directory = scratch.Path("data");
  RandomNumbers random(3);
  uint64_t acknowledged = 0;
  int ahead = 0;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE(absl::StrCat("kill ", kill));
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      CommitUntilKilled(directory, ends[1], static_cast<uint64_t>(kill));
    }
    ::close(ends[1]);
    // From the first commit of the child on, some more of them and a moment.
    const int commits = 1 + random.Index(20);
    bool alive = true;
    for (int i = 0; i < commits && alive; ++i) {
      pollfd readable{ends[0], POLLIN, 0};
      uint64_t revision = 0;
      alive =
          ::poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(kTestTimeout))) == 1 &&
          ::read(ends[0], &revision, sizeof(revision)) == sizeof(revision);
      if (alive) acknowledged = revision;
    }
    EXPECT_TRUE(alive) << "the child has failed";
    // Real time: the kill comes at a random moment, and all must hold at each.
    ::usleep(static_cast<useconds_t>(random.Index(8000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    // What it wrote into the pipe before it died was acknowledged as well.
    uint64_t revision = 0;
    while (::read(ends[0], &revision, sizeof(revision)) == sizeof(revision)) {
      acknowledged = revision;
    }
    ::close(ends[0]);

    auto store = OpenSqliteMapStore(directory, SmallOptions()).value();
    const auto map = store->GetMap("town").value();
    // One commit may have been under way.
    EXPECT_GE(map.active_revision, acknowledged);
    EXPECT_LE(map.active_revision, acknowledged + 1);
    if (map.active_revision > acknowledged) ++ahead;
    acknowledged = map.active_revision;
    const std::string dump = DumpOf(*store);
    EXPECT_EQ(dump.find("another"), std::string::npos) << dump;
    EXPECT_EQ(dump.find(": "), std::string::npos) << dump;  // an error
    store.reset();
    if (kill % 10 == 0) {
      EXPECT_EQ(FaultsOf(directory), "");
    }
  }
  std::cout << kills << " kills, " << acknowledged << " commits, " << ahead
            << " of them committed and not acknowledged\n";
}

}  // namespace
}  // namespace voxloc::server
