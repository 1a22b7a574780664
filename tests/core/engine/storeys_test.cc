// SPDX-License-Identifier: Apache-2.0
//
// `precise` in a garage of two storeys that lie nearer to each other than its largest cells are
// long.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/trace_check.h"

namespace voxloc {
namespace {

constexpr double kStoreyM = 2.7;
constexpr double kSlabM = 0.3;
constexpr double kLengthM = 60.0;
constexpr double kWidthM = 32.0;
// Height of the lower floor. Lattices of 8 and 4 m then have cells that hold parts of both storeys.
constexpr double kGroundM = 1.0;
constexpr double kSensorM = 1.7;  // above the floor

// Along the axes of the map.
struct Box {
  Eigen::Vector3d low;
  Eigen::Vector3d high;
};

// Slabs, outer walls and pillars; on each storey some of its parking places are empty.
std::vector<Box> GarageBoxes(RandomNumbers& random) {
  std::vector<Box> boxes;
  for (int i = 0; i < 3; ++i) {
    const double top = kStoreyM * i;
    boxes.push_back({{0.0, 0.0, top - kSlabM}, {kLengthM, kWidthM, top}});
  }
  const double height = 2.0 * kStoreyM;
  boxes.push_back({{-0.2, 0.0, 0.0}, {0.0, kWidthM, height}});
  boxes.push_back({{kLengthM, 0.0, 0.0}, {kLengthM + 0.2, kWidthM, height}});
  boxes.push_back({{0.0, -0.2, 0.0}, {kLengthM, 0.0, height}});
  boxes.push_back({{0.0, kWidthM, 0.0}, {kLengthM, kWidthM + 0.2, height}});
  for (double x = 7.5; x < kLengthM; x += 7.5) {
    for (const double y : {5.5, 16.0, 26.5}) {
      boxes.push_back({{x, y, 0.0}, {x + 0.4, y + 0.4, height}});
    }
  }
  for (double x = 1.0; x < kLengthM - 2.5; x += 2.5) {
    for (const double y : {0.4, 11.0, 16.6, 27.0}) {
      const Eigen::Vector3d size(1.8, 4.4, random.Uniform(1.4, 1.8));
      for (int storey = 0; storey < 2; ++storey) {
        if (random.Uniform(0.0, 1.0) < 0.5) continue;
        const Eigen::Vector3d low(x, y, kStoreyM * storey);
        boxes.push_back({low, low + size});
      }
    }
  }
  for (Box& box : boxes) {
    box.low.z() += kGroundM;
    box.high.z() += kGroundM;
  }
  return boxes;
}

// Some points of every square metre of a surface, with noise.
PointCloud Sample(const std::vector<Box>& boxes, double per_square_metre, RandomNumbers& random) {
  PointCloud cloud;
  for (const Box& box : boxes) {
    const Eigen::Vector3d size = box.high - box.low;
    for (int axis = 0; axis < 3; ++axis) {
      const double area = size[(axis + 1) % 3] * size[(axis + 2) % 3];
      const int points = static_cast<int>(2.0 * area * per_square_metre);
      for (int i = 0; i < points; ++i) {
        Eigen::Vector3d p =
            box.low + size.cwiseProduct(0.5 * Eigen::Vector3d::Ones() + random.InBox(0.5));
        p[axis] = i % 2 == 0 ? box.low[axis] : box.high[axis];
        p += 0.01 * random.NormalVector();
        cloud.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()),
                       static_cast<float>(p.z()));
      }
    }
  }
  return cloud;
}

// How far a ray goes until it meets a box; infinite where it does not.
double Range(const std::vector<Box>& boxes, const Eigen::Vector3d& from,
             const Eigen::Vector3d& direction) {
  double range = std::numeric_limits<double>::infinity();
  for (const Box& box : boxes) {
    const Eigen::Array3d to_low = (box.low - from).array() / direction.array();
    const Eigen::Array3d to_high = (box.high - from).array() / direction.array();
    const double enters = to_low.min(to_high).maxCoeff();
    const double leaves = to_low.max(to_high).minCoeff();
    if (enters > 0.0 && enters <= leaves) range = std::min(range, enters);
  }
  return range;
}

PointCloud Scan(const std::vector<Box>& boxes, const Pose& map_T_base, RandomNumbers& random) {
  constexpr size_t kPoints = 1500;
  PointCloud scan;
  while (scan.size() < kPoints) {
    const double azimuth = random.Uniform(-M_PI, M_PI);
    const double elevation = random.Uniform(-22.5, 22.5) * kRadiansPerDegree;
    const Eigen::Vector3d direction(std::cos(elevation) * std::cos(azimuth),
                                    std::cos(elevation) * std::sin(azimuth), std::sin(elevation));
    const double range = Range(boxes, map_T_base.translation, map_T_base.rotation * direction);
    if (!(range > 1.0 && range < 100.0)) continue;
    const Eigen::Vector3d p = (range + 0.02 * random.Normal()) * direction;
    scan.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()));
  }
  return scan;
}

// On either storey, all over the garage.
std::vector<Pose> Places(size_t count, RandomNumbers& random) {
  std::vector<Pose> places(count);
  for (size_t i = 0; i < count; ++i) {
    const double x = 5.0 + (kLengthM - 10.0) * static_cast<double>(i) / static_cast<double>(count);
    places[i].translation = {x, i % 4 < 2 ? 8.0 : 24.0,
                             kGroundM + kSensorM + (i % 2 == 0 ? 0.0 : kStoreyM)};
    places[i].rotation = Eigen::AngleAxisd(random.Uniform(-0.2, 0.2), Eigen::Vector3d::UnitZ());
  }
  return places;
}

// Half a metre and 2 degrees off.
Pose GuessOf(const Pose& map_T_base, size_t i) {
  const double turn_deg = i % 3 == 1 ? 2.0 : -2.0;
  Pose guess = map_T_base;
  guess.translation += Eigen::Vector3d(0.4, i % 3 == 0 ? 0.3 : -0.3, 0.1);
  guess.rotation = map_T_base.rotation *
                   Eigen::AngleAxisd(turn_deg * kRadiansPerDegree, Eigen::Vector3d::UnitZ());
  return guess;
}

class StoreysTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(StoreysTest);

TEST_P(StoreysTest, GuessesNearTheTruthStayOnTheirStorey) {
  RandomNumbers random(5);
  const std::vector<Box> boxes = GarageBoxes(random);
  const Profile profile = PreciseProfile();
  const auto map = LoadMap(engine(), {Sample(boxes, 100.0, random)}, RequiredStatistics({profile}));
  ASSERT_NE(map, nullptr);
  const std::vector<Pose> truth = Places(24, random);
  std::vector<AlignJob> jobs;
  for (size_t i = 0; i < truth.size(); ++i) {
    AlignJob job;
    job.map = map;
    job.scan = std::make_shared<const PointCloud>(Scan(boxes, truth[i], random));
    job.profile = profile;
    job.with_trace = true;
    job.map_T_base_guess = GuessOf(truth[i], i);
    jobs.push_back(job);
  }

  int led_away = 0;
  int wrong = 0;
  const std::vector<AlignResult> results = engine().Align(jobs);
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectConsistentTrace(results[i], profile);
    const auto is_elsewhere = [&](const Pose& map_T_base) {
      return TranslationDistance(map_T_base, truth[i]) > 0.5 * kStoreyM;
    };
    const auto leads_away = [&](const IterationTrace& step) {
      return is_elsewhere(step.map_T_base_after);
    };
    const std::vector<IterationTrace>& trace = results[i].trace;
    if (std::any_of(trace.begin(), trace.end(), leads_away)) ++led_away;
    if (is_elsewhere(results[i].map_T_base)) ++wrong;
  }
  EXPECT_GE(led_away, 12) << "the scene shows nothing";
  EXPECT_EQ(wrong, 0) << "7 where no answer is doubted";
}

}  // namespace
}  // namespace voxloc
