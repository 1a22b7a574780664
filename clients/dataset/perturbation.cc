// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/perturbation.h"

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/cloud/io/text_scan.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// The finishing step of the SplitMix64 generator: every input bit reaches every output bit.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Eigen::Vector3d WithSigns(const Eigen::Vector3d& magnitudes, uint64_t bits) {
  Eigen::Vector3d result = magnitudes;
  for (int i = 0; i < 3; ++i) {
    if ((bits >> i & 1) != 0) result[i] = -result[i];
  }
  return result;
}

// `what` has six numbers `names`.
absl::StatusOr<Eigen::Matrix<double, 6, 1>> ParseSix(absl::string_view text, absl::string_view what,
                                                     absl::string_view names) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ',');
  if (words.size() != 6) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " must be six numbers ", names,
                                                   " (got ", words.size(), ": ", Quoted(text),
                                                   ")"));
  }
  Eigen::Matrix<double, 6, 1> numbers;
  for (size_t i = 0; i < 6; ++i) {
    double& number = numbers[static_cast<Eigen::Index>(i)];
    if (!ParseDouble(absl::StripAsciiWhitespace(words[i]), number) || !std::isfinite(number)) {
      return absl::InvalidArgumentError(absl::StrCat("each number of the ", what,
                                                     " must be finite (got ", Quoted(words[i]),
                                                     " in ", Quoted(text), ")"));
    }
  }
  return numbers;
}

}  // namespace

absl::StatusOr<Perturbation> ParsePerturbation(absl::string_view text) {
  VOXLOC_ASSIGN_OR_RETURN(const auto numbers,
                          ParseSix(text, "perturbation", "DX,DY,DZ,DROLL,DPITCH,DYAW"));
  return Perturbation{numbers.head<3>(), numbers.tail<3>()};
}

absl::StatusOr<Matrix6> ParsePoseSigma(absl::string_view text) {
  VOXLOC_ASSIGN_OR_RETURN(auto sigma,
                          ParseSix(text, "standard deviation", "SX,SY,SZ,SROLL,SPITCH,SYAW"));
  if (!(sigma.minCoeff() > 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "each number of the standard deviation must be over 0 (got ", sigma.minCoeff(), ")"));
  }
  sigma.tail<3>() *= kRadiansPerDegree;
  return Matrix6(sigma.cwiseAbs2().asDiagonal());
}

Pose Perturb(const Pose& map_T_base, const Perturbation& perturbation, uint64_t seed,
             size_t scan_index) {
  const uint64_t bits = Mix(Mix(seed) ^ static_cast<uint64_t>(scan_index));
  const Eigen::Vector3d translation = WithSigns(perturbation.translation_m, bits);
  const Eigen::Vector3d angles =
      WithSigns(perturbation.rotation_rpy_deg, bits >> 3) * kRadiansPerDegree;
  const Eigen::Quaterniond rotation = RotationFromRosAngles(angles.x(), angles.y(), angles.z());
  return {map_T_base.translation + translation, (rotation * map_T_base.rotation).normalized()};
}

}  // namespace voxloc
