// SPDX-License-Identifier: Apache-2.0
//
// Each target's corpus, file by file, and a fixed set of mutations of it. Seeds named valid-* must
// be accepted; any other file must only come back.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutation.h"

namespace voxloc {
namespace {

class FuzzReplayTest : public ::testing::TestWithParam<FuzzTarget> {
 protected:
  void SetUp() override {
    auto seeds = ReadCorpus(std::string(VOXLOC_SOURCE_DIR "/tests/fuzz/corpus/") + GetParam().name);
    ASSERT_TRUE(seeds.ok()) << seeds.status();
    seeds_ = *std::move(seeds);
    ASSERT_FALSE(seeds_.empty());
  }

  // In memory of exactly this size; nothing may follow it.
  static absl::Status RunExact(absl::string_view bytes) {
    const std::unique_ptr<char[]> exact(new char[bytes.size()]);
    bytes.copy(exact.get(), bytes.size());
    return RunFuzzTarget(GetParam(), {exact.get(), bytes.size()});
  }

  std::vector<FuzzSeed> seeds_;
};

TEST_P(FuzzReplayTest, ValidSeedsAreAcceptedAndAllOthersComeBack) {
  size_t valid = 0;
  for (const FuzzSeed& seed : seeds_) {
    const absl::Status status = RunExact(seed.bytes);
    if (!seed.valid) continue;
    EXPECT_TRUE(status.ok()) << seed.name << ": " << status;
    ++valid;
  }
  EXPECT_GT(valid, 0U);
}

TEST_P(FuzzReplayTest, TruncationsComeBack) {
  for (const FuzzSeed& seed : seeds_) {
    // Every size of short seeds, a spread of long ones.
    const size_t step = 1 + seed.bytes.size() / 512;
    for (size_t size = 0; size < seed.bytes.size(); size += step) {
      (void)RunExact(absl::string_view(seed.bytes).substr(0, size));
    }
  }
}

TEST_P(FuzzReplayTest, MutationsComeBackAcceptedOrRefused) {
  size_t refused = 0;
  size_t accepted = 0;
  for (uint64_t i = 0; i < GetParam().mutations; ++i) {
    std::mt19937_64 random(i);
    const FuzzSeed& seed = seeds_[i % seeds_.size()];
    ++(RunExact(Mutate(seed.bytes, random)).ok() ? accepted : refused);
  }
  // Both happen, or the mutations test nothing.
  EXPECT_GT(refused, 0U);
  EXPECT_GT(accepted, 0U);
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplayTest, ::testing::ValuesIn(FuzzTargets()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace voxloc
