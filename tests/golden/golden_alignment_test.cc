// SPDX-License-Identifier: Apache-2.0
//
// Whole alignments of the autoware profile against the reference's: its end poses, and every pose
// on the way there with the scores that it reports for each.
//
// Scores are compared twice. At the reference's own poses, where only the arithmetic can differ,
// also for alignments whose path is chaotic. And at the engine's poses, where a score may differ by
// what the distance between the two poses makes of it (see displacement.h), no more.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/golden/displacement.h"
#include "tests/golden/golden_fixture.h"

namespace voxloc::golden {
namespace {

class GoldenAlignmentTest : public GoldenTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(GoldenAlignmentTest);

// The largest absolute entry of any Hessian under `derivatives`: what the set's tolerance is a
// fraction of.
double LargestHessianEntry(const LoadedSet& loaded) {
  double largest = 0.0;
  for (const auto& entry : loaded.set.json.at("derivatives")) {
    for (const auto& h : entry.at("hessian"))
      largest = std::max(largest, std::abs(h.get<double>()));
  }
  return largest;
}

// By how much the regularisation's part of the transform probability may differ when the position
// does: lambda M L^2 / N, with L no longer than the distance to the reference position.
double RegularizationChange(const LoadedSet& loaded, const PoseScore& score, const Pose& map_T_base,
                            double apart_m) {
  const auto position = loaded.set.RegularizationPosition();
  if (!position) return 0.0;
  const double along_m = (*position - map_T_base.translation).norm();
  const double off_m = apart_m + kFloat32 * map_T_base.translation.norm();
  return loaded.profile.regularization_scale * static_cast<double>(score.pairs) *
         (2.0 * along_m + off_m) * off_m / static_cast<double>(score.points);
}

// `worst` becomes the largest share of what is allowed that was used up.
void ExpectScores(const LoadedSet& loaded, const PoseScore& score, const Pose& ours,
                  const Pose& reference, double expected_tp, double expected_nvtl,
                  const ScoreChange& change, double& worst) {
  const double tp_allowed =
      (loaded.set.Tolerance("score_rel") + kFloat32) * std::abs(expected_tp) +
      change.transform_probability +
      RegularizationChange(loaded, score, reference, TranslationDistance(ours, reference));
  const double nvtl_allowed =
      (loaded.set.Tolerance("nvtl_rel") + kFloat32) * std::abs(expected_nvtl) +
      change.nearest_voxel_likelihood;
  EXPECT_NEAR(score.transform_probability, expected_tp, tp_allowed);
  EXPECT_NEAR(score.nearest_voxel_likelihood, expected_nvtl, nvtl_allowed);
  worst = std::max({worst, std::abs(score.transform_probability - expected_tp) / tp_allowed,
                    std::abs(score.nearest_voxel_likelihood - expected_nvtl) / nvtl_allowed});
}

// The reference takes the Euler angles of a guess with a first angle in [0, pi], so that a negative
// roll leads to the other triple of the same rotation, whose pitch runs the other way.
double PitchSign(const Pose& guess) { return ChartFromPose(guess)[3] < 0.0 ? -1.0 : 1.0; }

void ExpectHessian(const LoadedSet& loaded, const Matrix6& hessian, const nlohmann::json& alignment,
                   const ScoreChange& change) {
  const double allowed = loaded.set.Tolerance("hessian_of_set_max") * LargestHessianEntry(loaded);
  const auto& expected = alignment.at("hessian");
  const double pitch_sign = PitchSign(PoseOf(alignment.at("guess")));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      const double sign = (i == 4) != (j == 4) ? pitch_sign : 1.0;
      EXPECT_NEAR(sign * hessian(i, j), expected.at(static_cast<size_t>(6 * i + j)).get<double>(),
                  allowed + change.hessian(i, j))
          << "Hessian " << i << " " << j;
    }
  }
}

// One iteration from each pose, traced: the first record is the evaluation at the pose itself.
std::vector<IterationTrace> EvaluateAt(const LoadedSet& loaded, const std::vector<Pose>& poses) {
  std::vector<AlignJob> jobs;
  for (const Pose& pose : poses) {
    AlignJob& job = jobs.emplace_back(loaded.MakeJob(pose));
    job.profile.stages[0].max_iterations = 1;
    job.with_trace = true;
  }
  std::vector<IterationTrace> evaluations;
  for (const AlignResult& result : loaded.engine->Align(jobs)) {
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_FALSE(result.trace.empty());
    if (!result.trace.empty()) evaluations.push_back(result.trace.front());
  }
  return evaluations;
}

TEST_P(GoldenAlignmentTest, goldenScoresAlongTheReferencesPathsMatch) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const ChangeBound bound(loaded);
    double worst = 0.0;
    for (const auto& entry : loaded.set.json.at("alignments")) {
      SCOPED_TRACE(entry.at("label").get<std::string>());
      const auto& tp = entry.at("tp_array");
      const auto& nvtl = entry.at("nvtl_array");
      std::vector<Pose> poses = PosesOf(entry.at("pose_array"));
      const size_t on_path = poses.size();
      ASSERT_EQ(on_path, entry.at("iterations").get<size_t>() + 1);
      ASSERT_EQ(tp.size(), on_path);
      ASSERT_EQ(nvtl.size(), on_path);
      poses.push_back(PoseOf(entry.at("final_pose")));

      const std::vector<IterationTrace> evaluations = EvaluateAt(loaded, poses);
      ASSERT_EQ(evaluations.size(), poses.size());
      for (size_t i = 0; i < poses.size(); ++i) {
        SCOPED_TRACE(i == on_path ? "final pose" : "pose " + std::to_string(i));
        const ScoreChange change = bound.At(poses[i], Float32Displacement);
        ExpectScores(loaded, evaluations[i].score, poses[i], poses[i],
                     i == on_path ? entry.at("transform_probability") : tp[i],
                     i == on_path ? entry.at("nvtl") : nvtl[i], change, worst);
        if (i == on_path) {
          ExpectHessian(loaded, evaluations[i].hessian, entry, change);
        }
      }
    }
    std::cout << "scores at the reference's poses: " << worst << " of what is allowed" << std::endl;
  });
}

TEST_P(GoldenAlignmentTest, goldenAlignmentsMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const ChangeBound bound(loaded);
    const auto truth = PoseOf(loaded.set.json.at("truth"));
    for (const auto& entry : loaded.set.json.at("alignments")) {
      const std::string label = entry.at("label");
      SCOPED_TRACE(label);
      AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
      job.with_trace = true;
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_TRUE(result.map_T_base.translation.allFinite());
      ASSERT_TRUE(result.map_T_base.rotation.coeffs().allFinite());
      if (loaded.OnlyFinite(label)) {
        EXPECT_NE(result.termination, Termination::kNotFinite);
        continue;
      }
      const double pose_m = loaded.set.Tolerance("pose_m");
      const double pose_deg = loaded.set.Tolerance("pose_deg");
      const double slack =
          loaded.set.Tolerance("iterations") + (label == "offset_small" ? 0.0 : 1.0);
      EXPECT_LE(std::abs(result.iterations - entry.at("iterations").get<int>()), slack);

      // The path: where each iteration started, then the end.
      std::vector<Pose> ours;
      std::vector<PoseScore> scores;
      for (const IterationTrace& iteration : result.trace) {
        ours.push_back(iteration.map_T_base);
        scores.push_back(iteration.score);
      }
      ours.push_back(result.map_T_base);
      scores.push_back(result.after);
      const std::vector<Pose> expected = PosesOf(entry.at("pose_array"));
      double worst = 0.0;
      double largest_m = 0.0;
      for (size_t i = 0; i < std::min(ours.size(), expected.size()); ++i) {
        SCOPED_TRACE("pose " + std::to_string(i));
        largest_m = std::max(largest_m, TranslationDistance(ours[i], expected[i]));
        EXPECT_LE(TranslationDistance(ours[i], expected[i]), pose_m);
        EXPECT_LE(RotationDistance(ours[i], expected[i]) * kDegreesPerRadian, pose_deg);
        ExpectScores(loaded, scores[i], ours[i], expected[i], entry.at("tp_array")[i],
                     entry.at("nvtl_array")[i],
                     bound.At(expected[i], BetweenPoses(ours[i], expected[i])), worst);
      }

      const Pose end = PoseOf(entry.at("final_pose"));
      EXPECT_LE(TranslationDistance(result.map_T_base, end), pose_m);
      EXPECT_LE(RotationDistance(result.map_T_base, end) * kDegreesPerRadian, pose_deg);
      EXPECT_NEAR(TranslationDistance(result.map_T_base, truth), entry.at("err_t_m"), pose_m);
      EXPECT_NEAR(RotationDistance(result.map_T_base, truth) * kDegreesPerRadian,
                  entry.at("err_r_deg"), pose_deg);
      const ScoreChange change = bound.At(end, BetweenPoses(result.map_T_base, end));
      ExpectScores(loaded, result.after, result.map_T_base, end, entry.at("transform_probability"),
                   entry.at("nvtl"), change, worst);
      ExpectHessian(loaded, result.hessian, entry, change);
      std::cout << label << ": path within " << largest_m << " m, scores " << worst
                << " of what is allowed" << std::endl;
    }
  });
}

}  // namespace
}  // namespace voxloc::golden
