// SPDX-License-Identifier: Apache-2.0
//
// Ranges of numbers, and the message about a number outside its range: "X must be Z (got Y)".
// Infinity and NaN are outside every range. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_TEXT_NUMBER_RANGE_H_
#define VOXLOC_CORE_TEXT_NUMBER_RANGE_H_

#include <initializer_list>
#include <limits>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Read as the message reads: AtLeast(0).Below(1), Over(0), FromTo(1, 10).Unit(" m").
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool with_low = false;  // whether the range includes its end
  bool with_high = false;
  bool or_zero = false;
  absl::string_view unit;  // follows the range in the message

  [[nodiscard]] constexpr NumberRange AtMost(double value) const {
    NumberRange range = *this;
    range.high = value;
    range.with_high = true;
    return range;
  }
  [[nodiscard]] constexpr NumberRange Below(double value) const {
    NumberRange range = *this;
    range.high = value;
    return range;
  }
  [[nodiscard]] constexpr NumberRange OrZero() const {
    NumberRange range = *this;
    range.or_zero = true;
    return range;
  }
  [[nodiscard]] constexpr NumberRange Unit(absl::string_view text) const {
    NumberRange range = *this;
    range.unit = text;
    return range;
  }
};

constexpr NumberRange Finite() { return {}; }
constexpr NumberRange Over(double low) {
  NumberRange range;
  range.low = low;
  return range;
}
constexpr NumberRange AtLeast(double low) {
  NumberRange range = Over(low);
  range.with_low = true;
  return range;
}
constexpr NumberRange FromTo(double low, double high) { return AtLeast(low).AtMost(high); }

struct CheckedNumber {
  template <typename Number>
  CheckedNumber(absl::string_view number_name, Number number, const NumberRange& allowed)
      : name(number_name),
        value(static_cast<double>(number)),
        is_whole(std::is_integral_v<Number>),
        range(allowed) {}

  absl::string_view name;
  double value;
  bool is_whole;  // of an integer type: printed without an exponent
  NumberRange range;
};

// InvalidArgument names the first number that is outside its range.
[[nodiscard]] absl::Status CheckRanges(std::initializer_list<CheckedNumber> numbers);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_NUMBER_RANGE_H_
