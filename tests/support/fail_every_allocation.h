// SPDX-License-Identifier: Apache-2.0
//
// Makes every allocation of an engine's call fail once, on any thread, alone and together with all
// later ones. For programs that link voxloc_allocation_hooks.

#ifndef VOXLOC_TESTS_SUPPORT_FAIL_EVERY_ALLOCATION_H_
#define VOXLOC_TESTS_SUPPORT_FAIL_EVERY_ALLOCATION_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "tests/support/allocation_hooks.h"
#include "tests/support/result_bits.h"

namespace voxloc {

// Makes call(engine) with the n-th allocation failing, n = 1, 2, ... until no allocation fails;
// next_engine() returns the engine of each call. check(result) runs without failing allocations and
// returns whether the result is complete.
template <typename NextEngine, typename MakeCall, typename Check>
void FailEveryAllocation(const NextEngine& next_engine, const MakeCall& call, const Check& check) {
  size_t incomplete = 0;
  for (const uint64_t count : {uint64_t{1}, FailingAllocations::kAllSubsequent}) {
    uint64_t failed = 1;
    uint64_t all_failed = 0;
    for (uint64_t first = 1; failed > 0; first += 1 + first / 64) {
      SCOPED_TRACE(testing::Message() << "allocation " << first << (count > 1 ? " and on" : ""));
      Engine& engine = next_engine();
      const auto result = [&] {
        const FailingAllocations failing(first, count);
        auto made = call(engine);
        failed = failing.failed();
        return made;
      }();
      all_failed += failed;
      if (!check(result)) ++incomplete;
      EXPECT_TRUE(engine.Health().ok()) << engine.Health();
      EXPECT_TRUE(check(call(engine))) << "the engine did not recover";
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(all_failed, 0u);
  }
  EXPECT_GT(incomplete, 0u);
}

// For calls that answer with these bits, or that there is no memory.
template <typename BitsOf>
auto BitsOrNoMemory(const std::string& expected, const BitsOf& bits_of) {
  return [&expected, &bits_of](const auto& result) {
    if (result.ok()) {
      EXPECT_TRUE(bits_of(*result) == expected);
    } else {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted) << result.status();
    }
    return result.ok();
  };
}

// The results; none where there was no memory for them.
inline std::vector<AlignResult> AlignOrEmpty(Engine& engine, const std::vector<AlignJob>& jobs) {
  try {
    return engine.Align(jobs);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// For calls of AlignOrEmpty: each result has these bits, or says that there is no memory.
inline auto AllBitsOrNoMemory(const std::vector<std::string>& expected) {
  return [&expected](const std::vector<AlignResult>& results) {
    if (results.empty()) return false;
    EXPECT_EQ(results.size(), expected.size());
    if (results.size() != expected.size()) return false;
    bool all = true;
    for (size_t i = 0; i < results.size(); ++i) {
      const absl::Status& status = results[i].status;
      if (status.ok()) {
        EXPECT_TRUE(Bits(results[i]) == expected[i]) << "job " << i;
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
        all = false;
      }
    }
    return all;
  };
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_FAIL_EVERY_ALLOCATION_H_
