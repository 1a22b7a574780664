// SPDX-License-Identifier: Apache-2.0

#include "core/text/nearest_name.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"

namespace voxloc {

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
