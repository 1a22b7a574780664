// SPDX-License-Identifier: Apache-2.0
//
// The ranges of numbers in requests, as the contract (proto/) and docs/errors.md state them, and
// the enums of the contract. Within the ranges everything that the server computes is finite.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_RANGE_H_
#define VOXLOC_SERVER_CONVERT_RANGE_H_

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

// Coordinates in any frame, to either side, and lengths.
inline constexpr double kMaxLengthM = 1e9;
// Angles that need not be reduced, to either side.
inline constexpr double kMaxAngleRad = 1e3;
// The velocity of each axis, to either side.
inline constexpr double kMaxLinearMps = 1e4;
inline constexpr double kMaxAngularRadps = 1e3;
// 31 years; in nanoseconds they are an int64.
inline constexpr double kMaxSeconds = 1e9;
// Seconds and metres that must be over 0: stamps have a resolution of a nanosecond.
inline constexpr double kMinLimit = 1e-9;
// The variances of a covariance: standard deviations from a nanometre to 1000 km.
inline constexpr double kMinVariance = 1e-18;
inline constexpr double kMaxVariance = 1e12;
// Probabilities and shares that must be neither 0 nor 1.
inline constexpr double kMinShare = 1e-6;
inline constexpr double kMinProbability = 1e-12;
inline constexpr double kMaxShare = 1.0 - kMinShare;
// Factors and temperatures.
inline constexpr double kMinFactor = 1e-6;
inline constexpr double kMaxFactor = 1e6;
// Thresholds of scores.
inline constexpr double kMaxScore = 1e9;

// The status of a check of the message in this field, of which it names a field.
[[nodiscard]] inline absl::Status PrefixField(absl::string_view field, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(field, ".", status.message()));
}

// InvalidArgument: the value is neither from `low` to `high` nor 0, which means `zero`, such as "no
// limit".
[[nodiscard]] inline absl::Status CheckRangeOrZero(absl::string_view field, double value,
                                                   double low, double high,
                                                   absl::string_view zero) {
  if (value == 0.0 || (value >= low && value <= high)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must be 0 (", zero, ") or from ", low,
                                                 " to ", high, " (got ", value, ")"));
}

// InvalidArgument: the text is too long.
[[nodiscard]] inline absl::Status CheckBytes(absl::string_view field, absl::string_view text,
                                             size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must have at most ", max_bytes, " bytes (got ", text.size(), ")"));
}

// A time of which 0 means that there is none.
[[nodiscard]] inline absl::Status CheckSeconds(absl::string_view field, double value) {
  if (value >= 0.0 && value <= kMaxSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must be 0 (none) or at most ",
                                                 kMaxSeconds, " s and over 0 (got ", value, ")"));
}

// An enum of the contract, whose values count from 1 and stand for those of `values`. 0 is not set,
// and leaves `value` as it is.
template <typename Value, size_t kCount>
[[nodiscard]] absl::Status EnumFromProto(absl::string_view field, int option,
                                         const Value (&values)[kCount], Value& value) {
  if (option < 0 || option > static_cast<int>(kCount)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be from 0 to ", kCount, " (got ", option, ")"));
  }
  if (option > 0) value = values[option - 1];
  return absl::OkStatus();
}
template <typename Proto, typename Value, size_t kCount>
[[nodiscard]] Proto EnumToProto(const Value (&values)[kCount], Value value) {
  const Value* const at = std::find(std::begin(values), std::end(values), value);
  return at == std::end(values) ? Proto() : static_cast<Proto>(1 + (at - std::begin(values)));
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_RANGE_H_
