// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/perturbation.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Perturbation kPerturbation{{0.5, 0.25, 0.1}, {1.0, 2.0, 3.0}};

Pose SomePose() {
  Pose pose;
  pose.translation = {100.0, -200.0, 3.0};
  pose.rotation = Eigen::AngleAxisd(0.8, Eigen::Vector3d(3, 1, 2).normalized());
  return pose;
}

Eigen::Matrix3d RosRotation(double roll, double pitch, double yaw) {
  return (Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) *
          Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitY()) *
          Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()))
      .toRotationMatrix();
}

// Finds the signs that explain the moved pose; -1 where none do.
int SignsOf(const Pose& truth, const Pose& moved) {
  int signs = 0;
  const Eigen::Vector3d shift = moved.translation - truth.translation;
  for (int i = 0; i < 3; ++i) {
    if (std::abs(std::abs(shift[i]) - kPerturbation.translation_m[i]) > 1e-12) return -1;
    if (shift[i] < 0.0) signs |= 1 << i;
  }
  const Eigen::Matrix3d turn =
      moved.rotation.toRotationMatrix() * truth.rotation.toRotationMatrix().transpose();
  for (int rotation_signs = 0; rotation_signs < 8; ++rotation_signs) {
    const auto angle = [&](int i) {
      return kPerturbation.rotation_rpy_deg[i] * M_PI / 180.0 *
             ((rotation_signs >> i & 1) != 0 ? -1.0 : 1.0);
    };
    if ((turn - RosRotation(angle(0), angle(1), angle(2))).cwiseAbs().maxCoeff() < 1e-12) {
      return signs | rotation_signs << 3;
    }
  }
  return -1;
}

TEST(PerturbationTest, TranslatesInTheMapAndTurnsFromTheLeftWithAllSigns) {
  const Pose truth = SomePose();
  std::set<int> seen;
  int negative[6] = {};
  constexpr int kScans = 4000;
  for (size_t scan = 0; scan < kScans; ++scan) {
    const int signs = SignsOf(truth, Perturb(truth, kPerturbation, 0, scan));
    ASSERT_GE(signs, 0) << scan;
    seen.insert(signs);
    for (int i = 0; i < 6; ++i) negative[i] += signs >> i & 1;
  }
  EXPECT_EQ(seen.size(), 64u);  // independent: every combination comes up
  for (const int count : negative) EXPECT_NEAR(count, kScans / 2, 160);  // five sigma
}

TEST(PerturbationTest, SeedAndIndexAloneDecide) {
  const Pose truth = SomePose();
  int differ = 0;
  for (size_t scan = 0; scan < 100; ++scan) {
    const Pose once = Perturb(truth, kPerturbation, 7, scan);
    const Pose again = Perturb(truth, kPerturbation, 7, scan);
    EXPECT_EQ(once.translation, again.translation);
    EXPECT_EQ(once.rotation.coeffs(), again.rotation.coeffs());
    const Pose other = Perturb(truth, kPerturbation, 8, scan);
    if (SignsOf(truth, once) != SignsOf(truth, other)) ++differ;
  }
  EXPECT_GT(differ, 80);
}

TEST(PerturbationTest, NothingMovesNothing) {
  const Pose truth = SomePose();
  const Pose moved = Perturb(truth, Perturbation(), 3, 5);
  EXPECT_EQ(moved.translation, truth.translation);
  EXPECT_LT(RotationDistance(moved, truth), 1e-15);
}

TEST(PerturbationTest, TextIsSixFiniteNumbers) {
  const auto parsed = ParsePerturbation("0.5,-0.25, 1e-1,1,2,3");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->translation_m, Eigen::Vector3d(0.5, -0.25, 0.1));
  EXPECT_EQ(parsed->rotation_rpy_deg, Eigen::Vector3d(1, 2, 3));
  const auto error = [](const char* text) {
    const auto result = ParsePerturbation(text);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(result.status().message());
  };
  EXPECT_THAT(error("1,2,3"), AllOf(HasSubstr("(got 3:"), HasSubstr("DYAW")));
  EXPECT_THAT(error(""), HasSubstr("(got 1:"));
  EXPECT_THAT(error("1,2,3,4,5,x"), HasSubstr("'x'"));
  EXPECT_THAT(error("1,2,3,4,5,nan"), HasSubstr("finite"));
  EXPECT_THAT(error("1,2,3,4,5,6,7"), HasSubstr("(got 7:"));
}

TEST(PoseSigmaTest, TextIsSixStandardDeviationsOverZero) {
  const auto parsed = ParsePoseSigma("0.5,1,2,180,90,0.1");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)(0, 0), 0.25);
  EXPECT_EQ((*parsed)(2, 2), 4.0);
  EXPECT_NEAR((*parsed)(3, 3), M_PI * M_PI, 1e-12);
  EXPECT_EQ((*parsed)(0, 1), 0.0);
  for (const char* text : {"1,1,1,1,1,0", "1,1,1,1,1,-1", "1,1,1", "1,1,1,1,1,nan"}) {
    const auto result = ParsePoseSigma(text);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("standard deviation"));
  }
}

}  // namespace
}  // namespace voxloc
