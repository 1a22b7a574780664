// SPDX-License-Identifier: Apache-2.0
//
// Loading cuSOLVER. Needs no device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cuda/linear_algebra/symmetric_eigen6.h"

namespace voxloc::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CusolverLibraryTest, AMissingLibraryIsNamed) {
  const auto library = LoadCusolverFrom("libcusolver.so.987");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.status().message(), HasSubstr("libcusolver.so.987"));
}

TEST(CusolverLibraryTest, ALibraryWithoutTheFunctionsIsNamedToo) {
  const auto library = LoadCusolverFrom("libm.so.6");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.status().message(), HasSubstr("libm.so.6"));
  EXPECT_THAT(library.status().message(), HasSubstr("cusolverDnCreate"));
}

TEST(CusolverLibraryTest, ItsVersionIsTheHeaders) {
  EXPECT_EQ(CusolverFileName(), "libcusolver.so." + std::to_string(CUSOLVER_VER_MAJOR));
}

TEST(CusolverLibraryTest, NothingLinksIt) {
  std::ifstream maps("/proc/self/maps");
  const std::string mapped(std::istreambuf_iterator<char>(maps), {});
  ASSERT_FALSE(mapped.empty());
  // Tests of this program that loaded it come later.
  EXPECT_THAT(mapped, Not(HasSubstr("libcusolver")));
}

TEST(CusolverLibraryTest, WhereItIsAllFunctionsAreFound) {
  const auto library = LoadCusolver();
  if (!library.ok()) {
    EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(library.status().message(), HasSubstr(CusolverFileName()));
    GTEST_SKIP() << library.status();
  }
  EXPECT_NE((*library)->create, nullptr);
  EXPECT_NE((*library)->destroy, nullptr);
  EXPECT_NE((*library)->set_stream, nullptr);
  EXPECT_NE((*library)->create_params, nullptr);
  EXPECT_NE((*library)->destroy_params, nullptr);
  EXPECT_NE((*library)->xsyev_batched_buffer_size, nullptr);
  EXPECT_NE((*library)->xsyev_batched, nullptr);
  EXPECT_EQ(*LoadCusolver(), *library);
}

}  // namespace
}  // namespace voxloc::cuda
