// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/packing.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace voxloc::cli {
namespace {

constexpr double kPlaceStep_m = 0.005;
constexpr double kRootStep_m = 0.001;
constexpr double kMaxOffset_m = 163.0;

void AppendInt16(double value, std::string* bytes) {
  const auto rounded = static_cast<int16_t>(std::clamp(std::lround(value), -32767L, 32767L));
  AppendUint16(static_cast<uint16_t>(rounded), bytes);
}

}  // namespace

void AppendUint16(uint32_t value, std::string* bytes) {
  bytes->push_back(static_cast<char>(value & 0xff));
  bytes->push_back(static_cast<char>((value >> 8) & 0xff));
}

void AppendPlace(const Eigen::Vector3d& place, std::string* bytes) {
  for (int axis = 0; axis < 3; ++axis) AppendInt16(place[axis] / kPlaceStep_m, bytes);
}

bool IsNear(const Eigen::Vector3d& place) { return place.cwiseAbs().maxCoeff() < kMaxOffset_m; }

void AppendCell(const Eigen::Vector3d& place, const Eigen::Matrix3d& covariance,
                std::string* bytes) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(covariance);
  const Eigen::Matrix3d root = eigen.eigenvectors() *
                               eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
                               eigen.eigenvectors().transpose();
  AppendPlace(place, bytes);
  for (int row = 0; row < 3; ++row) {
    for (int column = row; column < 3; ++column)
      AppendInt16(root(row, column) / kRootStep_m, bytes);
  }
}

}  // namespace voxloc::cli
