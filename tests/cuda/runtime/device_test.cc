// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/device.h"

#include <gmock/gmock.h>

#include <string>

#include "cuda/runtime/stream.h"
#include "tests/cuda/on_device.h"

namespace voxloc::cuda {
namespace {

using ::testing::HasSubstr;

TEST(DeviceCountTest, SaysWhyThereIsNone) {
  std::string why;
  const int count = CountDevices(&why);
  EXPECT_EQ(count == 0, !why.empty()) << count << " devices, \"" << why << "\"";
}

TEST(DeviceCountTest, OpeningADeviceThatIsNotThereSaysWhichThereAre) {
  const auto device = Device::Open({1000, 0});
  ASSERT_EQ(device.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(device.status().message()), HasSubstr("CUDA device"));
}

class DeviceTest : public OnDevice {};

TEST_F(DeviceTest, ErrorsOfARequestLeaveItHealthy) {
  EXPECT_EQ(device_->Check(cudaErrorMemoryAllocation, "x").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device_->Check(cudaErrorInvalidValue, "x").code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(device_->Check(cudaSuccess, "x").ok());
  EXPECT_TRUE(device_->healthy());
  EXPECT_TRUE(device_->MakeCurrent().ok());
}

TEST_F(DeviceTest, ErrorsThatAreNotKnownToEndTheContextLeaveItHealthy) {
  for (const cudaError_t error :
       {cudaErrorInvalidClusterSize, cudaErrorUnknown, cudaErrorInvalidResourceConfiguration,
        cudaErrorCooperativeLaunchTooLarge, cudaErrorMpsMaxConnectionsReached}) {
    EXPECT_EQ(device_->Check(error, "probing").code(), absl::StatusCode::kInternal) << error;
    EXPECT_TRUE(device_->healthy()) << error;
    EXPECT_TRUE(device_->MakeCurrent().ok()) << error;
  }
}

TEST_F(DeviceTest, ErrorsThatEndTheContextAreRemembered) {
  const absl::Status first = device_->Check(cudaErrorIllegalAddress, "reading a map");
  EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(device_->healthy());
  (void)device_->Check(cudaErrorLaunchFailure, "another");
  const absl::Status later = device_->MakeCurrent();
  EXPECT_EQ(later.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(later.message()), HasSubstr("reading a map"));
}

TEST_F(DeviceTest, AFailedCallIsNotSeenByTheNextOne) {
  EXPECT_FALSE(device_->Check(cudaSetDevice(1000), "selecting").ok());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_TRUE(device_->healthy());
}

TEST_F(DeviceTest, EventsMeasureTimeOnAStream) {
  auto stream = Stream::Create(device_, Priority::kHigh);
  auto start = Event::Create(device_);
  auto end = Event::Create(device_);
  ASSERT_TRUE(stream.ok() && start.ok() && end.ok());
  ASSERT_TRUE(start->Record(*stream).ok());
  ASSERT_TRUE(end->Record(*stream).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  const auto ms = end->MillisecondsSince(*start);
  ASSERT_TRUE(ms.ok()) << ms.status();
  EXPECT_GE(*ms, 0.0);
  EXPECT_LT(*ms, 1000.0);
}

}  // namespace
}  // namespace voxloc::cuda
