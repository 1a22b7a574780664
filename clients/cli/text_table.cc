// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/text_table.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace voxloc::cli {
namespace {

std::string Line(const std::vector<TextTable::Column>& columns, const std::vector<size_t>& widths,
                 const std::vector<std::string>& cells) {
  std::string line;
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::string cell = c < cells.size() ? cells[c] : "";
    const std::string blanks(widths[c] - cell.size(), ' ');
    if (c > 0) line += "  ";
    const bool right = columns[c].align == TextTable::Align::kRight;
    line += right ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string TextTable::Text() const {
  std::vector<size_t> widths;
  std::vector<std::string> titles;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = columns_[c].title.size();
    for (const std::vector<std::string>& row : rows_) {
      if (c < row.size()) width = std::max(width, row[c].size());
    }
    widths.push_back(width);
    titles.push_back(columns_[c].title);
  }
  std::string text = Line(columns_, widths, titles);
  for (const std::vector<std::string>& row : rows_) text += Line(columns_, widths, row);
  return text;
}

std::string Grouped(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string TimeText(int64_t unix_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixNanos(unix_ns),
                          absl::UTCTimeZone());
}

std::string ByteText(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

}  // namespace voxloc::cli
