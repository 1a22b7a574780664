// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/tracking/pose_proposal.h"
#include "core/tracking/recovery.h"
#include "tests/support/class_recorder.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/room_scene.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr int kScans = 11;

// A vehicle at 10 m/s that turns slowly, every tenth of a second, and how odometry of a frame of
// its own sees it.
Pose VehicleAt(int i) {
  Pose pose = ScenePose();
  const Pose step = {{1.0, 0.0, 0.0},
                     Eigen::Quaterniond(Eigen::AngleAxisd(0.03, Eigen::Vector3d::UnitZ()))};
  for (int k = 0; k < i; ++k) pose = pose * step;
  return pose;
}
Pose OdometryAt(int i) {
  const Pose frame = {{-40.0, 8.0, 2.0}, Eigen::Quaterniond(0.0, 0.0, 0.0, 1.0)};
  return frame * VehicleAt(i);
}

class ProposalCheckTest : public EngineTest {
 protected:
  static AlignJob JobAt(int i, const Profile& profile) {
    static const auto& scans = *[] {
      auto* all = new std::vector<std::shared_ptr<const PointCloud>>();
      for (int k = 0; k < kScans; ++k) {
        all->push_back(std::make_shared<const PointCloud>(SceneScan(VehicleAt(k), 1500)));
      }
      return all;
    }();
    AlignJob job = SceneJob(profile);
    job.scan = scans[static_cast<size_t>(i)];
    return job;
  }

  // What becomes of a pose that was found with the first scan.
  static PoseProposal Follow(const Pose& found, const Profile& profile) {
    const RecoveryOptions options;
    PoseProposal proposal(found, OdometryAt(0), options.confirmation);
    for (int i = 1; i < kScans && proposal.outcome().state == ProposalState::kPending; ++i) {
      const ProposalCheck check = CheckProposal(engine(), JobAt(i, profile),
                                                proposal.Expected(OdometryAt(i)), nullptr, {}, {});
      proposal.Check(check.agrees() ? std::optional<Pose>(check.result.map_T_base) : std::nullopt,
                     OdometryAt(i));
    }
    return proposal;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(ProposalCheckTest);

TEST_P(ProposalCheckTest, ARightPoseIsConfirmedWhileTheVehicleDrives) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    const PoseProposal proposal = Follow(Displaced(ScenePose(), {0.1, -0.1, 0.0}, 0.01), profile);
    EXPECT_EQ(proposal.outcome().state, ProposalState::kConfirmed) << profile.name;
    EXPECT_EQ(proposal.outcome().checked_scans, 5) << profile.name;
    const Pose expected = proposal.Expected(OdometryAt(kScans - 1));
    EXPECT_LT(TranslationDistance(expected, VehicleAt(kScans - 1)), 0.1) << profile.name;
  }
}

TEST_P(ProposalCheckTest, WrongPosesAreDroppedWhileTheVehicleDrives) {
  RandomNumbers random(3);
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (int i = 0; i < 8; ++i) {
      const double heading = random.Uniform(-M_PI, M_PI);
      const double off_m = random.Uniform(3.0, 12.0);
      const Pose wrong =
          Displaced(ScenePose(), {off_m * std::cos(heading), off_m * std::sin(heading), 0.0},
                    random.Uniform(-0.3, 0.3));
      const PoseProposal proposal = Follow(wrong, profile);
      EXPECT_EQ(proposal.outcome().state, ProposalState::kDropped) << profile.name << " " << i;
    }
  }
}

TEST_P(ProposalCheckTest, AScanAgreesOnlyWithAnAlignmentThatStaysAtTheExpectedPose) {
  AlignJob job = JobAt(0, PreciseProfile());
  job.work_class = WorkClass::kTracking;
  const Pose near = Displaced(ScenePose(), {0.3, 0.0, 0.0}, 0.02);
  ClassRecorder recorder(engine());
  EXPECT_TRUE(CheckProposal(recorder, job, near, nullptr, {}, {}).agrees());
  // Work of a search whatever the scan's class.
  EXPECT_EQ(recorder.Take().align, std::set<WorkClass>{WorkClass::kSearching});
  // It finds the vehicle from here as well, which is not where the proposal has it.
  const Pose off = Displaced(ScenePose(), {1.5, 0.0, 0.0}, 0.0);
  const ProposalCheck check = CheckProposal(engine(), job, off, nullptr, {}, {});
  EXPECT_LT(TranslationDistance(check.result.map_T_base, ScenePose()), 0.05);
  EXPECT_FALSE(check.agrees());
  EXPECT_THAT(check.detail, HasSubstr("from the expected pose; allowed are 0.5 m"));
  const Pose turned = Displaced(ScenePose(), Eigen::Vector3d::Zero(), 0.1);
  EXPECT_FALSE(CheckProposal(engine(), job, turned, nullptr, {}, {}).agrees());
}

TEST_P(ProposalCheckTest, AResultMustBeAsGoodAsAFoundPose) {
  const AlignJob job = JobAt(0, AutowareProfile());
  AlignJob high = job;
  high.profile.acceptance_threshold = 4.1;
  EXPECT_THAT(CheckProposal(engine(), high, ScenePose(), nullptr, {}, {}).detail,
              HasSubstr("it must be over 4.1"));
  // A guess that leads to a poor pose does not speak against it.
  const AlignResult own =
      AlignOne(engine(), WithGuess(job, Displaced(ScenePose(), {-5.4, -7.2, 0.0}, 0.1)));
  ASSERT_GT(TranslationDistance(own.map_T_base, ScenePose()), 1.0);
  EXPECT_TRUE(CheckProposal(engine(), job, ScenePose(), &own, {}, {}).agrees());
  const struct {
    std::optional<double> confidence;
    bool agrees;
  } rows[] = {{0.49, false}, {0.5, true}, {std::nullopt, true}};
  for (const auto& row : rows) {
    int asked = 0;
    const ProposalCheck check =
        CheckProposal(engine(), job, ScenePose(), nullptr, {}, [&](const AlignedScan& scan) {
          ++asked;
          EXPECT_EQ(scan.job->scan, job.scan);
          return row.confidence;
        });
    EXPECT_EQ(check.agrees(), row.agrees);
    EXPECT_EQ(check.confidence, row.confidence);
    EXPECT_EQ(asked, 1);
  }
}

TEST_P(ProposalCheckTest, APlaceThatCannotBeToldFromAnotherIsNotConfirmed) {
  // Nothing observes the way along the corridor: the scan fits as well 6 m farther on.
  const auto map = LoadMap(engine(), {PointsOn(Corridor(), 60'000, 0.01, 1)},
                           {AutowareProfile().stages[0].cells});
  const Pose truth = {{0.0, 0.3, 1.5}, Eigen::Quaterniond::Identity()};
  AlignJob job;
  job.map = map;
  job.scan = std::make_shared<const PointCloud>(ScanOf(Corridor(), truth, 4000, 0.01, 2, 20.0));
  job.profile = AutowareProfile();
  job.map_T_base_guess = truth;
  const AlignResult own = AlignOne(engine(), job);
  const Pose farther_on = Displaced(truth, {6.0, 0.0, 0.0}, 0.0);
  EXPECT_TRUE(CheckProposal(engine(), job, farther_on, nullptr, {}, {}).agrees());
  const ProposalCheck check = CheckProposal(engine(), job, farther_on, &own, {}, {});
  EXPECT_FALSE(check.agrees());
  EXPECT_THAT(check.detail, HasSubstr("the guess leads to a pose"));
  // A guess that leads to the expected pose itself does not speak against it.
  EXPECT_TRUE(CheckProposal(engine(), job, truth, &own, {}, {}).agrees());
}

TEST_P(ProposalCheckTest, AJobThatCannotBeRunDoesNotAgree) {
  AlignJob job = JobAt(0, AutowareProfile());
  job.scan = std::make_shared<const PointCloud>();
  const ProposalCheck check = CheckProposal(engine(), job, ScenePose(), nullptr, {}, {});
  EXPECT_FALSE(check.agrees());
  EXPECT_NE(check.detail, "");
}

}  // namespace
}  // namespace voxloc
