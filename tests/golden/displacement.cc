// SPDX-License-Identifier: Apache-2.0

#include "tests/golden/displacement.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace voxloc::golden {
namespace {

// Largest relative error of one float32 operation.
constexpr double kUnitRoundoff = 5.9604644775390625e-8;
// The largest magnitudes of the second and third derivative of exp(-t^2 / 2).
constexpr double kSecondDerivative = 1.0;
constexpr double kThirdDerivative = 1.3801;

// How many standard deviations a sum of independent errors may be off: more once in 1e9.
constexpr double kDeviations = 6.0;

// The running float32 mean, in map coordinates and input order, of the points of one cell.
struct RunningMean {
  Eigen::Vector3f sum = Eigen::Vector3f::Zero();
  Eigen::Vector3d exact_sum = Eigen::Vector3d::Zero();
  double count = 0.0;
};

std::vector<RunningMean> RunningMeansOf(const LoadedSet& loaded) {
  const double size_m = loaded.profile.stages.front().cells.cell_size_m;
  std::vector<RunningMean> means;
  for (const PointCloud& tile : loaded.set.Tiles()) {
    std::map<std::array<double, 3>, RunningMean> cells;
    for (size_t i = 0; i < tile.size(); ++i) {
      const Eigen::Vector3d point = tile.Point(i);
      RunningMean& cell = cells[{std::floor(point.x() / size_m), std::floor(point.y() / size_m),
                                 std::floor(point.z() / size_m)}];
      cell.sum += point.cast<float>();
      cell.exact_sum += point;
      cell.count += 1.0;
    }
    for (const auto& [key, cell] : cells) means.push_back(cell);
  }
  return means;
}

}  // namespace

// What one pair of point and cell contributes, and by how much that changes with the point. Of the
// Hessian: entries between two translations, and what the rotation's second derivatives add to
// entries between two angles, for each metre of the point's distance.
struct ChangeBound::Pair {
  double score = 0.0;
  double hessian = 0.0;
  double curvature = 0.0;
  double score_slope = 0.0;
  double score_bend = 0.0;
  double hessian_slope = 0.0;
  double curvature_slope = 0.0;
};

namespace {

// What one point contributes to bounds, of all its pairs.
struct PointChange {
  double score = 0.0;
  double best = 0.0;
  double hessian = 0.0;
  double curvature = 0.0;

  template <typename Pair>
  void Add(const Pair& pair, double displaced_m) {
    const double change =
        pair.score_slope * displaced_m + 0.5 * pair.score_bend * displaced_m * displaced_m;
    score += change;
    best = std::max(best, change);
    hessian += pair.hessian_slope * displaced_m;
    curvature += pair.curvature_slope * displaced_m;
  }
};

// A sum of terms that all may have the same sign, or that are independent.
class Sum {
 public:
  void AddCommon(double term) { common_ += term; }
  void AddRandom(double term) { squares_ += term * term; }
  [[nodiscard]] double Bound() const { return common_ + kDeviations * std::sqrt(squares_); }

 private:
  double common_ = 0.0;
  double squares_ = 0.0;
};

}  // namespace

Displacement Float32Displacement(const Eigen::Vector3d& point_base,
                                 const Eigen::Vector3d& point_map) {
  // Rounded for each point: the result, and three products and two sums before it, in each of three
  // axes. For all points alike: the nine entries of the rotation.
  const double range_m = point_base.norm();
  return {3.0 * kUnitRoundoff * range_m,
          kUnitRoundoff * (point_map.norm() + 5.0 * std::sqrt(3.0) * range_m)};
}

DisplacementOf BetweenPoses(const Pose& a, const Pose& b) {
  return [a, b](const Eigen::Vector3d& point_base, const Eigen::Vector3d& point_map) {
    Displacement displacement = Float32Displacement(point_base, point_map);
    displacement.common_m += (a * point_base - b * point_base).norm();
    return displacement;
  };
}

ChangeBound::ChangeBound(const LoadedSet& loaded)
    : loaded_(loaded),
      constants_(reference::ScoreConstants(loaded.profile.stages.front().outlier_ratio,
                                           loaded.profile.stages.front().cells.cell_size_m)) {
  const Eigen::Vector3d reach = Eigen::Vector3d::Constant(1e9);
  const auto found = loaded.map->CellsInBox(0, -reach, reach, 100'000'000);
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found.ok()) return;
  const std::vector<RunningMean> running = RunningMeansOf(loaded);
  for (const MapCell& cell : *found) {
    const auto nearest = std::min_element(
        running.begin(), running.end(), [&](const RunningMean& a, const RunningMean& b) {
          return (a.exact_sum / a.count - cell.mean).squaredNorm() <
                 (b.exact_sum / b.count - cell.mean).squaredNorm();
        });
    const Eigen::Matrix3d information = reference::ToEigen(cell.information);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(information,
                                                                Eigen::EigenvaluesOnly);
    const Eigen::Vector3f index = nearest->sum / static_cast<float>(nearest->count);
    cells_.push_back({cell.mean, cell.index, index.cast<double>(), information,
                      solver.eigenvalues().maxCoeff()});
  }
}

ChangeBound::Pair ChangeBound::Evaluate(const Cell& cell, const Eigen::Vector3d& point_map) const {
  const Eigen::Vector3d q = point_map - cell.mean;
  const Eigen::Vector3d slope = cell.information * q;
  Pair pair;
  pair.score = -constants_.d1 * std::exp(-0.5 * constants_.d2 * q.dot(slope));
  pair.score_slope = constants_.d2 * pair.score * slope.norm();
  pair.score_bend = kSecondDerivative * -constants_.d1 * constants_.d2 * cell.largest_information;
  pair.hessian =
      constants_.d2 * pair.score * (constants_.d2 * slope.squaredNorm() + cell.largest_information);
  pair.curvature = pair.score_slope;
  pair.hessian_slope = kThirdDerivative / kSecondDerivative * pair.score_bend *
                       std::sqrt(constants_.d2 * cell.largest_information);
  pair.curvature_slope = pair.score_bend;
  return pair;
}

ScoreChange ChangeBound::At(const Pose& map_T_base, const DisplacementOf& displacement_of) const {
  const double radius_m = loaded_.profile.stages.front().cells.cell_size_m;
  const PointCloud& scan = *loaded_.set.source;

  Sum score;
  Sum best;
  Sum hessian[3];  // by the number of angles among row and column
  double best_total = 0.0;
  double matched = 0.0;
  double perhaps_matched = 0.0;
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3d point_base = scan.Point(i);
    const Eigen::Vector3d point_map = map_T_base * point_base;
    const Displacement displacement = displacement_of(point_base, point_map);
    // Float32 also rounds the squared distance and the radius.
    const double band_m =
        displacement.common_m + displacement.random_m + 4.0 * kUnitRoundoff * radius_m;
    PointChange common;
    PointChange random;
    PointChange undecided;
    double best_decided = 0.0;
    bool found = false;
    bool perhaps_found = false;
    for (const Cell& cell : cells_) {
      const double here_m = (point_map - cell.index).norm();
      const double there_m = (point_map - cell.index_in_float32).norm();
      if (std::min(here_m, there_m) >= radius_m + band_m) continue;
      const Pair pair = Evaluate(cell, point_map);
      common.Add(pair, displacement.common_m);
      random.Add(pair, displacement.random_m);
      if (std::max(here_m, there_m) < radius_m - band_m) {
        found = true;
        best_decided = std::max(best_decided, pair.score);
        continue;
      }
      perhaps_found = true;
      undecided.score += pair.score;
      undecided.best = std::max(undecided.best, pair.score);
      undecided.hessian += pair.hessian;
      undecided.curvature += pair.curvature;
    }
    score.AddCommon(common.score + undecided.score);
    score.AddRandom(random.score);
    best.AddCommon(common.best + std::max(0.0, undecided.best - best_decided));
    best.AddRandom(random.best);
    const double range_m = point_base.norm();
    double lever = 1.0;
    for (int angles = 0; angles < 3; ++angles) {
      const double bend_m = angles == 2 ? range_m : 0.0;
      hessian[angles].AddCommon(lever * (common.hessian + undecided.hessian) +
                                bend_m * (common.curvature + undecided.curvature));
      hessian[angles].AddRandom(lever * random.hessian + bend_m * random.curvature);
      lever *= range_m;
    }
    best_total += best_decided;
    if (found) {
      matched += 1.0;
    } else if (perhaps_found) {
      perhaps_matched += 1.0;
    }
  }
  ScoreChange change;
  change.transform_probability = score.Bound() / static_cast<double>(scan.size());
  // The mean over the matched points: a sum that is off, divided by a count that may be off.
  const double mean = matched > 0.0 ? best_total / matched : 0.0;
  change.nearest_voxel_likelihood =
      (best.Bound() + mean * perhaps_matched) / std::max(1.0, matched);
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) {
      change.hessian(row, column) = hessian[(row >= 3) + (column >= 3)].Bound();
    }
  }
  return change;
}

}  // namespace voxloc::golden
