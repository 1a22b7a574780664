// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/sandwich.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// A cluster that holds nearly all information about a direction leaves this share of it.
constexpr double kLeastRest = 0.1;
// Least standard deviation, of a scan without noise in a map without.
constexpr double kLeastSigmaM = 1e-6;

using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;
using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;

// (I - leverage)^-1 g.
Column WithoutCluster(const Square& leverage, const Column& gradient) {
  const Square rest = Square::Identity(leverage.rows(), leverage.cols()) - leverage;
  const Eigen::LLT<Square> factor(rest);
  if (factor.info() == Eigen::Success && factor.rcond() > kLeastRest) {
    return factor.solve(gradient);
  }
  const Eigen::SelfAdjointEigenSolver<Square> eigen(rest);
  const Column inverse = eigen.eigenvalues().cwiseMax(kLeastRest).cwiseInverse();
  return eigen.eigenvectors() * inverse.cwiseProduct(eigen.eigenvectors().transpose() * gradient);
}

// Of the deviations that leaving out each cluster causes, in coordinates in which the information
// is the identity.
Square JackknifeCovariance(absl::Span<const ScoreTerms> clusters, const Columns& whitening) {
  const Eigen::Index size = whitening.cols();
  Square squares = Square::Zero(size, size);
  Column sum = Column::Zero(size);
  for (const ScoreTerms& cluster : clusters) {
    const Square leverage = whitening.transpose() * cluster.information * whitening;
    const Column deviation = WithoutCluster(leverage, whitening.transpose() * cluster.gradient);
    squares += deviation * deviation.transpose();
    sum += deviation;
  }
  return squares - sum * sum.transpose() / static_cast<double>(clusters.size());
}

}  // namespace

Matrix6 Spectrum::InformationMatrix() const {
  return directions * information.asDiagonal() * directions.transpose();
}

bool Spectrum::Observes(int i, double least_ratio) const {
  return information[i] > std::max(0.0, least_ratio * information.maxCoeff());
}

Spectrum DecomposeInformation(absl::Span<const ScoreTerms> clusters) {
  Matrix6 total = Matrix6::Zero();
  for (const ScoreTerms& cluster : clusters) total += cluster.information;
  Spectrum spectrum;
  if (!total.allFinite()) return spectrum;
  const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(0.5 * (total + total.transpose()));
  spectrum.information = eigen.eigenvalues();
  spectrum.directions = eigen.eigenvectors();
  return spectrum;
}

Matrix6 SandwichCovariance(absl::Span<const ScoreTerms> clusters, const Spectrum& spectrum,
                           const Slides& slides, const Matrix6& looseness,
                           const SandwichOptions& options) {
  Columns whitening(6, 0);
  Vector6 step = Vector6::Zero();  // what is left to the optimum
  for (int i = 0; i < 6; ++i) {
    if (!spectrum.Observes(i, options.unobserved_ratio)) continue;
    const Vector6 direction = spectrum.directions.col(i);
    whitening.conservativeResize(6, whitening.cols() + 1);
    whitening.rightCols<1>() = direction / std::sqrt(spectrum.information[i]);
    for (const ScoreTerms& cluster : clusters) {
      step += direction * (direction.dot(cluster.gradient) / spectrum.information[i]);
    }
  }
  Matrix6 covariance = slides * slides.transpose() + looseness;
  const Eigen::Index observed = whitening.cols();
  if (observed > 0) {
    const Square noise = JackknifeCovariance(clusters, whitening);
    const double mean = noise.trace() / static_cast<double>(observed);
    // Few clusters leave directions unmeasured: fewer than directions always do.
    const auto count = static_cast<double>(clusters.size());
    const double share = std::min(1.0, static_cast<double>(observed) / (count * count));
    const Square shared =
        (1.0 - share) * noise + share * mean * Square::Identity(observed, observed);
    // Where each slide leads was measured among other cells, with their noise.
    const double slide_noise = 1.0 + static_cast<double>(slides.cols());
    covariance +=
        slide_noise * whitening * shared * whitening.transpose() + step * step.transpose();
  }
  covariance.diagonal().head<3>().array() += options.surface_offset_m * options.surface_offset_m;
  const double most = options.largest_sigma_m * options.largest_sigma_m;
  if (!covariance.allFinite()) return most * Matrix6::Identity();

  const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(covariance);
  const Vector6 variances =
      eigen.eigenvalues().cwiseMax(kLeastSigmaM * kLeastSigmaM).cwiseMin(most);
  covariance = eigen.eigenvectors() * variances.asDiagonal() * eigen.eigenvectors().transpose();
  return 0.5 * (covariance + covariance.transpose());
}

}  // namespace voxloc
