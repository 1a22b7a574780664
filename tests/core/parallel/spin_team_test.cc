// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/spin_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace voxloc {
namespace {

TEST(SpinTeamTest, EveryIndexOfEveryStepIsMetOnce) {
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    ThreadPool pool(threads);
    SpinTeam::Run(&pool, threads, [&](SpinTeam& team) {
      EXPECT_EQ(team.threads(), threads);
      for (size_t step = 0; step < 300; ++step) {
        const size_t count = step % 7 == 0 ? 0 : step;
        std::vector<std::atomic<int>> met(count);
        team.ParallelFor(count, [&](size_t i) { met[i].fetch_add(1, std::memory_order_relaxed); });
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(met[i], 1) << "step " << step;
      }
    });
  }
}

TEST(SpinTeamTest, WhatAStepWroteIsSeenInTheNext) {
  ThreadPool pool(4);
  std::vector<size_t> sums(64, 1);
  SpinTeam::Run(&pool, 4, [&](SpinTeam& team) {
    for (int step = 0; step < 200; ++step) {
      const std::vector<size_t> before = sums;
      team.ParallelFor(sums.size(), [&](size_t i) {
        sums[i] = before[i] + before[(i + 1) % before.size()] % 97;
      });
    }
  });
  std::vector<size_t> alone(64, 1);
  for (int step = 0; step < 200; ++step) {
    const std::vector<size_t> before = alone;
    for (size_t i = 0; i < alone.size(); ++i) {
      alone[i] = before[i] + before[(i + 1) % before.size()] % 97;
    }
  }
  EXPECT_EQ(sums, alone);
}

TEST(SpinTeamTest, OthersTakePart) {
  ThreadPool pool(2);
  SpinTeam::Run(&pool, 2, [](SpinTeam& team) {
    // Two indices that wait for each other need two threads.
    std::atomic<int> there{0};
    team.ParallelFor(2, [&](size_t) {
      ++there;
      while (there < 2) std::this_thread::yield();
    });
    EXPECT_EQ(there, 2);
  });
}

TEST(SpinTeamTest, WithoutAPoolOneThreadDoesAll) {
  int called = 0;
  SpinTeam::Run(nullptr, 4, [&](SpinTeam& team) {
    EXPECT_EQ(team.threads(), 1u);
    team.ParallelFor(5, [&](size_t) { ++called; });
  });
  EXPECT_EQ(called, 5);
}

TEST(SpinTeamTest, AnExceptionReachesTheLeaderAndTheTeamGoesOn) {
  ThreadPool pool(3);
  SpinTeam::Run(&pool, 3, [](SpinTeam& team) {
    for (int step = 0; step < 50; ++step) {
      EXPECT_THROW(team.ParallelFor(20,
                                    [](size_t i) {
                                      if (i % 5 == 3) throw std::runtime_error("an index failed");
                                    }),
                   std::runtime_error);
      std::atomic<int> met{0};
      team.ParallelFor(20, [&](size_t) { ++met; });
      EXPECT_EQ(met, 20);
    }
  });
}

TEST(SpinTeamTest, WhatTheLeaderThrowsReachesTheCaller) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(
        SpinTeam::Run(&pool, 3, [](SpinTeam&) { throw std::runtime_error("the leader failed"); }),
        std::runtime_error);
  }
}

TEST(SpinTeamTest, SeveralTeamsShareOnePool) {
  ThreadPool pool(3);
  std::atomic<int> met{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 10; ++repeat) {
        SpinTeam::Run(&pool, 3, [&](SpinTeam& team) {
          for (int step = 0; step < 10; ++step) team.ParallelFor(6, [&](size_t) { ++met; });
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(met, 4 * 10 * 10 * 6);
}

}  // namespace
}  // namespace voxloc
