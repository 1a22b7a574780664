// SPDX-License-Identifier: Apache-2.0

#include "server/convert/covariance.h"

#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/covariance_options.h"
#include "server/convert/range.h"

namespace voxloc::server {

absl::StatusOr<std::optional<Matrix6>> CovarianceFromProto(
    const google::protobuf::RepeatedField<double>& field, absl::string_view name) {
  if (field.empty()) return std::optional<Matrix6>();
  if (field.size() != 36) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must have 0 or 36 values (got ", field.size(), ")"));
  }
  using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
  const Matrix6 covariance = Eigen::Map<const RowMajor6>(field.data());
  for (int i = 0; i < 6; ++i) {
    absl::Status status = CheckRange(absl::StrCat(name, " (", i, ", ", i, ")"), covariance(i, i),
                                     kMinVariance, kMaxVariance);
    if (!status.ok()) return status;
  }
  if (absl::Status status = CheckPositiveDefinite(covariance, name); !status.ok()) return status;
  // Removes the asymmetry that rounding left.
  return std::optional<Matrix6>(0.5 * (covariance + covariance.transpose()));
}

}  // namespace voxloc::server
