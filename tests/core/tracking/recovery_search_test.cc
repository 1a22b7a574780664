// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/tracking/recovery.h"
#include "tests/core/engine/replica/faulty_engine.h"
#include "tests/support/class_recorder.h"
#include "tests/support/engine_test.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

RecoverySearch SearchAround(const Pose& map_T_base, double radius_m) {
  RecoverySearch search;
  search.map_T_base = map_T_base;
  search.radius_m = radius_m;
  return search;
}

// A scan that was taken at ScenePose(), and a search around a pose 3 m and 6 degrees off it.
Pose ThreeMetresOff() { return Displaced(ScenePose(), {2.4, -1.8, 0.0}, 0.1); }

// A vehicle whose last good pose was `last_good`, and whose scans all look like the job's. What its
// session comes to: a search's report with a proposal, or of the last search.
struct LostSession {
  bool lost = false;
  int searches = 0;
  RecoveryReport report;
};
TEST(RecoveryCandidatesTest, AreTheSameForTheSameSearchAndOthersForTheNext) {
  const RecoverySearch search = SearchAround(ScenePose(), 5.0);
  RecoverySearch next = search;
  next.number = 1;
  const std::vector<Pose> first = MakeRecoveryCandidates(search, {});
  const std::vector<Pose> again = MakeRecoveryCandidates(search, {});
  const std::vector<Pose> other = MakeRecoveryCandidates(next, {});
  ASSERT_EQ(first.size(), RecoveryOptions().candidates);
  ASSERT_EQ(again.size(), first.size());
  ASSERT_EQ(other.size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].translation, again[i].translation);
    EXPECT_EQ(first[i].rotation.coeffs(), again[i].rotation.coeffs());
    if (i == 0) continue;  // the middle
    EXPECT_GT(TranslationDistance(first[i], other[i]), 1e-3);
  }
}

TEST(RecoveryCandidatesTest, FillTheDiscEvenlyAtTheMiddlesHeightAndTilt) {
  RecoveryOptions options;
  options.candidates = 400;
  const Pose middle = ScenePose();
  const std::vector<Pose> poses = MakeRecoveryCandidates(SearchAround(middle, 8.0), options);
  ASSERT_EQ(poses.size(), 400u);
  EXPECT_EQ(poses[0].translation, middle.translation);
  EXPECT_LT(RotationDistance(poses[0], middle), 1e-12);
  const Eigen::Vector3d up_base = middle.rotation.conjugate() * Eigen::Vector3d::UnitZ();
  int inner = 0;  // within the circle that has half the disc's area
  int quadrant[4] = {};
  for (const Pose& pose : poses) {
    const Eigen::Vector3d offset = pose.translation - middle.translation;
    EXPECT_LE(offset.norm(), 8.0 + 1e-9);
    EXPECT_EQ(offset.z(), 0.0);
    EXPECT_LT((pose.rotation.conjugate() * Eigen::Vector3d::UnitZ() - up_base).norm(), 1e-9);
    inner += offset.norm() < 8.0 * std::sqrt(0.5) ? 1 : 0;
    ++quadrant[(offset.x() < 0.0 ? 1 : 0) + (offset.y() < 0.0 ? 2 : 0)];
  }
  EXPECT_NEAR(inner, 200, 8);
  for (const int count : quadrant) EXPECT_NEAR(count, 100, 10);
}

TEST(RecoveryCandidatesTest, TheirHeadingsLieAroundTheLastAndSomeAllAround) {
  RecoveryOptions options;
  options.candidates = 1000;
  options.all_around_share = 0.2;
  options.heading_spread_rad = 0.3;
  const std::vector<Pose> poses = MakeRecoveryCandidates(SearchAround(ScenePose(), 8.0), options);
  int wide = 0;
  int behind = 0;
  for (const Pose& pose : poses) {
    const double turn = RotationDistance(pose, ScenePose());
    wide += turn > 0.3 + 1e-9 ? 1 : 0;
    behind += turn > 0.5 * M_PI ? 1 : 0;
  }
  // Of the 200 that look anywhere, those within the spread cannot be told from the others.
  EXPECT_NEAR(wide, 200.0 * (1.0 - 0.3 / M_PI), 15);
  EXPECT_NEAR(behind, 100, 25);

  options.all_around_share = 0.0;
  for (const Pose& pose : MakeRecoveryCandidates(SearchAround(ScenePose(), 8.0), options)) {
    EXPECT_LE(RotationDistance(pose, ScenePose()), 0.3 + 1e-9);
  }
}

TEST(RecoveryCandidatesTest, ASingleOneIsTheMiddle) {
  RecoveryOptions options;
  options.candidates = 1;
  const std::vector<Pose> poses = MakeRecoveryCandidates(SearchAround(ScenePose(), 8.0), options);
  ASSERT_EQ(poses.size(), 1u);
  EXPECT_EQ(poses[0].translation, ScenePose().translation);
}

// What must hold with either profile.
struct ProfileRow {
  Profile profile;
  double accuracy_m = 0.0;
  Eigen::Vector3d jump_m;  // too far for the profile to come back by itself
  int searches = 0;        // that a scan of another place is given

  Pose LastGood() const { return Displaced(ScenePose(), jump_m, 0.1); }
};

std::vector<ProfileRow> ProfileRows() {
  return {{AutowareProfile(), 0.03, {2.4, -1.8, 0.0}, 3},
          {PreciseProfile(), 0.01, {-5.4, -7.2, 0.0}, 1}};
}
class RecoverySearchTest : public EngineTest {
 protected:
  static RecoveryReport Search(const AlignJob& job, const RecoveryOptions& options = {},
                               const ConfidenceFunction& confidence = {}) {
    return SearchForVehicle(engine(), job, SearchAround(ThreeMetresOff(), 3.0), options,
                            confidence);
  }

  static LostSession Track(const AlignJob& job, const Pose& last_good,
                           const RecoveryOptions& options, int scans) {
    LostSession session;
    RecoveryPolicy policy(options);
    policy.Found(last_good, std::nullopt);
    for (int i = 0; i < scans; ++i) {
      AlignJob tracked = job;
      tracked.map_T_base_guess = *policy.Expected(std::nullopt);
      const AlignResult result = AlignOne(engine(), tracked);
      if (Judge(result, job.profile) == Acceptance::kAccepted) return session;
      if (const auto search = policy.NextSearch(std::nullopt)) {
        session.lost = true;
        ++session.searches;
        session.report = SearchForVehicle(engine(), job, *search, options, {});
        if (session.report.proposal) return session;
      }
      policy.Missed();
    }
    return session;
  }

  static void ForEachProfile(const std::function<void(const ProfileRow&)>& check) {
    for (const ProfileRow& row : ProfileRows()) {
      SCOPED_TRACE(row.profile.name);
      check(row);
    }
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(RecoverySearchTest);

TEST_P(RecoverySearchTest, IsWorkOfASearchWhateverTheScansClass) {
  ClassRecorder recorder(engine());
  AlignJob job = SceneJob(PreciseProfile());
  job.work_class = WorkClass::kTracking;
  job.with_point_scores = true;
  bool judged = false;
  const auto confidence = [&judged](const AlignedScan& /*scan*/) -> std::optional<double> {
    judged = true;
    return 1.0;
  };
  (void)SearchForVehicle(recorder, job, SearchAround(ThreeMetresOff(), 3.0), {}, confidence);
  EXPECT_TRUE(judged) << "the search ended too soon to show anything";
  EXPECT_EQ(recorder.Take().align, std::set<WorkClass>{WorkClass::kSearching});
}

TEST_P(RecoverySearchTest, ASessionLostByAJumpIsRecovered) {
  ForEachProfile([](const ProfileRow& row) {
    const LostSession session = Track(SceneJob(row.profile), row.LastGood(), {}, 10);
    EXPECT_TRUE(session.lost);
    EXPECT_EQ(session.searches, 1);
    ASSERT_TRUE(session.report.proposal) << session.report.detail;
    EXPECT_LT(TranslationDistance(session.report.proposal->map_T_base, ScenePose()),
              row.accuracy_m);
    EXPECT_LT(RotationDistance(session.report.proposal->map_T_base, ScenePose()), 0.01);
    EXPECT_EQ(session.report.detail, "");
    EXPECT_EQ(session.report.radius_m, RecoveryOptions().initial_radius_m);
    EXPECT_EQ(session.report.candidates, RecoveryOptions().candidates);
    EXPECT_GT(session.report.ranked.hypotheses.front().support, 1u);
  });
}

TEST_P(RecoverySearchTest, AWiderJumpIsFoundOnceTheRadiusHasGrown) {
  RecoveryOptions options;
  options.initial_radius_m = 1.0;
  options.radius_growth = 4.0;
  const Pose last_good = Displaced(ScenePose(), {-9.0, 12.0, 0.0}, -0.2);
  const LostSession session = Track(SceneJob(PreciseProfile()), last_good, options, 12);
  EXPECT_TRUE(session.lost);
  ASSERT_TRUE(session.report.proposal) << session.report.detail;
  EXPECT_GT(session.searches, 1);
  EXPECT_GT(session.report.radius_m, 1.0);
  EXPECT_LT(TranslationDistance(session.report.proposal->map_T_base, ScenePose()), 0.01);
}

TEST_P(RecoverySearchTest, TheSearchFollowsAVehicleThatDrivesOn) {
  ForEachProfile([](const ProfileRow& row) {
    // It was last found 3 m off the truth, and has since driven 25 m, which odometry in a frame of
    // its own has seen.
    const Pose drive = {{25.0, 1.0, 0.0}, Eigen::Quaterniond(0.99, 0.0, 0.0, 0.14).normalized()};
    const Pose odometry_T_then = {{-40.0, 8.0, 0.0}, Eigen::Quaterniond(0.0, 0.0, 0.0, 1.0)};
    const Pose odometry_T_now = odometry_T_then * drive;
    const AlignJob job = SceneJob(row.profile);
    for (const bool with_odometry : {true, false}) {
      RecoveryOptions options;
      options.lost_after_scans = 1;
      RecoveryPolicy policy(options);
      policy.Found(ThreeMetresOff() * drive.Inverse(), odometry_T_then);
      policy.Missed();
      const auto search =
          policy.NextSearch(with_odometry ? std::optional<Pose>(odometry_T_now) : std::nullopt);
      ASSERT_TRUE(search);
      const RecoveryReport report = SearchForVehicle(engine(), job, *search, options, {});
      EXPECT_EQ(report.proposal.has_value(), with_odometry) << report.detail;
      if (report.proposal) {
        EXPECT_LT(TranslationDistance(report.proposal->map_T_base, ScenePose()), row.accuracy_m);
      }
    }
  });
}

TEST_P(RecoverySearchTest, AVehicleOutsideTheWidestDiscIsNotFound) {
  RecoveryOptions options;
  options.max_radius_m = 4.0;
  const Pose last_good = Displaced(ScenePose(), {-12.0, 16.0, 0.0}, 0.0);
  const LostSession session = Track(SceneJob(AutowareProfile()), last_good, options, 8);
  EXPECT_EQ(session.searches, 3);
  EXPECT_FALSE(session.report.proposal);
  EXPECT_EQ(session.report.radius_m, 4.0);
}

TEST_P(RecoverySearchTest, AScanOfAnotherPlaceIsNotRecovered) {
  ForEachProfile([](const ProfileRow& row) {
    // The same ground with other walls and poles: most points still meet the map.
    for (const uint64_t seed : {2, 3, 4}) {
      SceneOptions elsewhere;
      elsewhere.seed = seed;
      AlignJob job = SceneJob(row.profile);
      job.scan = std::make_shared<PointCloud>(SceneScan(ScenePose(), 1500, elsewhere));
      const int scans = static_cast<int>(RecoveryOptions().lost_after_scans) + row.searches;
      const LostSession session = Track(job, row.LastGood(), {}, scans);
      EXPECT_TRUE(session.lost);
      EXPECT_EQ(session.searches, row.searches);
      EXPECT_FALSE(session.report.proposal);
      EXPECT_FALSE(session.report.detail.empty());
      ASSERT_FALSE(session.report.ranked.hypotheses.empty());
      EXPECT_GT(session.report.ranked.hypotheses.front().result.after.matched_ratio(), 0.4);
    }
  });
}

TEST_P(RecoverySearchTest, EachGuardKeepsAPoseFromBeingProposed) {
  AlignJob good = SceneJob(AutowareProfile());
  ASSERT_TRUE(Search(good).proposal) << Search(good).detail;

  AlignJob high = good;
  high.profile.acceptance_threshold = 4.1;
  RecoveryReport report = Search(high);
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("it must be over 4.1"));

  AlignJob short_search = good;
  short_search.profile.stages[0].max_iterations = 1;
  report = Search(short_search);
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("did not converge"));

  RecoveryOptions options;
  options.hypotheses.ambiguity_gap = 0.9;
  report = Search(good, options);
  EXPECT_FALSE(report.proposal);
  EXPECT_TRUE(report.ranked.ambiguous);
  EXPECT_THAT(report.detail, HasSubstr("it must be at least 0.9"));

  // Half as many points again, where the map has nothing.
  auto cluttered = std::make_shared<PointCloud>(*good.scan);
  for (int i = 0; i < 750; ++i) cluttered->PushBack(0.01F * static_cast<float>(i), 0.0F, 60.0F);
  AlignJob half_known = good;
  half_known.scan = cluttered;
  EXPECT_TRUE(Search(half_known).proposal);
  options = RecoveryOptions();
  options.min_matched_ratio = 0.7;
  report = Search(half_known, options);
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("it must be at least 0.7"));
}

TEST_P(RecoverySearchTest, TheConfidenceIsAskedOfTheBestPoseAlone) {
  AlignJob job = SceneJob(AutowareProfile());
  job.with_point_scores = true;
  const struct {
    std::optional<double> confidence;
    bool proposed;
  } rows[] = {{0.49, false}, {0.5, true}, {0.9, true}, {std::nullopt, true}};
  for (const auto& row : rows) {
    int asked = 0;
    const RecoveryReport report = Search(job, {}, [&](const AlignedScan& scan) {
      ++asked;
      EXPECT_EQ(scan.result->point_scores.size(), job.scan->size());
      EXPECT_LT(TranslationDistance(scan.result->map_T_base, ScenePose()), 0.03);
      EXPECT_EQ(scan.job->scan, job.scan);
      return row.confidence;
    });
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(report.proposal.has_value(), row.proposed);
    EXPECT_EQ(report.confidence, row.confidence);
    EXPECT_EQ(report.detail.empty(), row.proposed) << report.detail;
  }
}

TEST_P(RecoverySearchTest, ASearchThatIsStoppedProposesNothing) {
  AlignJob job = SceneJob(AutowareProfile());
  job.stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
  const RecoveryReport report = Search(job);
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("cancelled"));
}

TEST_P(RecoverySearchTest, WhereThereIsNoMapItSaysSo) {
  const AlignJob job = SceneJob(AutowareProfile());
  const RecoverySearch far = SearchAround(Displaced(ScenePose(), {900.0, 0.0, 0.0}, 0.0), 3.0);
  const RecoveryReport report = SearchForVehicle(engine(), job, far, {}, {});
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("no candidate has a map cell near it"));
}

TEST_P(RecoverySearchTest, GivesTheSameBitsAgain) {
  ForEachProfile([](const ProfileRow& row) {
    const RecoveryReport first = Search(SceneJob(row.profile));
    const RecoveryReport again = Search(SceneJob(row.profile));
    ASSERT_TRUE(first.proposal && again.proposal);
    EXPECT_EQ(Bits(*first.proposal), Bits(*again.proposal));
  });
}

TEST(RecoverySearchFaultTest, AsksTheEngineForOneBatchAndPassesItsFaultOn) {
  auto faults = std::make_shared<Faults>();
  FaultyEngine engine(faults);
  AlignJob job = SceneJob(AutowareProfile(), nullptr);
  job.map = LoadMap(engine, {SceneMap()}, {job.profile.stages[0].cells});
  const RecoverySearch search = SearchAround(ThreeMetresOff(), 3.0);
  EXPECT_TRUE(SearchForVehicle(engine, job, search, {}, {}).proposal);
  EXPECT_THAT(faults->batches(), ::testing::ElementsAre(RecoveryOptions().candidates));

  faults->failed = true;
  RecoveryOptions one;
  one.candidates = 1;
  const RecoveryReport report = SearchForVehicle(engine, job, search, one, {});
  EXPECT_FALSE(report.proposal);
  EXPECT_THAT(report.detail, HasSubstr("fell off the bus"));
}

}  // namespace
}  // namespace voxloc
