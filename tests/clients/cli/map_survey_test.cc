// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "clients/cli/map/map_load.h"

namespace voxloc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A point on each square metre of a ground that rises by a tenth along x.
PointCloud Ground(double x_m, double y_m, double min_x, double min_y) {
  PointCloud cloud;
  cloud.origin = {min_x, min_y, 0.0};
  for (float x = 0.5F; x < x_m; x += 1.0F) {
    for (float y = 0.5F; y < y_m; y += 1.0F) cloud.PushBack(x, y, 0.1F * x);
  }
  return cloud;
}

TEST(MapSurveyTest, BoundsAndDensityAreThoseOfThePoints) {
  MapSurvey survey;
  survey.Begin("a");
  PointCloud cloud = Ground(20.0, 40.0, -100.0, 10.0);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 1e9F, 0.0F);
  survey.Add("a", cloud);
  EXPECT_EQ(survey.points(), 800u);
  EXPECT_DOUBLE_EQ(*survey.density_per_m2(), 1.0);
  EXPECT_LT((survey.bounds().min - Eigen::Vector3d(-99.5, 10.5, 0.05)).norm(), 1e-6);
  EXPECT_LT((survey.bounds().max - Eigen::Vector3d(-80.5, 49.5, 1.95)).norm(), 1e-6);
  EXPECT_EQ(survey.Text(),
            "extent 19.0 x 39.0 x 1.9 m, from -99.5 10.5 0.1 to -80.5 49.5 2.0 m\n"
            "density 1 points/m2 where there are any\n");
  Json json;
  survey.AddTo(&json);
  EXPECT_NEAR(json["extent_m"][1].get<double>(), 39.0, 1e-6);
  EXPECT_NEAR(json["bounds"]["max"][2].get<double>(), 1.95, 1e-6);
  EXPECT_EQ(json["points_per_m2"], 1.0);
  EXPECT_THAT(json["doubts"], IsEmpty());

  // A tile that is loaded again counts once.
  survey.Begin("a");
  survey.Add("a", cloud);
  EXPECT_EQ(survey.points(), 800u);
}

TEST(MapSurveyTest, AMapWithoutPointsHasNeither) {
  MapSurvey survey;
  survey.Begin("a");
  EXPECT_EQ(survey.Text(), "");
  Json json;
  survey.AddTo(&json);
  EXPECT_TRUE(json["bounds"].is_null());
  EXPECT_TRUE(json["points_per_m2"].is_null());
}

TEST(MapSurveyTest, DoubtsAMapOnItsSide) {
  MapSurvey survey;
  survey.Begin("a");
  const PointCloud ground = Ground(50.0, 50.0, 0.0, 0.0);
  PointCloud lying = ground;
  lying.y = ground.z;
  lying.z = ground.y;
  survey.Add("a", lying);
  EXPECT_THAT(survey.Warnings(), ElementsAre(HasSubstr("does it lie on its side?")));
  EXPECT_THAT(survey.Text(), HasSubstr("warning: it is 49 m high and only 5 m wide"));
}

TEST(MapSurveyTest, DoubtsBoundsOutOfProportion) {
  MapSurvey survey;
  survey.Begin("a");
  PointCloud cloud = Ground(50.0, 50.0, 0.0, 0.0);
  cloud.PushBack(40e3F, 30e3F, 0.0F);
  survey.Add("a", cloud);
  EXPECT_THAT(survey.Warnings(), ElementsAre(HasSubstr("of the bounds' area have points")));
  survey.Add("a", Ground(5.0, 5.0, 1e8, 0.0));
  EXPECT_THAT(survey.Warnings(),
              ElementsAre(HasSubstr("1e+08 m from zero"), HasSubstr("out of proportion"),
                          HasSubstr("of the bounds' area")));
}

TEST(MapSurveyTest, DoubtsTilesThatAreStackedButNotScansWithPoses) {
  for (const bool placed : {false, true}) {
    MapSurvey stacked;
    for (const char* name : {"a", "b", "c"}) {
      stacked.Begin(name, std::nullopt, placed);
      stacked.Add(name, Ground(50.0, 50.0, 0.0, 0.0));
    }
    if (placed) {
      EXPECT_THAT(stacked.Warnings(), IsEmpty());
    } else {
      EXPECT_THAT(stacked.Warnings(),
                  ElementsAre(HasSubstr("the 3 clouds lie on top of each other")));
    }
  }
  MapSurvey side_by_side;
  for (int i = 0; i < 4; ++i) {
    side_by_side.Begin(std::to_string(i));
    side_by_side.Add(std::to_string(i), Ground(50.0, 50.0, 50.0 * i, 0.0));
  }
  EXPECT_THAT(side_by_side.Warnings(), IsEmpty());
}

TEST(MapSurveyTest, DoubtsTilesOutsideOfTheirMetadata) {
  MapSurvey survey;
  survey.Begin("a", XyBounds{{0.0, 0.0}, {50.0, 50.0}});
  survey.Add("a", Ground(50.0, 50.0, 0.0, 0.0));
  EXPECT_THAT(survey.Warnings(), IsEmpty());
  survey.Begin("b", XyBounds{{50.0, 0.0}, {100.0, 50.0}});
  survey.Add("b", Ground(50.0, 50.0, 0.0, 0.0));
  EXPECT_THAT(survey.Warnings(),
              ElementsAre(HasSubstr("1 clouds lie outside of the bounds that the "
                                    "metadata has for them, first of b")));
}

TEST(MapSurveyTest, DoubtsCoordinatesInCoarseSteps) {
  MapSurvey survey;
  survey.Begin("a");
  PointCloud cloud;
  for (int i = 0; i < 100; ++i) {
    cloud.PushBack(400'000.0F + static_cast<float>(i % 10), 20.0F + static_cast<float>(i / 10),
                   0.0F);
  }
  survey.Add("a", cloud);
  // Between 2^18 and 2^19 floats are 2^-5 apart.
  EXPECT_THAT(survey.Warnings(), ElementsAre(HasSubstr("steps of 0.0312 m")));
}

}  // namespace
}  // namespace voxloc::cli
