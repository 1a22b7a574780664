// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "server/capture/capture_store.h"

namespace voxloc::server {
namespace {

v1::Capture SomeCapture() {
  v1::Capture capture;
  capture.mutable_info()->set_id("c1-2");
  capture.mutable_info()->set_map("town");
  capture.mutable_info()->set_captured_at_ns(12345);
  capture.mutable_request()->mutable_scan()->add_clouds()->mutable_cloud()->set_data(
      std::string(300, 'p'));
  capture.mutable_result()->set_detail("it went badly");
  return capture;
}

TEST(CaptureFile, ComesBackAsItWasWithItsSize) {
  const auto file = EncodeCaptureFile(SomeCapture()).value();
  const auto capture = DecodeCaptureFile(file).value();
  v1::Capture expected = SomeCapture();
  expected.mutable_info()->set_bytes(file.size());
  EXPECT_EQ(capture.SerializeAsString(), expected.SerializeAsString());
  const auto info = DecodeCaptureInfo(file.substr(0, 100), file.size()).value();
  EXPECT_EQ(info.SerializeAsString(), expected.info().SerializeAsString());
}

TEST(CaptureFile, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string file = *EncodeCaptureFile(SomeCapture());
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    const auto capture = DecodeCaptureFile(file.substr(0, bytes));
    ASSERT_TRUE(absl::IsDataLoss(capture.status())) << bytes;
    ASSERT_FALSE(DecodeCaptureInfo(file.substr(0, bytes), bytes).ok()) << bytes;
  }
  for (size_t at = 0; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_TRUE(absl::IsDataLoss(DecodeCaptureFile(changed).status())) << at;
  }
  EXPECT_TRUE(absl::IsDataLoss(DecodeCaptureFile(file + "x").status()));
}

TEST(CaptureFile, RefusesAnInfoThatIsTooLong) {
  v1::Capture capture = SomeCapture();
  capture.mutable_info()->set_vehicle(std::string(kCaptureHeadBytes, 'v'));
  EXPECT_TRUE(absl::IsInvalidArgument(EncodeCaptureFile(capture).status()));
}

}  // namespace
}  // namespace voxloc::server
