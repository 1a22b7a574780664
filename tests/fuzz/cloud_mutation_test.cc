// SPDX-License-Identifier: Apache-2.0
//
// The corpora of cloud files with bytes changed, cut, doubled and put in, thousands of times from
// fixed seeds. None may make the reader allocate out of proportion to the file; that each gives a
// Status or a whole cloud, the fuzz targets require.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutation.h"
#include "tests/support/allocation_hooks.h"

namespace voxloc {
namespace {

// No points, of many values each.
std::string EmptyPcdBytes(absl::string_view encoding) {
  return absl::StrCat(
      "FIELDS x y z normal _ histogram\nSIZE 4 4 4 4 1 8\nTYPE F F F F U F\n"
      "COUNT 1 1 1 3 4 99\nWIDTH 0\nHEIGHT 1\nPOINTS 0\nDATA ",
      encoding, "\n");
}

std::string EmptyPlyBytes(absl::string_view encoding) {
  return absl::StrCat("ply\nformat ", encoding,
                      " 1.0\nelement face 0\nproperty list uint int corners\nelement vertex 0\n"
                      "property float x\nproperty float y\nproperty float z\nend_header\n");
}

TEST(CloudMutationTest, NoMutationAllocatesOutOfProportion) {
  const struct {
    FuzzTarget target;
    std::vector<std::string> empty;
  } formats[] = {
      {{"cloud_pcd", FuzzCloudPcd, 4000},
       {EmptyPcdBytes("ascii"), EmptyPcdBytes("binary"), EmptyPcdBytes("binary_compressed")}},
      {{"cloud_ply", FuzzCloudPly, 4000},
       {EmptyPlyBytes("ascii"), EmptyPlyBytes("binary_little_endian")}},
      {{"cloud_kittibin", FuzzCloudKittiBin, 4000}, {}},
      {{"cloud_las", FuzzCloudLas, 4000}, {}},
      {{"cloud_npy", FuzzCloudNpy, 4000}, {}},
      {{"cloud_text", FuzzCloudText, 4000}, {"x y z\n"}},
  };
  size_t refused = 0;
  size_t read = 0;
  for (const auto& [target, empty] : formats) {
    const auto corpus =
        ReadCorpus(absl::StrCat(VOXLOC_SOURCE_DIR "/tests/fuzz/corpus/", target.name));
    ASSERT_TRUE(corpus.ok()) << corpus.status();
    std::vector<std::string> files = empty;
    for (const FuzzSeed& seed : *corpus) files.push_back(seed.bytes);
    for (const std::string& file : files) {
      ASSERT_TRUE(RunFuzzTarget(target, file).ok()) << target.name << ": " << file;
      for (uint64_t seed = 0; seed < target.mutations; ++seed) {
        std::mt19937_64 random(seed);
        const std::string mutated = Mutate(file, random);
        // In memory of exactly this size, so that a sanitizer sees any byte read after it.
        const std::vector<char> exact(mutated.begin(), mutated.end());
        ResetAllocationCounts();
        const bool ok = RunFuzzTarget(target, {exact.data(), exact.size()}).ok();
        // A byte of LZF stands for 88 at most; a few bytes of a header for a field's record. An
        // error of an empty file has its text.
        ASSERT_LE(CountedAllocations().largest_bytes, 100 * exact.size() + 256) << "seed " << seed;
        ++(ok ? read : refused);
      }
    }
  }
  // Both happen, or the mutations test nothing.
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(read, 1000u);
}

}  // namespace
}  // namespace voxloc
