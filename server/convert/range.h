// SPDX-License-Identifier: Apache-2.0
//
// The ranges of numbers in requests, as the contract (proto/) and docs/errors.md state them. Within
// them everything that the server computes is finite. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_RANGE_H_
#define VOXLOC_SERVER_CONVERT_RANGE_H_

#include <google/protobuf/wrappers.pb.h>

#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

// Coordinates in any frame, to either side, and lengths.
inline constexpr double kMaxLengthM = 1e9;
// Angles that need not be reduced, to either side.
inline constexpr double kMaxAngleRad = 1e3;
// Of each axis, to either side.
inline constexpr double kMaxLinearMps = 1e4;
inline constexpr double kMaxAngularRadps = 1e3;
// 31 years; in nanoseconds they are an int64.
inline constexpr double kMaxSeconds = 1e9;
// Of a covariance: standard deviations from a nanometre to 1000 km.
inline constexpr double kMinVariance = 1e-18;
inline constexpr double kMaxVariance = 1e12;
// Of a quaternion.
inline constexpr double kMinQuaternionLength = 1e-6;
inline constexpr double kMaxQuaternionLength = 1e6;
// Probabilities and shares that must be neither 0 nor 1.
inline constexpr double kMinShare = 1e-6;
inline constexpr double kMinProbability = 1e-12;
inline constexpr double kMaxShare = 1.0 - kMinShare;
// Factors and temperatures.
inline constexpr double kMinFactor = 1e-6;
inline constexpr double kMaxFactor = 1e6;
// Of scores.
inline constexpr double kMaxScore = 1e9;

// InvalidArgument: the value is not from `low` to `high`, or is NaN.
[[nodiscard]] absl::Status CheckRange(absl::string_view field, double value, double low,
                                      double high);
// The same where 0 is allowed too and means `zero`, such as "no limit".
[[nodiscard]] absl::Status CheckRangeOrZero(absl::string_view field, double value, double low,
                                            double high, absl::string_view zero);
// A time of which 0 means that there is none.
[[nodiscard]] absl::Status CheckSeconds(absl::string_view field, double value);

// If the option is set, checks it as CheckRange does and assigns it to `value`.
[[nodiscard]] absl::Status AssignIfSet(absl::string_view field, bool is_set,
                                       const google::protobuf::DoubleValue& option, double low,
                                       double high, double& value);

// The same of an enum of the contract: its values, which count from 1, stand for `values`. 0 is one
// that is not set.
template <typename Value>
[[nodiscard]] absl::Status AssignIfSet(absl::string_view field, int option,
                                       std::initializer_list<Value> values, Value& value) {
  if (option < 0 || option > static_cast<int>(values.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be from 0 to ", values.size(), " (got ", option, ")"));
  }
  if (option > 0) value = values.begin()[option - 1];
  return absl::OkStatus();
}

[[nodiscard]] absl::Status FirstError(std::initializer_list<absl::Status> statuses);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_RANGE_H_
