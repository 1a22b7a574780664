// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/solution_separation.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6>;
using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;

// A direction has no part of another where the share is a rounding.
constexpr double kRounding = 1e-9;

Square Symmetric(const Square& matrix) { return 0.5 * (matrix + matrix.transpose()); }

// Whether all eigenvalues of a symmetric matrix are over this.
bool ExceedsEverywhere(const Square& matrix, double least) {
  return Eigen::LLT<Square>(matrix - least * Square::Identity(matrix.rows(), matrix.cols()))
             .info() == Eigen::Success;
}

// A function of a symmetric matrix, by its eigenvalues.
template <typename Function>
Square OfEigenvalues(const Square& matrix, const Function& function) {
  if (matrix.rows() == 0) return matrix;
  const Eigen::SelfAdjointEigenSolver<Square> eigen(Symmetric(matrix));
  const Column values = eigen.eigenvalues().unaryExpr(function);
  return eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
}

// The coordinates y of the observed directions in which the scan's information is the identity:
// x = from_white * y.
struct Whitening {
  Columns from_white;
  Rows to_white;
  Matrix6 unobserved = Matrix6::Zero();  // projects onto the other directions
};

Whitening WhitenObserved(const Matrix6& information, double unobserved_ratio) {
  const SymmetricEigen<6> eigen =
      DecomposeSymmetric(Matrix6(0.5 * (information + information.transpose())));
  const double least = std::max(0.0, unobserved_ratio * eigen.values.maxCoeff());
  Whitening whitening;
  whitening.from_white.resize(6, 0);
  whitening.to_white.resize(0, 6);
  for (int i = 0; i < 6; ++i) {
    const Vector6 direction = eigen.vectors.col(i);
    if (!(eigen.values[i] > least)) {
      whitening.unobserved += direction * direction.transpose();
      continue;
    }
    const double root = std::sqrt(eigen.values[i]);
    const Eigen::Index size = whitening.from_white.cols();
    whitening.from_white.conservativeResize(6, size + 1);
    whitening.to_white.conservativeResize(size + 1, 6);
    whitening.from_white.col(size) = direction / root;
    whitening.to_white.row(size) = direction.transpose() * root;
  }
  return whitening;
}

// I - share, the whitened information without a cluster: its inverse along the directions that
// remain observed, and the projection onto the other ones.
struct RemainingInformation {
  Square inverse;
  Square unobserved;
};

RemainingInformation RemoveShare(const Square& share, double min_remaining) {
  const Eigen::Index size = share.rows();
  const Square rest = Square::Identity(size, size) - share;
  if (ExceedsEverywhere(rest, min_remaining)) {
    return {Eigen::LLT<Square>(rest).solve(Square::Identity(size, size)), Square::Zero(size, size)};
  }
  return {
      OfEigenvalues(rest, [&](double value) { return value > min_remaining ? 1.0 / value : 0.0; }),
      OfEigenvalues(rest, [&](double value) { return value > min_remaining ? 0.0 : 1.0; })};
}

// A solution in whitened coordinates.
struct WhiteSolution {
  Column step;
  Square covariance;
  Square unobserved;  // projects onto what this solution does not observe
};

AxisSolution AlongAxis(const WhiteSolution& solution, const Whitening& whitening,
                       const std::optional<PosePrior>& prior, const Eigen::Vector3d& axis) {
  Vector6 direction = Vector6::Zero();
  direction.head<3>() = axis;
  const Column white = whitening.from_white.transpose() * direction;
  AxisSolution along;
  along.step_m = white.dot(solution.step);
  double variance = white.dot(solution.covariance * white);
  Vector6 unobserved_part = whitening.unobserved * direction;
  unobserved_part += whitening.to_white.transpose() * (solution.unobserved * white);
  along.observed = unobserved_part.norm() <= kRounding;
  if (!along.observed && prior.has_value()) {
    // The part of the prior that the points do not determine.
    along.step_m += unobserved_part.dot(prior->offset);
    variance += unobserved_part.dot(prior->covariance * unobserved_part);
  } else if (!along.observed) {
    variance += std::numeric_limits<double>::infinity();
  }
  along.sigma_m = std::sqrt(std::max(0.0, variance));
  return along;
}

}  // namespace

Separations SeparateSolutions(absl::Span<const ScoreTerms> clusters, const Matrix6& scan_covariance,
                              const std::optional<PosePrior>& prior, const Axes& axes,
                              const SeparationOptions& options) {
  Matrix6 information = Matrix6::Zero();
  Vector6 gradient = Vector6::Zero();
  for (const ScoreTerms& cluster : clusters) {
    information += cluster.information;
    gradient += cluster.gradient;
  }
  const Whitening whitening = WhitenObserved(information, options.unobserved_ratio);
  const Eigen::Index size = whitening.from_white.cols();
  const Square root =
      OfEigenvalues(whitening.to_white * scan_covariance * whitening.to_white.transpose(),
                    [](double value) { return std::sqrt(std::max(0.0, value)); });

  // Of each cluster: its share of the information, and the covariance of its gradient. A cluster
  // whose curvature is negative along a direction has no negative noise for that.
  const Square even = options.even_noise_share / static_cast<double>(clusters.size()) *
                      Square::Identity(size, size);
  std::vector<Square> shares;
  std::vector<Square> noises;
  Square noise = Square::Zero(size, size);
  for (const ScoreTerms& cluster : clusters) {
    shares.push_back(
        Symmetric(whitening.from_white.transpose() * cluster.information * whitening.from_white));
    const Square& share = shares.back();
    const Square positive =
        ExceedsEverywhere(share, -kRounding)
            ? share
            : OfEigenvalues(share, [](double value) { return std::max(0.0, value); });
    noises.emplace_back(root * ((1.0 - options.even_noise_share) * positive + even) * root);
    noise += noises.back();
  }

  Separations separations;
  const WhiteSolution all = {whitening.from_white.transpose() * gradient, noise,
                             Square::Zero(size, size)};
  for (int i = 0; i < 3; ++i) {
    separations.all[static_cast<size_t>(i)] = AlongAxis(all, whitening, prior, axes.col(i));
  }
  for (size_t k = 0; k < clusters.size(); ++k) {
    const RemainingInformation rest = RemoveShare(shares[k], options.min_remaining);
    const Square rest_noise = noise - noises[k];
    WhiteSolution solution;
    solution.step =
        rest.inverse * (whitening.from_white.transpose() * (gradient - clusters[k].gradient));
    solution.covariance = rest.inverse * rest_noise * rest.inverse;
    solution.unobserved = rest.unobserved;
    // The separation is (inverse - 1) times the noise of the others, less the cluster's own.
    const Square gain = rest.inverse - Square::Identity(size, size);
    const Square spread = gain * rest_noise * gain + noises[k];
    std::array<AxisSolution, 3>& by_axis = separations.without.emplace_back();
    for (int i = 0; i < 3; ++i) {
      AxisSolution& along = by_axis[static_cast<size_t>(i)];
      along = AlongAxis(solution, whitening, prior, axes.col(i));
      if (!along.observed) continue;
      const Column white = whitening.from_white.topRows<3>().transpose() * axes.col(i);
      along.separation_m = along.step_m - separations.all[static_cast<size_t>(i)].step_m;
      along.separation_sigma_m =
          options.tail_factor * std::sqrt(std::max(0.0, white.dot(spread * white)));
    }
    separations.steps_without.emplace_back(whitening.from_white * solution.step);
    separations.covariances_without.emplace_back(whitening.from_white * solution.covariance *
                                                 whitening.from_white.transpose());
  }
  return separations;
}

}  // namespace voxloc
