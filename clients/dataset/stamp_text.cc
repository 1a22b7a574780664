// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/stamp_text.h"

#include <charconv>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace voxloc {
namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int kMaxExponent = 1000;

struct Decimal {
  std::string digits;  // of the number without point and leading zeros
  int point = 0;       // how many of the digits stand before the point; may lie outside of them
};

std::optional<Decimal> ParseDecimal(absl::string_view text) {
  Decimal decimal;
  size_t i = 0;
  bool any_digit = false;
  bool after_point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) break;
    any_digit = true;
    const bool leading_zero = decimal.digits.empty() && text[i] == '0';
    if (!leading_zero) decimal.digits += text[i];
    if (after_point && leading_zero) --decimal.point;
    if (!after_point && !leading_zero) ++decimal.point;
  }
  if (!any_digit) return std::nullopt;
  if (i == text.size()) return decimal;
  int exponent = 0;
  if (absl::ascii_tolower(static_cast<unsigned char>(text[i])) != 'e' ||
      !absl::SimpleAtoi(text.substr(i + 1), &exponent) || exponent > kMaxExponent ||
      exponent < -kMaxExponent) {
    return std::nullopt;
  }
  decimal.point += exponent;
  return decimal;
}

}  // namespace

std::optional<int64_t> NanosecondsFromSeconds(absl::string_view seconds) {
  const bool negative = !seconds.empty() && seconds.front() == '-';
  if (!seconds.empty() && (seconds.front() == '-' || seconds.front() == '+')) {
    seconds.remove_prefix(1);
  }
  const std::optional<Decimal> decimal = ParseDecimal(seconds);
  if (!decimal.has_value()) return std::nullopt;
  if (decimal->digits.empty()) return 0;

  // The nanoseconds are the digits up to nine places after the point.
  uint64_t nanoseconds = 0;
  for (int place = 0; place < decimal->point + 9; ++place) {
    const size_t index = static_cast<size_t>(place);
    const uint64_t digit =
        index < decimal->digits.size() ? static_cast<uint64_t>(decimal->digits[index] - '0') : 0;
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    if (nanoseconds > (kMax - digit) / 10) return std::nullopt;
    nanoseconds = nanoseconds * 10 + digit;
  }
  const int64_t magnitude = static_cast<int64_t>(nanoseconds);
  return negative ? -magnitude : magnitude;
}

std::string NumberText(double value) {
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string SecondsFromNanoseconds(int64_t stamp_ns) {
  const uint64_t magnitude =
      stamp_ns < 0 ? ~static_cast<uint64_t>(stamp_ns) + 1 : static_cast<uint64_t>(stamp_ns);
  return absl::StrFormat("%s%d.%09d", stamp_ns < 0 ? "-" : "", magnitude / kNanosecondsPerSecond,
                         magnitude % kNanosecondsPerSecond);
}

}  // namespace voxloc
