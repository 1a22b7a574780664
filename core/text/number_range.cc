// SPDX-License-Identifier: Apache-2.0

#include "core/text/number_range.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

bool IsIn(const NumberRange& range, double value) {
  if (range.or_zero && value == 0.0) return true;
  return std::isfinite(value) && (range.with_low ? value >= range.low : value > range.low) &&
         (range.with_high ? value <= range.high : value < range.high);
}

std::string MessageOf(const CheckedNumber& number) {
  const auto text = [&number](double value) {
    const bool is_whole = number.is_whole && std::abs(value) < 0x1p63;
    return is_whole ? absl::StrCat(static_cast<int64_t>(value)) : absl::StrCat(value);
  };
  const NumberRange& range = number.range;
  std::string message = absl::StrCat(number.name, " must be ", range.or_zero ? "0 or " : "");
  if (range.with_low && range.with_high) {
    absl::StrAppend(&message, "from ", text(range.low), " to ", text(range.high));
  } else {
    const bool has_low = std::isfinite(range.low);
    const bool has_high = std::isfinite(range.high);
    if (!has_high && !number.is_whole) absl::StrAppend(&message, "finite", has_low ? " and " : "");
    if (has_low) absl::StrAppend(&message, range.with_low ? "at least " : "over ", text(range.low));
    if (has_high) {
      absl::StrAppend(&message, has_low ? " and " : "", range.with_high ? "at most " : "below ",
                      text(range.high));
    }
  }
  absl::StrAppend(&message, range.unit, " (got ", text(number.value), ")");
  return message;
}

}  // namespace

absl::Status CheckRanges(std::initializer_list<CheckedNumber> numbers) {
  for (const CheckedNumber& number : numbers) {
    if (IsIn(number.range, number.value)) continue;
    return absl::InvalidArgumentError(MessageOf(number));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
