// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_key.h"

#include <map>

#include "absl/strings/str_format.h"

namespace voxloc::server {

std::string LatticesText(absl::Span<const CellStatistics> statistics) {
  std::map<double, bool> lattices;  // by cell size: whether float sums are wanted
  for (const CellStatistics& s : statistics) lattices[s.cell_size_m] |= s.float_index;
  std::string text;
  for (const auto& [cell_size_m, float_sums] : lattices) {
    // 17 digits tell every double from its neighbours.
    absl::StrAppendFormat(&text, "%s%.17g%s", text.empty() ? "" : ",", cell_size_m,
                          float_sums ? "f" : "");
  }
  return text;
}

}  // namespace voxloc::server
