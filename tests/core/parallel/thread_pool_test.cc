// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace voxloc {
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

TEST(ThreadPoolTest, AnExceptionReachesTheCallerWhicheverThreadThrewIt) {
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    ThreadPool pool(threads);
    for (const bool on_caller : {true, false}) {
      if (threads == 1 && !on_caller) continue;
      for (int repeat = 0; repeat < 20; ++repeat) {
        const std::thread::id caller = std::this_thread::get_id();
        std::atomic<bool> thrown{false};
        std::atomic<int> inside{0};
        const auto body = [&](size_t) {
          ++inside;
          if ((std::this_thread::get_id() == caller) == on_caller && !thrown.exchange(true)) {
            --inside;
            throw std::runtime_error("the first");
          }
          // The other threads keep off the indices until it is thrown.
          while (!thrown) std::this_thread::yield();
          --inside;
        };
        try {
          pool.ParallelFor(1000, body);
          ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "the first");
        }
        EXPECT_EQ(inside, 0) << "the body was still in use";
      }
    }
    EXPECT_EQ(Count(pool, 1000), std::vector<int>(1000, 1));
  }
}

TEST(ThreadPoolTest, WhenEveryIndexThrowsOneExceptionReachesTheCaller) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    EXPECT_THROW(pool.ParallelFor(100, [](size_t) { throw std::bad_alloc(); }), std::bad_alloc);
  }
  EXPECT_EQ(Count(pool, 1000), std::vector<int>(1000, 1));
}

TEST(ThreadPoolTest, AnExceptionOfOneCallerDoesNotTouchAnothers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> faults{0};
  for (size_t c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (size_t repeat = 0; repeat < 50; ++repeat) {
        bool threw = false;
        try {
          pool.ParallelFor(64, [&](size_t i) {
            if (c % 2 == 0 && i == repeat) throw std::bad_alloc();
          });
        } catch (const std::bad_alloc&) {
          threw = true;
        }
        if (threw != (c % 2 == 0)) ++faults;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(faults, 0);
}

TEST(ThreadPoolTest, ALongRangeLeavesAShortOneItsShare) {
  constexpr size_t kLong = 1000;
  ThreadPool pool(2);  // one caller and one thread of the pool
  absl::Notification long_caller_in, pool_in_long, short_caller_in, pool_in_short;
  std::atomic<size_t> long_done{0};
  size_t long_done_before_short = kLong;
  std::atomic<bool> caller_holds{false};
  std::thread long_caller([&] {
    const std::thread::id caller = std::this_thread::get_id();
    pool.ParallelFor(kLong, [&](size_t) {
      if (std::this_thread::get_id() == caller) {
        // Leaves all other indices to the pool, until that has helped the short range.
        if (!caller_holds.exchange(true)) long_caller_in.Notify();
        pool_in_short.WaitForNotification();
      } else if (long_done.load() == 0) {
        pool_in_long.Notify();
        short_caller_in.WaitForNotification();
      }
      ++long_done;
    });
  });
  long_caller_in.WaitForNotification();
  pool_in_long.WaitForNotification();
  const std::thread::id caller = std::this_thread::get_id();
  pool.ParallelFor(2, [&](size_t) {
    if (std::this_thread::get_id() == caller) {
      short_caller_in.Notify();
      pool_in_short.WaitForNotification();
    } else {
      long_done_before_short = long_done.load();
      pool_in_short.Notify();
    }
  });
  long_caller.join();
  EXPECT_LE(long_done_before_short, 2);
  EXPECT_EQ(long_done, kLong);
}

TEST(ThreadPoolTest, AnUnusedPoolEnds) {
  for (const size_t threads : {size_t{1}, size_t{4}}) ThreadPool pool(threads);
}

}  // namespace
}  // namespace voxloc
