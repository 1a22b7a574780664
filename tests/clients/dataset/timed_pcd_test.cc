// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/timed_pcd.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "clients/cpp/messages.h"
#include "core/cloud/io/file_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using testing::HasSubstr;

class TimedPcdTest : public testing::Test {
 protected:
  std::string Write(PcdEncoding encoding, const std::string& field) {
    PointCloud cloud;
    cloud.PushBack(1.0F, 2.0F, 3.0F);
    cloud.PushBack(-4.0F, 5.5F, 0.25F);
    std::string path = scratch_.Path(field + ".pcd");
    EXPECT_TRUE(WritePcd(path, cloud, encoding, {{field, {-0.05F, 0.04F}}}).ok());
    return path;
  }
  static std::string ErrorOf(const std::string& path, const ros::PointTimeChoice& times) {
    return std::string(ReadTimedPcd(path, times).status().message());
  }

  ScratchDir scratch_;
};

TEST_F(TimedPcdTest, PointsKeepTheirTimes) {
  const auto cloud = ReadTimedPcd(Write(PcdEncoding::kBinary, "t"), {false, "t"});
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  ASSERT_EQ(cloud->layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZT);
  const std::vector<float> expected = {1.0F, 2.0F, 3.0F, -0.05F, -4.0F, 5.5F, 0.25F, 0.04F};
  ASSERT_EQ(cloud->data().size(), expected.size() * sizeof(float));
  std::vector<float> values(expected.size());
  std::memcpy(values.data(), cloud->data().data(), cloud->data().size());
  EXPECT_EQ(values, expected);
}

TEST_F(TimedPcdTest, AKnownFieldIsFound) {
  const auto cloud = ReadTimedPcd(Write(PcdEncoding::kBinary, "time"), {true, ""});
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZT);
}

TEST_F(TimedPcdTest, ErrorsSayWhatIsMissing) {
  const std::string path = Write(PcdEncoding::kBinary, "age");
  EXPECT_THAT(ErrorOf(path, {true, ""}), HasSubstr("(got x, y, z, age)"));
  EXPECT_THAT(ErrorOf(path, {true, ""}), HasSubstr(path));
  EXPECT_THAT(ErrorOf(path, {false, "t"}), HasSubstr("'t'"));
  EXPECT_THAT(ErrorOf(Write(PcdEncoding::kAscii, "t"), {false, "t"}), HasSubstr("DATA binary"));
  EXPECT_THAT(ErrorOf(scratch_.Path("scan.ply"), {true, ""}), HasSubstr("PCD files only"));
  EXPECT_EQ(ReadTimedPcd(scratch_.Path("none.pcd"), {true, ""}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(TimedPcdTest, AViewpointThatMovesThePointsAndACutFileAreErrors) {
  const std::string path = Write(PcdEncoding::kBinary, "t");
  const auto read = ReadFileBytes(path, 1 << 20);
  ASSERT_TRUE(read.ok());
  std::string bytes(read->view());
  ASSERT_TRUE(WriteFileBytes(path, bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_THAT(ErrorOf(path, {false, "t"}), HasSubstr("promises"));
  const std::string still = "VIEWPOINT 0 0 0 1 0 0 0";
  const size_t at = bytes.find(still);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, still.size(), "VIEWPOINT 0 0 2 1 0 0 0");
  ASSERT_TRUE(WriteFileBytes(path, bytes).ok());
  EXPECT_THAT(ErrorOf(path, {false, "t"}), HasSubstr("VIEWPOINT"));
}

}  // namespace
}  // namespace voxloc
