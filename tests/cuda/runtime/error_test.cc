// SPDX-License-Identifier: Apache-2.0
//
// Which errors end a context. The expected lists are copied from CUDA's reference (Runtime API,
// "Data types used by CUDA Runtime"), by number.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "cuda/runtime/device.h"

namespace voxloc::cuda {
namespace {

// "This leaves the process in an inconsistent state", "the process must be terminated", and the
// uncorrectable errors of memory (214) and of NVLink (220).
constexpr int kEnding[] = {214, 220, 226, 700, 702, 710, 714, 715,
                           716, 717, 718, 719, 721, 810, 911};

TEST(ErrorTest, DocumentedEndsOfAContextAreEnds) {
  for (const int code : kEnding) EXPECT_TRUE(EndsContext(static_cast<cudaError_t>(code))) << code;
}

// Among them what a probe of cluster sizes returns on devices that do not allow them: 912, 999, 98.
TEST(ErrorTest, EveryOtherNumberConcernsOneCall) {
  for (int code = 0; code < 2000; ++code) {
    if (std::find(std::begin(kEnding), std::end(kEnding), code) != std::end(kEnding)) continue;
    EXPECT_FALSE(EndsContext(static_cast<cudaError_t>(code)))
        << code << ": " << Describe(static_cast<cudaError_t>(code));
  }
}

TEST(ErrorTest, TheDescriptionNamesTheError) {
  EXPECT_NE(Describe(cudaErrorInvalidClusterSize).find("cudaErrorInvalidClusterSize"),
            std::string::npos);
}

}  // namespace
}  // namespace voxloc::cuda
