// SPDX-License-Identifier: Apache-2.0
//
// What a pool does with its workspaces, with one that needs no device.

#include "cuda/runtime/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace voxloc::cuda {
namespace {

struct Counts {
  int made = 0;
  int destroyed = 0;
  int in_flight = 0;  // work that was queued and not waited for
};

class Workspace {
 public:
  explicit Workspace(Counts& counts) : counts_(counts) { ++counts_.made; }
  ~Workspace() { ++counts_.destroyed; }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void Queue() { ++counts_.in_flight; }
  void Drain() noexcept { counts_.in_flight = 0; }

 private:
  Counts& counts_;
};

class PoolTest : public ::testing::Test {
 protected:
  Counts counts_;
  Pool<Workspace> pool_{4, [this] { return std::make_unique<Workspace>(counts_); }};
};

TEST_F(PoolTest, NothingIsInFlightWhenALeaseEnds) {
  {
    auto lease = pool_.Acquire();
    ASSERT_TRUE(lease.ok());
    (*lease)->Queue();
    EXPECT_EQ(counts_.in_flight, 1);
  }
  EXPECT_EQ(counts_.in_flight, 0);
  {
    auto lease = pool_.Acquire();
    ASSERT_TRUE(lease.ok());
    (*lease)->Queue();
    lease->Discard();
    EXPECT_EQ(counts_.in_flight, 0);
  }
}

TEST_F(PoolTest, ALeaseThatEndsByAnExceptionEndsItsWorkspaceWithNothingInFlight) {
  try {
    auto lease = pool_.Acquire();
    ASSERT_TRUE(lease.ok());
    (*lease)->Queue();
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(counts_.in_flight, 0);
    EXPECT_EQ(counts_.destroyed, 1);
  }
  EXPECT_EQ(pool_.idle(), 0u);
  ASSERT_TRUE(pool_.Acquire().ok());
  EXPECT_EQ(counts_.made, 2);
  EXPECT_EQ(pool_.idle(), 1u);
}

// A lease within the handling of another exception is one like any other.
TEST_F(PoolTest, AWorkspaceIsKeptWhereAnExceptionWasUnderWayBefore) {
  class TakesOneAtTheEnd {
   public:
    explicit TakesOneAtTheEnd(Pool<Workspace>& pool) : pool_(pool) {}
    ~TakesOneAtTheEnd() { EXPECT_TRUE(pool_.Acquire().ok()); }

   private:
    Pool<Workspace>& pool_;
  };
  try {
    const TakesOneAtTheEnd at_the_end(pool_);
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(pool_.idle(), 1u);
}

TEST_F(PoolTest, APlaceIsNotLostWhereAWorkspaceCannotBeMade) {
  int calls = 0;
  Pool<Workspace> pool(1, [&]() -> absl::StatusOr<std::unique_ptr<Workspace>> {
    ++calls;
    if (calls == 1) return absl::ResourceExhaustedError("no memory");
    if (calls == 2) throw std::bad_alloc();
    return std::make_unique<Workspace>(counts_);
  });
  EXPECT_EQ(pool.Acquire().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THROW((void)pool.Acquire(), std::bad_alloc);
  EXPECT_TRUE(pool.Acquire().ok());  // would wait for ever
}

TEST_F(PoolTest, WorkspacesOfABurstAreDestroyedWhenTheyHaveNotBeenNeededForLong) {
  const auto take = [&](size_t at_once) {
    std::vector<Pool<Workspace>::Lease> leases;
    for (size_t i = 0; i < at_once; ++i) {
      auto lease = pool_.Acquire();
      ASSERT_TRUE(lease.ok());
      leases.push_back(*std::move(lease));
    }
  };
  take(4);
  EXPECT_EQ(pool_.idle(), 4u);
  for (size_t i = 0; i < 2 * kRecentUses + 8; ++i) take(1);
  EXPECT_EQ(pool_.idle(), 1u);
  EXPECT_EQ(counts_.destroyed, 3);
}

TEST_F(PoolTest, WorkThatRepeatsItselfMakesNoWorkspace) {
  const auto round = [&] {
    std::vector<Pool<Workspace>::Lease> leases;
    for (int i = 0; i < 3; ++i) {
      auto lease = pool_.Acquire();
      ASSERT_TRUE(lease.ok());
      leases.push_back(*std::move(lease));
    }
    leases.clear();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool_.Acquire().ok());
  };
  round();
  EXPECT_EQ(counts_.made, 3);
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(counts_.made, 3);
}

}  // namespace
}  // namespace voxloc::cuda
