// SPDX-License-Identifier: Apache-2.0
//
// Poses, tables and exit codes as people and shells see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/terminal.h"

namespace voxloc::cli {
namespace {

TEST(Confirmation, AsksOnlyAPersonAndTakesNothingButYesForYes) {
  const auto confirm = [](const std::string& typed, bool yes, bool terminal) {
    std::istringstream in(typed);
    std::ostringstream asked;
    const Confirmation answer = Confirm("Delete it?", yes, terminal, in, asked);
    EXPECT_EQ(asked.str(), terminal && !yes ? "Delete it? [y/N] " : "");
    return answer;
  };
  for (const char* typed : {"y\n", "YES\n", " yes \n"}) {
    EXPECT_EQ(confirm(typed, false, true), Confirmation::kYes) << typed;
  }
  for (const char* typed : {"", "\n", "n\n", "yes please\n", "ja\n"}) {
    EXPECT_EQ(confirm(typed, false, true), Confirmation::kNo) << typed;
  }
  EXPECT_EQ(confirm("y\n", false, false), Confirmation::kNotInteractive);
  EXPECT_EQ(confirm("", true, false), Confirmation::kYes);
}

TEST(MessageYaml, HasTheFieldsOfAMessageALineEach) {
  v1::Profile profile;
  profile.set_name("own");
  profile.add_stages()->mutable_cells()->set_cell_size_m(0.25);
  v1::ProfileStage& second = *profile.add_stages();
  second.set_line_search(v1::LINE_SEARCH_MORE_THUENTE);
  second.set_max_iterations(60);
  const std::string yaml = MessageYaml(profile);
  EXPECT_THAT(yaml, ::testing::StartsWith("name: \"own\"\n"
                                          "stages:\n"
                                          "  - cells:\n"
                                          "      cell_size_m: 0.25\n"
                                          "      min_points: 0\n"));
  EXPECT_THAT(yaml, ::testing::HasSubstr("\n    line_search: more-thuente\n"));
  EXPECT_THAT(yaml, ::testing::HasSubstr("\n    max_iterations: 60\n"));
  EXPECT_THAT(yaml, ::testing::HasSubstr("\nscore_stage: 0\n"));
}

TEST(PoseText, ReadsMetresAndDegreesInRosOrder) {
  const absl::StatusOr<Pose> pose = ParsePoseText("1.5, -2,3e1,0,0,90");
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->translation, Eigen::Vector3d(1.5, -2.0, 30.0));
  // A quarter turn to the left takes x to y.
  EXPECT_LT((pose->rotation * Eigen::Vector3d::UnitX() - Eigen::Vector3d::UnitY()).norm(), 1e-12);
  // Rz Ry Rx: with 90 degrees of pitch first applied to what roll has turned.
  const absl::StatusOr<Pose> turned = ParsePoseText("0,0,0,90,90,0");
  ASSERT_TRUE(turned.ok());
  EXPECT_LT((turned->rotation * Eigen::Vector3d::UnitY() - Eigen::Vector3d::UnitX()).norm(), 1e-12);
}

TEST(PoseText, GivesBackWhatItRead) {
  const absl::StatusOr<Pose> pose = ParsePoseText("4e5,-4e6,100.25,10,-20,170");
  ASSERT_TRUE(pose.ok());
  const std::array<double, 6> numbers = RosNumbers(*pose);
  const std::array<double, 6> expected = {4e5, -4e6, 100.25, 10.0, -20.0, 170.0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(numbers[i], expected[i], 1e-9) << i;
  EXPECT_EQ(PoseText(*pose),
            "x 400000.000  y -4000000.000  z 100.250 m   roll 10.000  pitch -20.000  yaw 170.000 "
            "deg");
}

TEST(PoseText, SaysWhatIsWrong) {
  EXPECT_EQ(ParsePoseText("1,2,3").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsePoseText("1,2,3,4,5,six").status().message(),
            "'six' in '1,2,3,4,5,six' is not a finite number");
  EXPECT_FALSE(ParsePoseText("1,2,3,4,5,nan").ok());
  EXPECT_FALSE(ParsePoseText("1,2,3,4,5,").ok());
}

TEST(TextTable, AlignsColumns) {
  TextTable table("name|>points|note");
  table.AddRow({"town", "1,234"});
  table.AddRow({"a", "5", "old"});
  EXPECT_EQ(table.Text(),
            "name  points  note\n"
            "town   1,234\n"
            "a          5  old\n");
}

TEST(TextTable, WritesNumbersForPeople) {
  EXPECT_EQ(GroupDigits(0), "0");
  EXPECT_EQ(GroupDigits(999), "999");
  EXPECT_EQ(GroupDigits(1234567), "1,234,567");
  EXPECT_EQ(ByteText(512), "512 B");
  EXPECT_EQ(ByteText(1536), "1.5 KiB");
  EXPECT_EQ(ByteText(uint64_t{3} << 30), "3.0 GiB");
}

TEST(ExitCode, DistinguishesUnreachableServerFromFailure) {
  EXPECT_EQ(ExitCodeFor(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeFor(absl::UnavailableError("")), ExitCode::kUnreachable);
  EXPECT_EQ(ExitCodeFor(absl::DeadlineExceededError("")), ExitCode::kUnreachable);
  EXPECT_EQ(ExitCodeFor(absl::NotFoundError("")), ExitCode::kFailed);
}

}  // namespace
}  // namespace voxloc::cli
