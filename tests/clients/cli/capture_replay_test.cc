// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/capture_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Capture SomeCapture() {
  v1::Capture capture;
  capture.mutable_info()->set_id("c1-2");
  capture.mutable_info()->set_map("town");
  capture.mutable_info()->set_map_revision(3);
  capture.mutable_request()->mutable_setup()->set_map("town");
  v1::AlignmentResult& result = *capture.mutable_result();
  result.set_status(v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.set_engine("cpu");
  result.set_map_revision(3);
  v1::Pose& pose = *result.mutable_map_t_base()->mutable_pose();
  pose.mutable_position()->set_x(1.0);
  pose.mutable_orientation()->set_w(1.0);
  capture.set_server_version("1.0.0");
  capture.set_git_revision("abc");
  return capture;
}

const ReplayServer kServer{"1.0.0", "abc"};

CaptureComparison Compare(const v1::Capture& capture, const v1::AlignmentResult& answer,
                          const ReplayServer& server = kServer) {
  const auto comparison = CompareWithCapture(capture, answer, server);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.ok() ? *comparison : CaptureComparison();
}

TEST(CaptureReplay, TheSameAnswerIsTheSameWithoutWarnings) {
  const v1::Capture capture = SomeCapture();
  const CaptureComparison comparison = Compare(capture, capture.result());
  EXPECT_TRUE(comparison.same());
  EXPECT_THAT(comparison.warnings, IsEmpty());
  EXPECT_THAT(ComparisonText(capture, comparison), HasSubstr("pose: the same to the last bit\n"));
  EXPECT_EQ(ComparisonJson(capture, comparison)["same"], true);
}

TEST(CaptureReplay, TheLastBitOfAPoseIsADifference) {
  const v1::Capture capture = SomeCapture();
  v1::AlignmentResult answer = capture.result();
  v1::Vector3& position = *answer.mutable_map_t_base()->mutable_pose()->mutable_position();
  position.set_x(std::nextafter(1.0, 2.0));
  EXPECT_FALSE(Compare(capture, answer).same());
  position.set_x(1.5);
  const CaptureComparison comparison = Compare(capture, answer);
  EXPECT_DOUBLE_EQ(comparison.translation_m, 0.5);
  EXPECT_THAT(ComparisonText(capture, comparison),
              HasSubstr("pose: differs by 0.5 m and 0 degrees"));
  answer.clear_map_t_base();
  EXPECT_FALSE(Compare(capture, answer).same());
}

TEST(CaptureReplay, AnotherStatusIsADifferenceButWhereScansWereJoined) {
  v1::Capture capture = SomeCapture();
  v1::AlignmentResult answer = capture.result();
  answer.set_status(v1::ALIGNMENT_STATUS_OK);
  const CaptureComparison comparison = Compare(capture, answer);
  EXPECT_FALSE(comparison.same());
  EXPECT_THAT(ComparisonText(capture, comparison), HasSubstr("status: OK, captured as LOW_SCORE"));
  capture.mutable_result()->mutable_points()->set_joined_scans(3);
  const CaptureComparison joined = Compare(capture, answer);
  EXPECT_TRUE(joined.same());
  EXPECT_THAT(joined.warnings, ElementsAre(HasSubstr("joined 3 scans")));
}

TEST(CaptureReplay, WarnsOfWhatMayMakeADifference) {
  v1::Capture capture = SomeCapture();
  v1::AlignmentResult answer = capture.result();
  answer.set_engine("cuda");
  answer.set_map_revision(4);
  answer.set_tiles_missing(2);
  EXPECT_THAT(Compare(capture, answer, {"1.0.0", "def"}).warnings,
              ElementsAre(HasSubstr("1.0.0 (def), captured by 1.0.0 (abc)"),
                          HasSubstr("cuda, captured on cpu"),
                          HasSubstr("revision 4, captured on revision 3"),
                          HasSubstr("0 when captured, 2 now")));
}

TEST(CaptureReplay, AnErrorThatStandsForTheCapturedStatusIsTheSame) {
  v1::Capture capture = SomeCapture();
  const absl::Status malformed = absl::InvalidArgumentError("malformed");
  EXPECT_EQ(CompareWithCapture(capture, malformed, kServer).status(), malformed);
  capture.mutable_result()->clear_map_t_base();
  capture.mutable_result()->set_status(v1::ALIGNMENT_STATUS_INVALID_INPUT);
  const auto comparison = CompareWithCapture(capture, malformed, kServer);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_TRUE(comparison->same());
  EXPECT_EQ(comparison->status, "INVALID_INPUT");
  const absl::Status away = absl::UnavailableError("away");
  EXPECT_EQ(CompareWithCapture(capture, away, kServer).status(), away);
  capture.mutable_result()->set_status(v1::ALIGNMENT_STATUS_NO_MAP);
  EXPECT_TRUE(CompareWithCapture(capture, absl::NotFoundError("no map"), kServer)->same());
}

TEST(CaptureReplay, ReadsWhatIsACaptureAndNothingElse) {
  const ScratchDir scratch;
  const auto capture = ReadCapture(scratch.Write("a", SomeCapture().SerializeAsString()));
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_EQ(capture->info().id(), "c1-2");
  for (const char* bytes : {"", "no", "\x0a\x02\x0a\x00"}) {
    const std::string path = scratch.Write("b", bytes);
    EXPECT_THAT(std::string(ReadCapture(path).status().message()),
                HasSubstr(path + " must be a capture"));
  }
  EXPECT_TRUE(absl::IsNotFound(ReadCapture(scratch.Path("none")).status()));
}

}  // namespace
}  // namespace voxloc::cli
