// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;

class ContentTest : public StoreTest {};

INSTANTIATE_TEST_SUITE_P(Kinds, ContentTest, AllStores(), NameOf);

TEST_P(ContentTest, IsNamedByItsDigestAndReadAsItCame) {
  // Below, at and above the size of a piece, whole rows and not.
  for (const size_t bytes : {0, 1, 12, 100, 2097144, 2097145, 6000000}) {
    const std::string content = PointBytes(bytes, bytes / 12 + 1).substr(0, bytes);
    const auto digest = UploadBytes(*store_, content, 777777).value();
    EXPECT_EQ(digest, Sha256Of(content));
    const auto read = ReadBytes(*store_, digest).value();
    EXPECT_TRUE(read == content) << bytes;
  }
  EXPECT_EQ(ReadBytes(*store_, Sha256Of("absent")).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(ContentTest, IsKeptOnce) {
  const std::string content = PointBytes(1, 500000);  // three pieces
  ASSERT_TRUE(UploadBytes(*store_, content).ok());
  const StoreUsage once = store_->Usage().value();
  EXPECT_EQ(once.contents, 1U);
  EXPECT_GT(once.content_bytes, 0U);
  EXPECT_EQ(once.unreferenced_bytes, once.content_bytes);
  EXPECT_GE(once.bytes, once.content_bytes);
  ASSERT_TRUE(UploadBytes(*store_, content).ok());
  EXPECT_EQ(store_->Usage().value().content_bytes, once.content_bytes);
  EXPECT_EQ(store_->Usage().value().contents, 1U);
}

TEST_P(ContentTest, AnUploadThatIsNotFinishedLeavesNothing) {
  {
    auto upload = store_->Upload();
    ASSERT_TRUE(upload.ok());
    ASSERT_TRUE((*upload)->Append(PointBytes(1, 500000)).ok());
    EXPECT_GT(store_->Usage().value().content_bytes, 0U);
    EXPECT_EQ(store_->Usage().value().contents, 0U);
  }
  EXPECT_EQ(store_->Usage().value().content_bytes, 0U);
}

TEST_P(ContentTest, ReportsWhichContentExists) {
  const auto first = UploadBytes(*store_, "first");
  const auto second = UploadBytes(*store_, "second");
  ASSERT_TRUE(first.ok() && second.ok());
  const auto there = store_->HasContent({*first, Sha256Of("third"), *second});
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_THAT(*there, ElementsAre(true, false, true));
}

TEST_P(ContentTest, ReadingEndsWithTheErrorOfWhoTakes) {
  const auto digest = UploadBytes(*store_, PointBytes(1, 500000));
  ASSERT_TRUE(digest.ok());
  int parts = 0;
  const absl::Status status = store_->ReadContent(*digest, [&parts](absl::string_view) {
    return ++parts == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::CancelledError("enough"));
  EXPECT_EQ(parts, 2);
}

TEST_P(ContentTest, WhatNoRevisionRefersToIsLimited) {
  options_.max_unreferenced_bytes = 3000;
  Open(options_);
  const TileRecord tile = UploadTile(*store_, 1, 200);
  const uint64_t used = store_->Usage().value().unreferenced_bytes;
  ASSERT_GT(used, 1500U);
  const auto refused = UploadBytes(*store_, PointBytes(2, 200));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Usage().value().unreferenced_bytes, used);
  // What a revision refers to does not count.
  RevisionCommit commit;
  commit.map = "town";
  commit.change["a"] = tile;
  ASSERT_TRUE(store_->Commit(commit).ok());
  EXPECT_EQ(store_->Usage().value().unreferenced_bytes, 0U);
  EXPECT_TRUE(UploadBytes(*store_, PointBytes(2, 200)).ok());
}

TEST_P(ContentTest, WhatNoRevisionRefersToExpires) {
  const auto early = UploadBytes(*store_, "early");
  const auto asked = UploadBytes(*store_, "asked for");
  now_ns_ += 23 * kHourNs;
  const auto late = UploadBytes(*store_, "late");
  ASSERT_TRUE(early.ok() && asked.ok() && late.ok());
  EXPECT_THAT(store_->HasContent({*asked}).value(), ElementsAre(true));
  EXPECT_EQ(CollectAll(*store_).contents, 0U);
  now_ns_ += 2 * kHourNs;
  EXPECT_EQ(CollectAll(*store_).contents, 1U);
  EXPECT_THAT(store_->HasContent({*early, *asked, *late}).value(), ElementsAre(false, true, true));
  now_ns_ += 25 * kHourNs;
  const CollectReport rest = CollectAll(*store_);
  EXPECT_EQ(rest.contents, 2U);
  EXPECT_GT(rest.bytes, 0U);
  EXPECT_EQ(store_->Usage().value().content_bytes, 0U);
}

TEST_P(ContentTest, AClockThatIsSetBackMakesNothingExpireEarly) {
  const auto before = UploadBytes(*store_, "before");
  now_ns_ -= 48 * kHourNs;
  const auto during = UploadBytes(*store_, "during");
  ASSERT_TRUE(before.ok() && during.ok());
  EXPECT_EQ(CollectAll(*store_).contents, 0U);
  now_ns_ += 48 * kHourNs + kHourNs;
  EXPECT_EQ(CollectAll(*store_).contents, 0U);
  EXPECT_THAT(store_->HasContent({*before, *during}).value(), ElementsAre(true, true));
}

TEST_P(ContentTest, IsFreedInBoundedSteps) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(UploadBytes(*store_, PointBytes(i, 10)).ok());
  now_ns_ += 25 * kHourNs;
  uint64_t freed = 0;
  int calls = 0;
  for (bool more = true; more; ++calls) {
    const auto report = store_->Collect().value();
    EXPECT_LE(report.contents, 40U);
    freed += report.contents;
    more = report.more;
  }
  EXPECT_EQ(freed, 100U);
  EXPECT_GT(calls, 2);
}

}  // namespace
}  // namespace voxloc::server
