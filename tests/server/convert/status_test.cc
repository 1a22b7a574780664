// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

TEST(ConvertStatus, KeepsTheCodeAndShortensTheMessage) {
  const grpc::Status status = ToGrpcStatus(absl::DataLossError(std::string(100'000, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_LT(status.error_message().size(), 4096);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

google::rpc::Status DetailsOf(const absl::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(ToGrpcStatus(status).error_details()));
  return details;
}

TEST(ConvertStatus, CarriesReasonAndRetryAsGoogleRpcDetails) {
  const google::rpc::Status details = DetailsOf(WithRetryAfter(
      WithReason(absl::NotFoundError("no map"), "MAP_NOT_FOUND", {{"map", "yard"}}), 1.25));
  EXPECT_EQ(details.code(), 5);
  EXPECT_EQ(details.message(), "no map");
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::ErrorInfo info;
  google::rpc::RetryInfo retry;
  for (const google::protobuf::Any& detail : details.details()) {
    if (detail.Is<google::rpc::ErrorInfo>()) detail.UnpackTo(&info);
    if (detail.Is<google::rpc::RetryInfo>()) detail.UnpackTo(&retry);
  }
  EXPECT_EQ(info.reason(), "MAP_NOT_FOUND");
  EXPECT_EQ(info.domain(), "voxloc");
  EXPECT_EQ(info.metadata().at("map"), "yard");
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

TEST(ConvertStatus, AnErrorWithoutAReasonHasTheNameOfItsCode) {
  google::rpc::ErrorInfo info;
  const google::rpc::Status details = DetailsOf(absl::InvalidArgumentError("bad"));
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "INVALID_ARGUMENT");
}

// What a client takes of metadata by default, where every byte of the message has to be escaped.
TEST(ConvertStatus, FitsIntoTheTrailerWithItsDetails) {
  const grpc::Status status =
      ToGrpcStatus(WithReason(absl::NotFoundError(std::string(100'000, '\x01')), "MAP_NOT_FOUND"));
  EXPECT_LT(3 * status.error_message().size() + status.error_details().size() * 4 / 3, 8192U);
}

}  // namespace
}  // namespace voxloc::server
