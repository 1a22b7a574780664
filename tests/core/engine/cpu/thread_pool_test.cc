// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace voxloc::cpu {
namespace {

// How often each index was met.
std::vector<int> Count(ThreadPool& pool, size_t count) {
  std::vector<std::atomic<int>> met(count);
  pool.ParallelFor(count, [&](size_t i) { met[i].fetch_add(1, std::memory_order_relaxed); });
  return {met.begin(), met.end()};
}

TEST(ThreadPoolTest, EveryIndexIsMetOnce) {
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{1000}}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        EXPECT_EQ(Count(pool, count), std::vector<int>(count, 1));
      }
    }
  }
}

TEST(ThreadPoolTest, WhatTheBodyWroteIsSeenWhenItReturns) {
  ThreadPool pool(4);
  std::vector<size_t> squares(5000);
  pool.ParallelFor(squares.size(), [&](size_t i) { squares[i] = i * i; });
  for (size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], i * i);
}

TEST(ThreadPoolTest, CallersAtOnceEachGetTheirOwnIndices) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> faults{0};
  for (size_t c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (size_t repeat = 0; repeat < 50; ++repeat) {
        const size_t count = 1 + 37 * c + repeat;
        if (Count(pool, count) != std::vector<int>(count, 1)) ++faults;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(faults, 0);
}

TEST(ThreadPoolTest, AnUnusedPoolEnds) {
  for (const size_t threads : {size_t{1}, size_t{4}}) ThreadPool pool(threads);
}

}  // namespace
}  // namespace voxloc::cpu
