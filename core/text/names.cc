// SPDX-License-Identifier: Apache-2.0

#include "core/text/names.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

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

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Three rows of the table: of the prefixes of `a` with i - 2, i - 1 and i characters.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string NearestName(absl::string_view typed, const std::vector<std::string>& names) {
  std::string nearest;
  size_t smallest = std::numeric_limits<size_t>::max();
  for (const std::string& name : names) {
    const size_t distance = EditDistance(typed, name);
    if (distance < smallest) {
      smallest = distance;
      nearest = name;
    }
  }
  if (smallest <= std::max<size_t>(2, typed.size() / 3)) return nearest;
  if (typed.size() > 2) {
    for (const std::string& name : names) {
      if (absl::StartsWith(name, typed)) return name;
    }
  }
  return "";
}

}  // namespace voxloc
