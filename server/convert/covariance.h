// SPDX-License-Identifier: Apache-2.0
//
// Matrices on the wire: their numbers, row by row. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_COVARIANCE_H_
#define VOXLOC_SERVER_CONVERT_COVARIANCE_H_

#include <google/protobuf/repeated_field.h>

#include <Eigen/Core>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/geometry/covariance.h"

namespace voxloc::server {

template <typename Matrix>
void AppendRowMajor(const Matrix& matrix, google::protobuf::RepeatedField<double>& field) {
  field.Reserve(field.size() + static_cast<int>(matrix.size()));
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      field.Add(matrix(row, column));
    }
  }
}

// nullopt: empty, that is, unknown. InvalidArgument: another number of values than 36, one that is
// not finite, not symmetric, not positive definite. `name` is the field's, for messages.
[[nodiscard]] absl::StatusOr<std::optional<Matrix6>> CovarianceFromProto(
    const google::protobuf::RepeatedField<double>& field, absl::string_view name);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_COVARIANCE_H_
