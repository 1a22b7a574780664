// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "server/convert/cloud.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/profile.h"
#include "server/convert/status.h"
#include "server/map_build.h"
#include "server/verdict.h"
#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::StatusCode CodeOf(const v1::AlignmentOptions& options) {
  return AlignOptionsFromProto(options, "autoware", Limits()).status().code();
}

TEST(ConvertPose, GoesThereAndBack) {
  const Pose pose{{4e6, -2.5, 100.0}, RotationFromRosAngles(0.3, -0.2, 2.9)};
  v1::Pose proto;
  PoseToProto(pose, proto);
  EXPECT_GE(proto.orientation().w(), 0.0);
  auto back = PoseFromProto(proto, "pose");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->translation, pose.translation);
  EXPECT_LT(RotationDistance(*back, pose), 1e-12);
}

TEST(ConvertPose, NormalisesQuaternionsOfAnySize) {
  for (const double size : {1e-5, 1.0, 1e200}) {
    v1::Pose proto;
    proto.mutable_orientation()->set_w(size);
    proto.mutable_orientation()->set_z(size);
    auto pose = PoseFromProto(proto, "pose");
    ASSERT_TRUE(pose.ok()) << size;
    EXPECT_NEAR(RosAnglesFromRotation(pose->rotation).z(), M_PI / 2.0, 1e-12);
  }
}

TEST(ConvertPose, RefusesWhatIsNotAPoseByName) {
  v1::Pose zero;
  EXPECT_THAT(std::string(PoseFromProto(zero, "guess").status().message()),
              HasSubstr("guess.orientation"));
  zero.mutable_orientation()->set_w(1e-7);
  EXPECT_FALSE(PoseFromProto(zero, "guess").ok());
  for (const double bad : {kNan, kInfinity}) {
    v1::Pose proto = PoseOf(Pose{});
    proto.mutable_position()->set_y(bad);
    EXPECT_FALSE(PoseFromProto(proto, "guess").ok());
    proto = PoseOf(Pose{});
    proto.mutable_orientation()->set_x(bad);
    EXPECT_FALSE(PoseFromProto(proto, "guess").ok());
  }
  EXPECT_TRUE(MountFromProto(PoseOf(Pose{})).ok());
  EXPECT_FALSE(MountFromProto(PoseOf({{1e4, 0.0, 0.0}, Eigen::Quaterniond::Identity()})).ok());
}

TEST(ConvertCloud, GoesThereAndBack) {
  PointCloud cloud;
  cloud.origin = {4e6, 4e5, 100.0};
  cloud.PushBack(1.0F, -2.0F, 3.0F);
  cloud.PushBack(0.25F, 0.5F, 0.75F);
  auto decoded = DecodeTilePoints(CloudOf(cloud), 1000);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->cloud.origin, cloud.origin);
  EXPECT_EQ(decoded->cloud.x, cloud.x);
  EXPECT_EQ(decoded->cloud.y, cloud.y);
  EXPECT_EQ(decoded->cloud.z, cloud.z);
}

TEST(ConvertCloud, ReadsEveryLayoutAndStride) {
  const float with_intensity[] = {1.0F, 2.0F, 3.0F, 9.0F, 4.0F, 5.0F, 6.0F, 9.0F};
  v1::Cloud cloud;
  cloud.set_data(std::string(reinterpret_cast<const char*>(with_intensity), 32));
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZI);
  EXPECT_EQ(DecodeScan(cloud).cloud.x, (std::vector<float>{1.0F, 4.0F}));
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  cloud.set_stride(16);
  EXPECT_EQ(DecodeScan(cloud).cloud.z, (std::vector<float>{3.0F, 6.0F}));
  const int16_t units[] = {100, -200, 300, 32767, -32768, 0};
  cloud.set_data(std::string(reinterpret_cast<const char*>(units), 12));
  cloud.set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
  cloud.set_stride(0);
  cloud.set_scale_m(0.01);
  ASSERT_TRUE(CheckScanCloud(cloud, 10).ok());
  const PointCloud decoded = DecodeScan(cloud).cloud;
  EXPECT_FLOAT_EQ(decoded.y[0], -2.0F);
  EXPECT_FLOAT_EQ(decoded.x[1], 327.67F);
}

TEST(ConvertCloud, DropsAndCountsWhatIsNotFiniteOrOutOfReach) {
  const auto nan = static_cast<float>(kNan);
  const auto infinity = static_cast<float>(kInfinity);
  const DecodedCloud decoded =
      DecodeScan(CloudOf({1.0F, 2.0F, 3.0F, nan, 0.0F, 0.0F, 0.0F, infinity, 0.0F, 3e38F, 0.0F,
                          0.0F, 4.0F, 5.0F, 6.0F}));
  EXPECT_EQ(decoded.received, 5);
  EXPECT_EQ(decoded.not_finite, 2);
  EXPECT_EQ(decoded.out_of_reach, 1);
  EXPECT_EQ(decoded.cloud.x, (std::vector<float>{1.0F, 4.0F}));
}

TEST(ConvertCloud, RefusesMalformedCloudsByName) {
  const v1::Cloud good = CloudOf({1.0F, 2.0F, 3.0F});
  const auto message = [](const v1::Cloud& cloud) {
    return std::string(CheckScanCloud(cloud, 10).status().message());
  };
  EXPECT_EQ(message(good), "");
  v1::Cloud bad = good;
  bad.mutable_data()->push_back('x');
  EXPECT_THAT(message(bad), HasSubstr("not a multiple of the stride 12"));
  bad = good;
  bad.set_stride(11);
  EXPECT_THAT(message(bad), HasSubstr("cloud.stride is 11"));
  bad.set_stride(4'000'000'000U);
  EXPECT_THAT(message(bad), HasSubstr("cloud.stride is 4000000000"));
  bad = good;
  bad.clear_layout();
  EXPECT_THAT(message(bad), HasSubstr("cloud.layout is 0"));
  bad.set_layout(static_cast<v1::CloudLayout>(99));
  EXPECT_THAT(message(bad), HasSubstr("cloud.layout is 99"));
  for (const double scale : {0.0, -1.0, kNan, kInfinity}) {
    bad = good;
    bad.set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
    bad.set_stride(6);
    bad.set_scale_m(scale);
    EXPECT_THAT(message(bad), HasSubstr("cloud.scale_m")) << scale;
  }
  for (const double origin : {kNan, kInfinity, 1e9}) {
    bad = good;
    bad.mutable_origin()->set_z(origin);
    EXPECT_THAT(message(bad), HasSubstr("cloud.origin")) << origin;
  }
  EXPECT_THAT(std::string(CheckScanCloud(good, 0).status().message()), HasSubstr("1 points"));
  EXPECT_EQ(DecodeTilePoints(good, 11).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ConvertOptions, AppliesOverridesToEveryStage) {
  v1::AlignmentOptions proto;
  proto.set_profile("precise");
  v1::AlignmentOverrides& overrides = *proto.mutable_overrides();
  overrides.mutable_max_iterations()->set_value(7);
  overrides.mutable_step_size_m()->set_value(0.3);
  overrides.mutable_transformation_epsilon()->set_value(0.002);
  overrides.mutable_outlier_ratio()->set_value(0.4);
  overrides.mutable_step_floor()->set_value(true);
  overrides.set_line_search(v1::LINE_SEARCH_MORE_THUENTE);
  overrides.set_search_method(v1::SEARCH_METHOD_DIRECT7);
  overrides.set_curvature(v1::CURVATURE_REWEIGHTED);
  overrides.mutable_small_angle_shortcut()->set_value(true);
  overrides.mutable_exact_pitch_curvature()->set_value(false);
  overrides.mutable_float_transform()->set_value(true);
  overrides.mutable_degeneracy_aware()->set_value(true);
  overrides.mutable_regularization()->mutable_scale_factor()->set_value(0.5);
  proto.mutable_gate()->set_score_type(v1::SCORE_TYPE_TRANSFORM_PROBABILITY);
  proto.mutable_gate()->mutable_score_threshold()->set_value(3.5);
  proto.mutable_gate()->mutable_min_matched_ratio()->set_value(0.25);
  auto options = AlignOptionsFromProto(proto, "autoware", Limits());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->profile.name, "precise");
  EXPECT_TRUE(options->regularize);
  EXPECT_EQ(options->min_matched_ratio, 0.25);
  EXPECT_EQ(options->profile.regularization_scale, 0.5);
  EXPECT_EQ(options->profile.acceptance_threshold, 3.5);
  EXPECT_EQ(options->profile.stages.size(), PreciseProfile().stages.size());

  // The profile that is told to clients says the same.
  v1::Profile told;
  ProfileToProto(options->profile, told);
  EXPECT_EQ(told.score_type(), v1::SCORE_TYPE_TRANSFORM_PROBABILITY);
  for (const v1::ProfileStage& stage : told.stages()) {
    EXPECT_EQ(stage.max_iterations(), 7);
    EXPECT_EQ(stage.step_size_m(), 0.3);
    EXPECT_EQ(stage.transformation_epsilon(), 0.002);
    EXPECT_EQ(stage.outlier_ratio(), 0.4);
    EXPECT_TRUE(stage.step_floor());
    EXPECT_EQ(stage.line_search(), v1::LINE_SEARCH_MORE_THUENTE);
    EXPECT_EQ(stage.search_method(), v1::SEARCH_METHOD_DIRECT7);
    EXPECT_EQ(stage.curvature(), v1::CURVATURE_REWEIGHTED);
    EXPECT_TRUE(stage.small_angle_shortcut());
    EXPECT_FALSE(stage.exact_pitch_curvature());
    EXPECT_TRUE(stage.float_transform());
    EXPECT_GT(stage.observed_ratio(), 0.0);
  }
}

TEST(ConvertOptions, RefusesAbsurdValues) {
  EXPECT_EQ(CodeOf(v1::AlignmentOptions()), absl::StatusCode::kOk);
  v1::AlignmentOptions options;
  options.set_profile("nonsense");
  EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
  for (const uint32_t iterations : {0U, 1001U, 1'000'000'000U}) {
    options.Clear();
    options.mutable_overrides()->mutable_max_iterations()->set_value(iterations);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument) << iterations;
  }
  for (const double value : {-1.0, kNan, kInfinity, 1e9}) {
    SCOPED_TRACE(value);
    options.Clear();
    options.mutable_overrides()->mutable_step_size_m()->set_value(value);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
    options.Clear();
    options.mutable_overrides()->mutable_transformation_epsilon()->set_value(value);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
    options.Clear();
    options.mutable_overrides()->mutable_outlier_ratio()->set_value(value);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
    options.Clear();
    options.mutable_overrides()->mutable_regularization()->mutable_scale_factor()->set_value(value);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
    options.Clear();
    options.mutable_gate()->mutable_min_matched_ratio()->set_value(value);
    EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
  }
  options.Clear();
  options.mutable_gate()->mutable_score_threshold()->set_value(kNan);
  EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
  options.Clear();
  options.mutable_overrides()->set_line_search(static_cast<v1::LineSearch>(9));
  EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
}

TEST(ConvertOptions, RefusesAbsurdEstimatesAndChecks) {
  const auto refuses = [](const std::function<void(v1::AlignmentOptions&)>& change,
                          const std::string& field) {
    v1::AlignmentOptions options;
    change(options);
    const auto converted = AlignOptionsFromProto(options, "precise", Limits());
    EXPECT_EQ(converted.status().code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(converted.status().message()), HasSubstr(field));
  };
  for (const double value : {-1.0, kNan, kInfinity}) {
    SCOPED_TRACE(value);
    const auto validation = [&refuses, value](auto member, const std::string& field) {
      refuses(
          [&](v1::AlignmentOptions& options) {
            (options.mutable_gate()->mutable_validation()->*member)()->set_value(value);
          },
          field);
    };
    using V = v1::ValidationOptions;
    validation(&V::mutable_required_distance_m, "required_distance_m");
    validation(&V::mutable_guess_timeout_s, "guess_timeout_s");
    validation(&V::mutable_guess_distance_tolerance_m, "guess_distance_tolerance_m");
    validation(&V::mutable_initial_to_result_distance_tolerance_m,
               "initial_to_result_distance_tolerance_m");
    validation(&V::mutable_max_execution_time_s, "max_execution_time_s");
    validation(&V::mutable_max_delay_s, "max_delay_s");
    refuses(
        [value](auto& options) {
          options.mutable_gate()->mutable_min_confidence()->set_value(value);
        },
        "gate.min_confidence");
    refuses(
        [value](auto& options) {
          options.mutable_covariance()->mutable_temperature()->set_value(value);
        },
        "temperature");
    refuses(
        [value](auto& options) {
          options.mutable_covariance()->mutable_scale_factor()->set_value(value);
        },
        "scale_factor");
  }
  const auto covariance = [&refuses](const std::function<void(v1::CovarianceOptions&)>& change,
                                     const std::string& field) {
    refuses([&](auto& options) { change(*options.mutable_covariance()); }, field);
  };
  covariance([](auto& options) { options.set_method(static_cast<v1::CovarianceMethod>(6)); },
             "covariance.method");
  covariance([](auto& options) { options.add_offset_x_m(1.0); }, "offset_x_m");
  covariance(
      [](auto& options) {
        options.add_offset_x_m(kNan);
        options.add_offset_y_m(1.0);
      },
      "offset");
  covariance(
      [](auto& options) {
        for (int i = 0; i < 65; ++i) {
          options.add_offset_x_m(1.0);
          options.add_offset_y_m(1.0);
        }
      },
      "65");
  covariance([](auto& options) { options.add_fixed_covariance(1.0); }, "fixed_covariance has 1");
  covariance(
      [](auto& options) {
        for (int i = 0; i < 36; ++i) options.add_fixed_covariance(1.0);
      },
      "fixed_covariance");
  refuses(
      [](auto& options) {
        options.mutable_gate()->mutable_validation()->mutable_max_skipped_scans()->set_value(0);
      },
      "max_skipped_scans");
}

TEST(ConvertOptions, TheRequiredDistanceIsAutowaresWithItsProfileAlone) {
  v1::AlignmentOptions options;
  EXPECT_EQ(AlignOptionsFromProto(options, "precise", Limits())->gate.required_distance_m, 0.0);
  options.set_profile("autoware");
  EXPECT_EQ(AlignOptionsFromProto(options, "precise", Limits())->gate.required_distance_m, 10.0);
}

TEST(ConvertOptions, ReadsFiltersAndRefusesAbsurdOnes) {
  auto none = ScanFiltersFromProto(v1::ScanFilter());
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->sensor.has_value());
  EXPECT_FALSE(none->base.has_value());
  v1::ScanFilter filter;
  filter.set_min_range_m(1.0);
  filter.set_voxel_leaf_m(0.5);
  filter.mutable_min_height_m()->set_value(-2.0);
  auto filters = ScanFiltersFromProto(filter);
  ASSERT_TRUE(filters.ok());
  EXPECT_EQ(filters->sensor->min_range_m, 1.0);
  EXPECT_EQ(filters->base->voxel_leaf_m, 0.5);
  EXPECT_EQ(filters->base->min_height_m, -2.0);
  for (const double value : {-1.0, kNan}) {
    v1::ScanFilter bad;
    bad.set_min_range_m(value);
    EXPECT_FALSE(ScanFiltersFromProto(bad).ok());
    bad.Clear();
    bad.set_max_range_m(value);
    EXPECT_FALSE(ScanFiltersFromProto(bad).ok());
    bad.Clear();
    bad.set_voxel_leaf_m(value);
    EXPECT_FALSE(ScanFiltersFromProto(bad).ok());
  }
  filter.Clear();
  filter.set_min_range_m(5.0);
  filter.set_max_range_m(4.0);
  EXPECT_FALSE(ScanFiltersFromProto(filter).ok());
  filter.Clear();
  filter.mutable_box()->mutable_min()->set_x(1.0);
  EXPECT_FALSE(ScanFiltersFromProto(filter).ok());
  filter.mutable_box()->mutable_max()->set_x(0.0);
  EXPECT_FALSE(ScanFiltersFromProto(filter).ok());
}

TEST(ConvertStatus, KeepsTheCodeAndShortensTheMessage) {
  const grpc::Status status = ToGrpcStatus(absl::DataLossError(std::string(100'000, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_LT(status.error_message().size(), 4096);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(MapBuild, ScalesTheCellsOfEveryStageAlike) {
  auto build = MakeMapBuild({{"precise"}, 1.0});
  ASSERT_TRUE(build.ok());
  auto profile = ProfileOnMap(PreciseProfile(), *build, "m");
  ASSERT_TRUE(profile.ok());
  const Profile own = PreciseProfile();
  const double factor = 1.0 / own.stages[own.score_stage].cells.cell_size_m;
  for (size_t i = 0; i < own.stages.size(); ++i) {
    EXPECT_NEAR(profile->stages[i].cells.cell_size_m, own.stages[i].cells.cell_size_m * factor,
                1e-12);
    // What the profile asks for is among what the map carries, to the bit.
    EXPECT_THAT(build->statistics, ::testing::Contains(profile->stages[i].cells));
  }
  EXPECT_EQ(ProfileOnMap(AutowareProfile(), *build, "m").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeMapBuild({}).value().request.profiles.size(), ProfileNames().size());
  EXPECT_EQ(MakeMapBuild({{"precise", "precise"}, 0.0}).value().request.profiles.size(), 1);
}

TEST(Verdict, KnowsWhenAScanCannotTouchTheMap) {
  Bounds map;
  map.min = {-10.0, -10.0, 0.0};
  map.max = {10.0, 10.0, 5.0};
  map.finite_points = 100;
  const auto at = [](double x) { return Pose{{x, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; };
  EXPECT_TRUE(CanTouch(map, at(0.0), 1.0, 2.0));
  EXPECT_TRUE(CanTouch(map, at(50.0), 39.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(50.0), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(1e300), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(Bounds(), at(0.0), 30.0, 2.0));
}

TEST(Verdict, AScanReachesAsFarAsItsFarthestPoint) {
  PointCloud scan;
  EXPECT_EQ(ReachOf(scan), 0.0);
  scan.PushBack(3.0F, 0.0F, 4.0F);
  scan.PushBack(0.0F, -4.5F, 0.0F);
  EXPECT_DOUBLE_EQ(ReachOf(scan), 5.0);
}

// Every reason to doubt a result at once; then one after another goes, in the order in which
// AlignmentStatus gives them.
TEST(Verdict, GivesTheFirstReasonToDoubtAResult) {
  AlignResult result;
  result.after.points = 100;
  result.after.matched_points = 50;
  result.after.nearest_voxel_likelihood = 1.0;
  result.reached_iteration_limit = true;
  result.termination = Termination::kDeadline;
  ScanEstimate estimate;
  estimate.confidence.emplace();
  estimate.confidence->value = 0.2;
  estimate.degeneracy.emplace();
  estimate.degeneracy->axes[1] = AxisObservation::kUnobserved;
  const Pose away{{2.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  estimate.covariance.offset_map_T_base = {Pose{{1.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}};
  estimate.covariance.aligned_map_T_base = {away};
  estimate.covariance.nvtl = {2.9};
  AlignOptions options;
  options.min_matched_ratio = 0.6;
  options.min_confidence = 0.5;
  Profile profile;
  const auto judge = [&] { return JudgeResult(result, &estimate, profile, options); };

  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_DEADLINE);
  result.termination = Termination::kMaxIterations;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_NOT_CONVERGED);
  result.oscillations = 4;
  options.gate.max_oscillations = 3;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.after.nearest_voxel_likelihood = 3.0;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_OVERLAP);
  EXPECT_FALSE(judge().accepted);
  result.after.matched_points = 60;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_CONFIDENCE);
  EXPECT_FALSE(judge().accepted);
  estimate.confidence->value = 0.5;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_AMBIGUOUS);
  EXPECT_TRUE(judge().accepted);
  estimate.covariance.nvtl = {2.6};
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_DEGENERATE);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "not observed: y");
  estimate.degeneracy->axes[1] = AxisObservation::kWeak;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OK);
  estimate.degeneracy.reset();
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OK);
  result.after.matched_points = 0;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OUT_OF_MAP);
}

}  // namespace
}  // namespace voxloc::server
