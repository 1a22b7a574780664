// SPDX-License-Identifier: Apache-2.0

#include "core/text/natural_order.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace voxloc {
namespace {

// Takes the digits that `rest` begins with, without leading zeros.
absl::string_view ConsumeNumber(absl::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && absl::ascii_isdigit(static_cast<unsigned char>(rest[end]))) ++end;
  absl::string_view number = rest.substr(0, end);
  rest.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

bool BeginsWithDigit(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()));
}

}  // namespace

int CompareNatural(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (BeginsWithDigit(a) && BeginsWithDigit(b)) {
      const absl::string_view number_a = ConsumeNumber(a);
      const absl::string_view number_b = ConsumeNumber(b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size() ? -1 : 1;
      if (const int order = number_a.compare(number_b); order != 0) return order;
      continue;
    }
    if (const int order = a.substr(0, 1).compare(b.substr(0, 1)); order != 0) return order;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

bool NaturalLess(absl::string_view a, absl::string_view b) {
  const int order = CompareNatural(a, b);
  return order != 0 ? order < 0 : a < b;
}

}  // namespace voxloc
