// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/ascii_points.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/malformed.h"

namespace voxloc {
namespace {

constexpr size_t kIntensity = 3;
constexpr size_t kNotWanted = 4;

// For each word of a line, which of x, y, z, intensity it is; words after the last wanted one are
// only counted.
std::vector<size_t> RolesOf(const AsciiLayout& layout) {
  std::vector<size_t> roles(layout.words_per_line, kNotWanted);
  roles[layout.x] = 0;
  roles[layout.y] = 1;
  roles[layout.z] = 2;
  if (layout.intensity.has_value()) roles[*layout.intensity] = kIntensity;
  return roles;
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
    return Malformed(
        name, absl::StrCat("the header promises ", count, " points of ", layout.words_per_line,
                           " values, at least ", least_line_bytes, " bytes each, but only ",
                           remaining_bytes, " bytes follow it"));
  }
  const std::vector<size_t> roles = RolesOf(layout);
  CloudBuilder builder(count, layout.intensity.has_value());
  std::array<double, 4> values{};
  absl::string_view line;
  for (size_t i = 0; i < count; ++i) {
    if (!NextFilledLine(lines, line)) {
      return Malformed(name, absl::StrCat("the data ends after ", i, " of the ", count,
                                          " points that the header promises"));
    }
    absl::string_view rest = line;
    for (size_t word_index = 0; word_index < roles.size(); ++word_index) {
      const absl::string_view word = TakeWord(rest);
      if (word.empty()) {
        return MalformedLine(name, lines.line_number(),
                             absl::StrCat("has ", word_index, " values, the header promises ",
                                          layout.words_per_line));
      }
      const size_t role = roles[word_index];
      if (role != kNotWanted && !ParseDouble(word, values[role])) {
        return MalformedLine(name, lines.line_number(),
                             absl::StrCat(Quoted(word), " is not a number"));
      }
    }
    if (!TakeWord(rest).empty()) {
      return MalformedLine(name, lines.line_number(),
                           absl::StrCat("has more than the ", layout.words_per_line,
                                        " values that the header promises"));
    }
    builder.Add({values[0], values[1], values[2]});
    if (layout.intensity.has_value()) builder.AddIntensity(values[kIntensity]);
  }
  return std::move(builder).Take();
}

}  // namespace voxloc
