// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/map_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MapStoreTest : public StoreTest {};

INSTANTIATE_TEST_SUITE_P(Kinds, MapStoreTest, AllStores(), NameOf);

TEST_P(MapStoreTest, LastsWhereItIsOnADisk) {
  EXPECT_EQ(store_->durable(), Lasts());
  EXPECT_THAT(store_->damage(), IsEmpty());
  const RevisionCommit commit = CommitOf(*store_, "town", 0, {{"a", 1}});
  ASSERT_TRUE(store_->Commit(commit).ok());
  Open(options_);
  if (!Lasts()) {
    EXPECT_THAT(store_->ListMaps().value(), IsEmpty());
    return;
  }
  EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  EXPECT_EQ(ReadBytes(*store_, commit.change.at("a")->digest).value(), PointBytes(1, 100));
  EXPECT_THAT(store_->damage(), IsEmpty());
}

TEST_P(MapStoreTest, OneProcessHasADirectory) {
  if (!OnFile()) GTEST_SKIP() << "not in a directory";
  EXPECT_THAT(
      OpenSqliteMapStore(directory(), options_).status(),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(absl::StrCat("process ", ::getpid()))));
  Close();
  EXPECT_TRUE(OpenSqliteMapStore(directory(), options_).ok());
}

TEST_P(MapStoreTest, RemembersWhereVehiclesWereLast) {
  LastPose pose;
  pose.vehicle = "bus";
  pose.map = "town";
  pose.revision = 3;
  pose.stamp_unix_ns = kTestStartNs;
  pose.map_T_base.translation = {1.5, -2.5, 1e6 + 1e-9};
  pose.map_T_base.rotation = Eigen::Quaterniond(0.5, -0.5, 0.5, -0.5);
  LastPose other = pose;
  other.vehicle = "tram";
  LastPose elsewhere = pose;
  elsewhere.vehicle = "ferry";
  elsewhere.map = "harbour";
  ASSERT_TRUE(store_->SaveLastPoses({pose, other, elsewhere}).ok());
  pose.revision = 4;
  ASSERT_TRUE(store_->SaveLastPoses({pose}).ok());

  const auto read = store_->GetLastPose("bus").value();
  EXPECT_EQ(read.vehicle, "bus");
  EXPECT_EQ(read.map, "town");
  EXPECT_EQ(read.revision, 4U);
  EXPECT_EQ(read.stamp_unix_ns, kTestStartNs);
  EXPECT_EQ(read.map_T_base.translation, pose.map_T_base.translation);
  EXPECT_EQ(read.map_T_base.rotation.coeffs(), pose.map_T_base.rotation.coeffs());
  EXPECT_EQ(store_->GetLastPose("car").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->ListLastPoses("town")->size(), 2U);
  EXPECT_EQ(store_->ListLastPoses("harbour")->at(0).vehicle, "ferry");
  EXPECT_THAT(store_->ListLastPoses("city").value(), IsEmpty());
  // With a map its poses go.
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {})).ok());
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  EXPECT_EQ(store_->GetLastPose("bus").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->GetLastPose("ferry").ok());
}

TEST_P(MapStoreTest, TheNumberOfLastPosesIsLimited) {
  options_.max_last_poses = 3;
  Open(options_);
  LastPose pose;
  pose.map = "town";
  for (int i = 0; i < 10; ++i) {
    pose.vehicle = absl::StrCat("bus ", i);
    now_ns_ += kSecondNs;
    ASSERT_TRUE(store_->SaveLastPoses({pose}).ok());
  }
  CollectAll(*store_);
  EXPECT_EQ(store_->ListLastPoses("town")->size(), 3U);
  EXPECT_TRUE(store_->GetLastPose("bus 9").ok());
}

TEST_P(MapStoreTest, OfTwoWritersThatRaceOneIsFirst) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRevisions = 25;
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 0}})).ok());
  std::atomic<uint64_t> committed{0};
  std::atomic<uint64_t> aborted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (;;) {
        const auto map = store_->GetMap("town");
        ASSERT_TRUE(map.ok()) << map.status();
        if (map->active_revision >= kRevisions) return;
        const auto commit =
            store_->Commit(CommitOf(*store_, "town", map->active_revision,
                                    {{absl::StrCat("tile ", thread), map->active_revision}}));
        ++(commit.ok() ? committed : aborted);
        if (!commit.ok()) {
          ASSERT_EQ(commit.status().code(), absl::StatusCode::kAborted) << commit.status();
        }
        const auto manifest = store_->GetManifest("town", map->active_revision);
        // Others may have come so far meanwhile that it is no longer kept.
        if (manifest.ok()) {
          const auto bytes = ReadBytes(*store_, manifest->begin()->second.digest);
          ASSERT_TRUE(bytes.ok() || absl::IsNotFound(bytes.status())) << bytes.status();
        }
        ASSERT_TRUE(store_->Collect().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Every success is a revision of its own.
  EXPECT_EQ(store_->GetMap("town")->active_revision, committed + 1);
  EXPECT_GE(committed, kRevisions - 1);
}

TEST_P(MapStoreTest, ManyReadAtOnce) {
  std::vector<Sha256Digest> digests;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    digests.push_back(UploadBytes(*store_, PointBytes(seed, 200000)).value());
  }
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 20; ++thread) {
    threads.emplace_back([&, thread] {
      const auto bytes = ReadBytes(*store_, digests[thread % 4]);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_TRUE(*bytes == PointBytes(thread % 4, 200000));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace voxloc::server
