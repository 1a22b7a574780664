// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/ascii_points.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/text_scan.h"

namespace voxloc {
namespace {

constexpr size_t kIntensity = 3;
constexpr size_t kNotWanted = 4;

// Which of x, y, z, intensity the word of a line is.
size_t RoleOf(size_t word_index, const AsciiLayout& layout) {
  if (word_index == layout.x) return 0;
  if (word_index == layout.y) return 1;
  if (word_index == layout.z) return 2;
  return word_index == layout.intensity ? kIntensity : kNotWanted;
}

}  // namespace

bool NextFilledLine(LineScanner& lines, absl::string_view& line) {
  while (lines.Next(line)) {
    if (!absl::StripAsciiWhitespace(line).empty()) return true;
  }
  return false;
}

absl::StatusOr<PointCloud> ParseAsciiPoints(LineScanner& lines, size_t remaining_bytes,
                                            size_t count, const AsciiLayout& layout,
                                            absl::string_view name) {
  // A line takes a digit and a separator for each word; the last may lack its end.
  const size_t least_line_bytes = 2 * layout.words_per_line;
  if (count > (remaining_bytes + 1) / least_line_bytes) {
    return Malformed(name, "the header promises ", count, " points of ", layout.words_per_line,
                     " values, at least ", least_line_bytes, " bytes each, but only ",
                     remaining_bytes, " bytes follow it");
  }
  CloudBuilder builder(count, layout.intensity.has_value());
  std::array<double, 4> values{};
  absl::string_view line;
  for (size_t i = 0; i < count; ++i) {
    if (!NextFilledLine(lines, line)) {
      return Malformed(name, "the data ends after ", i, " of the ", count,
                       " points that the header promises");
    }
    absl::string_view rest = line;
    for (size_t word_index = 0; word_index < layout.words_per_line; ++word_index) {
      const absl::string_view word = TakeWord(rest);
      if (word.empty()) {
        return MalformedLine(name, lines.line_number(), "has ", word_index,
                             " values, the header promises ", layout.words_per_line);
      }
      const size_t role = RoleOf(word_index, layout);
      if (role != kNotWanted && !ParseDouble(word, values[role])) {
        return MalformedLine(name, lines.line_number(), Quoted(word), " is not a number");
      }
    }
    if (!TakeWord(rest).empty()) {
      return MalformedLine(name, lines.line_number(), "has more than the ", layout.words_per_line,
                           " values that the header promises");
    }
    builder.Add({values[0], values[1], values[2]});
    if (layout.intensity.has_value()) builder.AddIntensity(values[kIntensity]);
  }
  return std::move(builder).Take();
}

}  // namespace voxloc
