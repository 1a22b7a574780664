// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "core/engine/replica/replica_set.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// How many items each worker gets.
std::vector<size_t> Counts(const std::vector<WorkAssignment>& shares, size_t workers) {
  std::vector<size_t> counts(workers, 0);
  for (const WorkAssignment& share : shares) counts[share.worker] += share.end - share.begin;
  return counts;
}

void Complete(std::vector<WorkAssignment>& shares, WorkLedger& ledger) {
  for (WorkAssignment& share : shares) ledger.Complete(share);
}

TEST(WorkLedgerTest, IdleWorkersGetEqualRunsThatCoverTheBatchInOrder) {
  WorkLedger ledger(3);
  auto shares = ledger.Split(std::vector<uint64_t>(12, 100), {0, 1, 2});
  ASSERT_EQ(shares.size(), 3u);
  size_t next = 0;
  for (const WorkAssignment& share : shares) {
    EXPECT_EQ(share.begin, next);
    EXPECT_EQ(share.end - share.begin, 4u);
    EXPECT_EQ(share.work, 400u);
    EXPECT_EQ(ledger.outstanding(share.worker), 400u);
    next = share.end;
  }
  EXPECT_EQ(next, 12u);
  Complete(shares, ledger);
  for (const size_t worker : {0, 1, 2}) EXPECT_EQ(ledger.outstanding(worker), 0u);
}

TEST(WorkLedgerTest, AShareIsCompletedOnce) {
  WorkLedger ledger(1);
  auto first = ledger.Split({10}, {0});
  const auto second = ledger.Split({7}, {0});
  for (int i = 0; i < 2; ++i) {
    Complete(first, ledger);
    EXPECT_EQ(ledger.outstanding(0), 7u);
  }
  EXPECT_EQ(second[0].work, 7u);
}

TEST(WorkLedgerTest, ALoneItemGoesToTheLeastBusyWorker) {
  WorkLedger ledger(3);
  for (const size_t expected : {0, 1, 2}) {
    const auto shares = ledger.Split({10}, {0, 1, 2});
    ASSERT_EQ(shares.size(), 1u);
    EXPECT_EQ(shares[0].worker, expected);
  }
  (void)ledger.Split({5}, {0, 1, 2});
  EXPECT_EQ(ledger.Split({1}, {0, 1, 2})[0].worker, 1u);
  // A long one too.
  EXPECT_EQ(ledger.Split({100'000}, {0, 2})[0].worker, 2u);
}

TEST(WorkLedgerTest, OutstandingWorkIsMadeUpFor) {
  WorkLedger ledger(2);
  (void)ledger.Split({600}, {0});
  const std::vector<uint64_t> items(10, 100);
  auto shares = ledger.Split(items, {0, 1});
  EXPECT_EQ(Counts(shares, 2), (std::vector<size_t>{2, 8}));
  Complete(shares, ledger);
  // One that has more than the whole batch gets nothing of it.
  (void)ledger.Split({5000}, {0});
  EXPECT_EQ(Counts(ledger.Split(items, {0, 1}), 2), (std::vector<size_t>{0, 10}));
}

TEST(WorkLedgerTest, ItemsCountByTheirWorkForTheNamedWorkersOnly) {
  WorkLedger ledger(4);
  EXPECT_EQ(Counts(ledger.Split({300, 100, 100, 100}, {1, 3}), 4),
            (std::vector<size_t>{0, 1, 0, 3}));
}

TEST(WorkLedgerTest, EveryItemIsDealtOnceWhateverIsOutstanding) {
  RandomNumbers random(81);
  WorkLedger ledger(5);
  const std::vector<size_t> workers = {0, 1, 2, 3, 4};
  std::vector<std::vector<WorkAssignment>> open;
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint64_t> items(static_cast<size_t>(random.Index(40)));
    for (uint64_t& item : items) item = 1U + static_cast<uint64_t>(random.Index(1000));
    const auto shares = ledger.Split(items, workers);
    size_t next = 0;
    for (const WorkAssignment& share : shares) {
      ASSERT_EQ(share.begin, next);
      ASSERT_LT(share.begin, share.end);
      ASSERT_EQ(share.work,
                std::accumulate(items.begin() + static_cast<ptrdiff_t>(share.begin),
                                items.begin() + static_cast<ptrdiff_t>(share.end), uint64_t{0}));
      next = share.end;
    }
    ASSERT_EQ(next, items.size());
    open.push_back(shares);
    if (open.size() > 3) {
      Complete(open.front(), ledger);
      open.erase(open.begin());
    }
  }
  for (auto& shares : open) Complete(shares, ledger);
  for (const size_t worker : workers) EXPECT_EQ(ledger.outstanding(worker), 0u);
}

TEST(WorkLedgerTest, ManyThreadsKeepItStraight) {
  WorkLedger ledger(3);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&ledger] {
      for (int round = 0; round < 500; ++round) {
        auto shares = ledger.Split(std::vector<uint64_t>(7, 11), {0, 1, 2});
        Complete(shares, ledger);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const size_t worker : {0, 1, 2}) EXPECT_EQ(ledger.outstanding(worker), 0u);
}

}  // namespace
}  // namespace voxloc
