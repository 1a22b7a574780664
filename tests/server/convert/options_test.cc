// SPDX-License-Identifier: Apache-2.0

#include "server/convert/options.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/server/convert/not_finite.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Config WithProfile(const std::string& profile) {
  Config config;
  config.default_profile = profile;
  return config;
}

absl::StatusCode CodeOf(const v1::AlignmentOptions& options) {
  return AlignOptionsFromProto(options, WithProfile("autoware")).status().code();
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
  overrides.mutable_degeneracy_aware()->set_value(true);
  overrides.mutable_regularization()->mutable_scale_factor()->set_value(0.5);
  proto.mutable_gate()->set_score_type(v1::SCORE_TYPE_TRANSFORM_PROBABILITY);
  proto.mutable_gate()->mutable_score_threshold()->set_value(3.5);
  proto.mutable_gate()->mutable_min_matched_ratio()->set_value(0.25);
  auto options = AlignOptionsFromProto(proto, WithProfile("autoware")).value();
  EXPECT_EQ(options.profile.name, "precise");
  EXPECT_TRUE(options.regularize);
  EXPECT_EQ(options.limits.min_matched_ratio, 0.25);
  EXPECT_EQ(options.profile.regularization_scale, 0.5);
  EXPECT_EQ(options.profile.acceptance_threshold, 3.5);
  EXPECT_EQ(options.profile.stages.size(), PreciseProfile().stages.size());
  // The profile that is told to clients says the same.
  v1::Profile told;
  ProfileToProto(options.profile, told);
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
    EXPECT_GT(stage.observed_ratio(), 0.0);
  }
}

TEST(ConvertOptions, TheSensorGivesWhatTheRequestDoesNotSet) {
  SensorCalibration roof;
  roof.name = "roof";
  roof.position_sigma_m.value = {0.1, 0.2, 0.3};
  roof.rotation_sigma_rad.value = {0.01, 0.02, 0.03};
  roof.time_sigma_s.value = 0.5;
  roof.skew_sigma_s.value = 0.25;
  roof.scan_scale.value = 4.0;
  Config config = WithProfile("precise");
  config.sensors.Set(roof);
  v1::AlignmentOptions options;
  options.set_sensor("roof");
  auto converted = AlignOptionsFromProto(options, config);
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->sensor.name, "roof");
  EXPECT_EQ(converted->covariance.systematic.position_sigma_m, roof.position_sigma_m.value);
  EXPECT_EQ(converted->covariance.systematic.rotation_sigma_rad, roof.rotation_sigma_rad.value);
  EXPECT_EQ(converted->covariance.systematic.time_sigma_s, 0.5);
  EXPECT_EQ(converted->covariance.systematic.skew_sigma_s, 0.25);
  EXPECT_EQ(converted->covariance.scale_factor, 4.0);

  v1::CovarianceOptions& given = *options.mutable_covariance();
  for (int axis = 0; axis < 3; ++axis) given.add_systematic_position_sigma_m(0.07);
  given.mutable_systematic_time_sigma_s()->set_value(0.0);
  given.mutable_systematic_skew_sigma_s()->set_value(0.125);
  given.mutable_scale_factor()->set_value(1.5);
  converted = AlignOptionsFromProto(options, config);
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->covariance.systematic.position_sigma_m, Eigen::Vector3d(0.07, 0.07, 0.07));
  EXPECT_EQ(converted->covariance.systematic.rotation_sigma_rad, roof.rotation_sigma_rad.value);
  EXPECT_EQ(converted->covariance.systematic.time_sigma_s, 0.0);
  EXPECT_EQ(converted->covariance.systematic.skew_sigma_s, 0.125);
  EXPECT_EQ(converted->covariance.scale_factor, 1.5);
  // The factor was learnt of the calibrated method's scan part.
  options.Clear();
  options.set_sensor("roof");
  options.mutable_covariance()->set_method(v1::COVARIANCE_METHOD_LAPLACE);
  EXPECT_EQ(AlignOptionsFromProto(options, config)->covariance.scale_factor, 1.0);
}

TEST(ConvertOptions, ASensorThatIsNotKnownIsRefusedWithTheKnownNames) {
  v1::AlignmentOptions options;
  options.set_sensor("defualt");
  const absl::Status status = AlignOptionsFromProto(options, WithProfile("precise")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("options.sensor"), HasSubstr("known: default"),
                    HasSubstr("did you mean default?")));
  options.Clear();
  options.mutable_covariance()->mutable_systematic_time_sigma_s()->set_value(-1.0);
  EXPECT_EQ(CodeOf(options), absl::StatusCode::kInvalidArgument);
}

TEST(ConvertOptions, TheMountIsMovedByTheOffsetsOfTheSensor) {
  ScanRecipe recipe;
  EXPECT_FALSE(recipe.CorrectedMount(recipe.base_T_sensor).has_value());
  recipe.align.sensor.mount_offset_m.value = {0.0, 0.0, 0.5};
  ASSERT_TRUE(recipe.CorrectedMount(recipe.base_T_sensor).has_value());
  EXPECT_EQ(recipe.CorrectedMount(recipe.base_T_sensor)->translation,
            Eigen::Vector3d(0.0, 0.0, 0.5));
  recipe.base_T_sensor = Pose{{1.0, 0.0, 1.0}, Eigen::Quaterniond::Identity()};
  EXPECT_EQ(recipe.CorrectedMount(recipe.base_T_sensor)->translation,
            Eigen::Vector3d(1.0, 0.0, 1.5));
}

// That the value of a field is refused, by its name.
void ExpectRefused(const std::string& path, absl::string_view value) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  const std::string text = absl::StrCat(absl::StrJoin(parts, " { "), " { value: ", value,
                                        std::string(parts.size(), '}'));
  v1::AlignmentOptions options;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options)) << text;
  const absl::Status status = AlignOptionsFromProto(options, WithProfile("precise")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(status.message()), HasSubstr(parts.back())) << text;
}

TEST(ConvertOptions, RefusesAbsurdValues) {
  EXPECT_EQ(CodeOf(v1::AlignmentOptions()), absl::StatusCode::kOk);
  for (const char* const value : {"-1.0", "nan", "inf"}) {
    for (const char* const path :
         {"overrides.step_size_m", "overrides.transformation_epsilon", "overrides.outlier_ratio",
          "overrides.regularization.scale_factor", "gate.min_matched_ratio", "gate.min_confidence",
          "gate.rival_confidence", "gate.validation.required_distance_m",
          "gate.validation.guess_timeout_s", "gate.validation.guess_distance_tolerance_m",
          "gate.validation.initial_to_result_distance_tolerance_m",
          "gate.validation.max_execution_time_s", "gate.validation.max_delay_s",
          "covariance.temperature", "covariance.scale_factor"}) {
      ExpectRefused(path, value);
    }
  }
  for (const char* const path :
       {"overrides.step_size_m", "overrides.transformation_epsilon", "overrides.outlier_ratio",
        "overrides.regularization.scale_factor", "gate.min_matched_ratio"}) {
    ExpectRefused(path, "1e9");
  }
  for (const char* const iterations : {"0", "1001", "1000000000"}) {
    ExpectRefused("overrides.max_iterations", iterations);
  }
  ExpectRefused("gate.score_threshold", "nan");
  ExpectRefused("gate.validation.max_skipped_scans", "0");

  const auto refuses = [](const std::function<void(v1::AlignmentOptions&)>& change,
                          const std::string& field) {
    v1::AlignmentOptions options;
    change(options);
    const absl::Status status = AlignOptionsFromProto(options, WithProfile("precise")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  };
  refuses([](auto& options) { options.set_profile("nonsense"); }, "nonsense");
  refuses(
      [](auto& options) {
        options.mutable_overrides()->set_line_search(static_cast<v1::LineSearch>(9));
      },
      "line_search");
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
        options.mutable_offset_x_m()->Resize(65, 1.0);
        options.mutable_offset_y_m()->Resize(65, 1.0);
      },
      "65");
  covariance([](auto& options) { options.add_fixed_covariance(1.0); },
             "fixed_covariance must have 0 or 36 values (got 1)");
  covariance([](auto& options) { options.mutable_fixed_covariance()->Resize(36, 1.0); },
             "fixed_covariance");
}

TEST(ConvertOptions, TheRequiredDistanceIsAutowaresWithItsProfileAlone) {
  v1::AlignmentOptions options;
  EXPECT_EQ(AlignOptionsFromProto(options, WithProfile("precise"))->gate.required_distance_m, 0.0);
  options.set_profile("autoware");
  EXPECT_EQ(AlignOptionsFromProto(options, WithProfile("precise"))->gate.required_distance_m, 10.0);
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
    for (const auto set : {&v1::ScanFilter::set_min_range_m, &v1::ScanFilter::set_max_range_m,
                           &v1::ScanFilter::set_voxel_leaf_m}) {
      v1::ScanFilter bad;
      (bad.*set)(value);
      EXPECT_FALSE(ScanFiltersFromProto(bad).ok());
    }
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

}  // namespace
}  // namespace voxloc::server
