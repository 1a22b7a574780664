// SPDX-License-Identifier: Apache-2.0
//
// Points as text without a header of its own, one a line: .xyz, .csv and .txt.
//
// The numbers of a line are separated by semicolons where its file's first line has one, else by
// commas where it has one, else by spaces and tabs; their decimal mark is a point. Blank lines and
// those that begin with # or // are passed over. A first line of words names the columns, of which
// x, y, z and intensity are taken, in any order and case; so does a comment before the first point
// that has as many words as it has columns. Without names x, y and z come first, a fourth and last
// column is the intensity, and where there are more, those after z are passed over. All lines have
// the same number of columns.

#ifndef VOXLOC_CORE_CLOUD_IO_TEXT_POINTS_H_
#define VOXLOC_CORE_CLOUD_IO_TEXT_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/point_data.h"

namespace voxloc {

// The most bytes of a line.
constexpr size_t kMaxTextLineBytes = size_t{1} << 20;

// Reads the lines of one file, in parts of any size. For one thread.
class TextPointParser {
 public:
  // `name` stands for the file in messages. x and y are multiplied by `xy_scale`.
  explicit TextPointParser(absl::string_view name, double xy_scale = 1.0)
      : name_(name), xy_scale_(xy_scale) {}

  // Adds the points of the next lines to `builder` until it has `max_points`, and returns how many
  // bytes it took: whole lines, but for the last of the file. `last`: the file ends with `text`.
  [[nodiscard]] absl::StatusOr<size_t> Parse(absl::string_view text, bool last, size_t max_points,
                                             CloudBuilder& builder);

 private:
  absl::Status AddLine(absl::string_view line, CloudBuilder& builder);
  void TakeNamesOfComment(absl::string_view comment);
  // Finds the columns by the first line that is no comment; false where it only names them.
  absl::StatusOr<bool> ChooseColumns(absl::string_view line);

  std::string name_;
  double xy_scale_;
  size_t line_number_ = 0;
  std::vector<absl::string_view> words_;  // of a line
  char separator_ = ' ';
  std::vector<std::string> names_of_comment_;
  std::optional<PointFields> columns_;
  size_t words_per_line_ = 0;
};

[[nodiscard]] absl::StatusOr<PointCloud> ParseTextPoints(absl::string_view bytes,
                                                         absl::string_view name, size_t max_points,
                                                         double xy_scale = 1.0);

// The number of points of a file of `file_bytes` that begins with `head`: by the length of the
// points' lines in it where it is not the whole file. Where `head` is not, it must have a point.
[[nodiscard]] absl::StatusOr<uint64_t> EstimateTextPoints(absl::string_view head,
                                                          uint64_t file_bytes,
                                                          absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_TEXT_POINTS_H_
