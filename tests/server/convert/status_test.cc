// SPDX-License-Identifier: Apache-2.0

#include "server/convert/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace voxloc::server {
namespace {

TEST(ConvertStatus, KeepsTheCodeAndShortensTheMessage) {
  const grpc::Status status = ToGrpcStatus(absl::DataLossError(std::string(100'000, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_LT(status.error_message().size(), 4096);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace voxloc::server
