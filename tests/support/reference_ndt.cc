// SPDX-License-Identifier: Apache-2.0

#include "tests/support/reference_ndt.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace voxloc::reference {
namespace {

// Float32 distances are this far off, as a share of the squared radius.
constexpr double kUndecided = 4e-6;
constexpr double kShortcutAngle = 1e-4;

Eigen::Matrix3d Skew(const Eigen::Vector3d& v) {
  Eigen::Matrix3d skew;
  skew << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return skew;
}

// The rotation about one axis, differentiated `order` times.
Eigen::Matrix3d AxisRotation(int axis, double angle, int order) {
  const Eigen::Vector3d unit = Eigen::Vector3d::Unit(axis);
  Eigen::Matrix3d result = Eigen::AngleAxisd(angle, unit).toRotationMatrix();
  for (int i = 0; i < order; ++i) result = result * Skew(unit);
  return result;
}

Eigen::Matrix3d RotationProduct(const Eigen::Vector3d& angles, const std::array<int, 3>& order) {
  return AxisRotation(0, angles[0], order[0]) * AxisRotation(1, angles[1], order[1]) *
         AxisRotation(2, angles[2], order[2]);
}

Eigen::Vector3d TransformedPoint(const Eigen::Vector3d& point, const ChartVector& chart,
                                 const Eigen::Matrix3d& rotation, bool in_float) {
  if (!in_float) return rotation * point + chart.head<3>();
  const Eigen::Vector3f sum =
      rotation.cast<float>() * point.cast<float>() + chart.head<3>().cast<float>();
  return sum.cast<double>();
}

enum class Match { kNo, kYes, kUndecidedNo, kUndecidedYes };

Match Matches(const Eigen::Vector3d& point, const MapCell& cell, const Stage& stage) {
  const double size = stage.cells.cell_size_m;
  if (stage.search == NeighborSearch::kRadius) {
    const double share = (point - cell.index).squaredNorm() / (size * size);
    if (std::abs(share - 1.0) < kUndecided) {
      return share < 1.0 ? Match::kUndecidedYes : Match::kUndecidedNo;
    }
    return share < 1.0 ? Match::kYes : Match::kNo;
  }
  const Eigen::Array3d of_point = (point.array() / size).floor();
  const Eigen::Array3d of_cell = (cell.index.array() / size).floor();
  const double apart = (of_point - of_cell).abs().sum();
  const double allowed = stage.search == NeighborSearch::kDirect7 ? 1.0 : 0.0;
  return apart <= allowed ? Match::kYes : Match::kNo;
}

}  // namespace

RotationDerivatives DifferentiateRotation(const Eigen::Vector3d& angles) {
  RotationDerivatives result;
  result.rotation = RotationProduct(angles, {0, 0, 0});
  for (size_t i = 0; i < 3; ++i) {
    std::array<int, 3> order = {0, 0, 0};
    ++order[i];
    result.first[i] = RotationProduct(angles, order);
    for (size_t j = 0; j < 3; ++j) {
      std::array<int, 3> second_order = order;
      ++second_order[j];
      result.second[i][j] = RotationProduct(angles, second_order);
    }
  }
  return result;
}

Constants ScoreConstants(double outlier_ratio, double cell_size_m) {
  // The mixture's two weights as one quotient: 10 (1 - o) over o / size^3.
  const double quotient = 10.0 * (1.0 - outlier_ratio) * std::pow(cell_size_m, 3) / outlier_ratio;
  const double peak = std::log1p(quotient);
  const double at_one_sigma = std::log1p(quotient * std::exp(-0.5));
  return {-peak, 2.0 * std::log(peak / at_one_sigma)};
}

double Evaluation::NearestVoxelLikelihood() const {
  double sum = 0.0;
  for (const double value : best) sum += value;
  return matched_points == 0 ? 0.0 : sum / static_cast<double>(matched_points);
}

Eigen::Matrix3d ToEigen(const ndt::Symmetric3<double>& m) {
  Eigen::Matrix3d matrix;
  matrix << m.xx, m.xy, m.xz, m.xy, m.yy, m.yz, m.xz, m.yz, m.zz;
  return matrix;
}

Evaluation Evaluate(const std::vector<MapCell>& cells, const PointCloud& scan,
                    const ChartVector& chart, const Stage& stage, double shell_share) {
  const Constants constants = ScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
  const Eigen::Vector3d angles = chart.tail<3>();
  const Eigen::Matrix3d rotation = RotationProduct(angles, {0, 0, 0});
  Eigen::Vector3d derivative_angles = angles;
  if (stage.small_angle_shortcut) {
    for (double& angle : derivative_angles) angle = std::abs(angle) < kShortcutAngle ? 0.0 : angle;
  }
  const RotationDerivatives turning = DifferentiateRotation(derivative_angles);

  Evaluation sums;
  sums.best.assign(scan.size(), 0.0);
  for (size_t i = 0; i < scan.size(); ++i) {
    if (!scan.IsFinite(i)) continue;
    ++sums.points;
    const Eigen::Vector3d x = scan.Point(i);
    const Eigen::Vector3d moved = TransformedPoint(x, chart, rotation, stage.float_transform);
    Eigen::Matrix<double, 3, 6> jacobian;
    jacobian.leftCols<3>().setIdentity();
    for (int a = 0; a < 3; ++a) jacobian.col(3 + a) = turning.first[static_cast<size_t>(a)] * x;

    size_t pairs = 0;
    for (const MapCell& cell : cells) {
      const Match match = Matches(moved, cell, stage);
      if (match == Match::kUndecidedYes || match == Match::kUndecidedNo) ++sums.undecided_pairs;
      if (match == Match::kNo || match == Match::kUndecidedNo) continue;
      ++pairs;
      const Eigen::Matrix3d information = ToEigen(cell.information);
      const Eigen::Vector3d q = moved - cell.mean;
      const double e = std::exp(-0.5 * constants.d2 * q.dot(information * q));
      const double w = constants.d1 * constants.d2 * e;
      sums.score += -constants.d1 * e;
      sums.best[i] = std::max(sums.best[i], -constants.d1 * e);

      const Eigen::Matrix<double, 6, 1> slope = jacobian.transpose() * (information * q);
      Matrix6 hessian = jacobian.transpose() * information * jacobian;
      if (stage.curvature == Curvature::kExact) {
        hessian -= constants.d2 * slope * slope.transpose();
        for (size_t a = 0; a < 3; ++a) {
          for (size_t b = 0; b < 3; ++b) {
            Eigen::Vector3d curved = turning.second[a][b] * x;
            if (a == 1 && b == 1 && !stage.exact_pitch_curvature) {
              curved.x() += 2.0 * std::sin(derivative_angles[1]) * x.z();
            }
            hessian(static_cast<int>(3 + a), static_cast<int>(3 + b)) +=
                q.dot(information * curved);
          }
        }
      }
      if (shell_share > 0.0 && stage.search == NeighborSearch::kRadius) {
        const double radius = stage.cells.cell_size_m;
        const Eigen::Vector3d distance = moved - cell.index;
        if (distance.norm() >= (1.0 - shell_share) * radius) {
          const Eigen::Vector3d outward = distance / ((1.0 - 0.5 * shell_share) * radius);
          const Eigen::Matrix3d lost = information * q * outward.transpose();
          const Matrix6 boundary = 0.5 / (shell_share * radius) * jacobian.transpose() *
                                   (lost + lost.transpose()) * jacobian;
          sums.hessian -= w * boundary;
          sums.hessian_magnitude += (w * boundary).cwiseAbs();
        }
      }
      sums.gradient += w * slope;
      sums.gradient_magnitude += (w * slope).cwiseAbs();
      sums.gradient_terms +=
          std::abs(w) * jacobian.cwiseAbs().transpose() * (information.cwiseAbs() * q.cwiseAbs());
      sums.hessian += w * hessian;
      sums.hessian_magnitude += (w * hessian).cwiseAbs();
    }
    sums.pairs += pairs;
    sums.matched_points += pairs > 0 ? 1 : 0;
  }
  return sums;
}

}  // namespace voxloc::reference
