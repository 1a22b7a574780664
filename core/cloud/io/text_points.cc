// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/text_points.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

char SeparatorOf(absl::string_view line) {
  for (const char separator : {';', ','}) {
    if (absl::StrContains(line, separator)) return separator;
  }
  return ' ';
}

// The words of a line; an empty one after the last separator is not one.
void SplitWords(absl::string_view line, char separator, std::vector<absl::string_view>& words) {
  words.clear();
  if (separator == ' ') {
    for (absl::string_view word = ConsumeWord(line); !word.empty(); word = ConsumeWord(line)) {
      words.push_back(word);
    }
    return;
  }
  while (true) {
    const size_t end = std::min(line.find(separator), line.size());
    words.push_back(absl::StripAsciiWhitespace(line.substr(0, end)));
    if (end == line.size()) break;
    line.remove_prefix(end + 1);
  }
  if (words.back().empty()) words.pop_back();
}

// As names of columns, which may be in quotes.
std::vector<std::string> NamesOf(const std::vector<absl::string_view>& words) {
  std::vector<std::string> names;
  for (absl::string_view word : words) {
    if (absl::ConsumePrefix(&word, "\"")) absl::ConsumeSuffix(&word, "\"");
    names.emplace_back(word);
  }
  return names;
}

bool ConsumeCommentMark(absl::string_view& line) {
  return absl::ConsumePrefix(&line, "#") || absl::ConsumePrefix(&line, "//");
}

}  // namespace

void TextPointParser::TakeNamesOfComment(absl::string_view comment) {
  SplitWords(comment, SeparatorOf(comment), words_);
  if (words_.size() > kMaxPointFields) return;
  std::vector<std::string> names = NamesOf(words_);
  if (FindPointFields(names).ok()) names_of_comment_ = std::move(names);
}

absl::StatusOr<bool> TextPointParser::ChooseColumns(absl::string_view line) {
  separator_ = SeparatorOf(line);
  SplitWords(line, separator_, words_);
  words_per_line_ = words_.size();
  double value = 0.0;
  const auto word = std::find_if(words_.begin(), words_.end(), [&](absl::string_view w) {
    return !w.empty() && !ParseDouble(w, value);
  });
  const bool numbers = word == words_.end();
  const bool commented = numbers && names_of_comment_.size() == words_per_line_;
  if (!numbers || commented) {
    const absl::StatusOr<PointFields> named =
        FindPointFields(commented ? names_of_comment_ : NamesOf(words_));
    if (!named.ok()) {
      return MalformedLine(name_, line_number_, "must be numbers or name the columns; ",
                           Quoted(*word), " is not a number, and ", named.status().message());
    }
    columns_ = *named;
    return numbers;
  }
  if (words_per_line_ < 3 || words_per_line_ > kMaxPointFields) {
    return MalformedLine(name_, line_number_, "a point must have 3 to ", kMaxPointFields,
                         " columns, x, y and z first (got ", words_per_line_, ")");
  }
  columns_ = PointFields{0, 1, 2, std::nullopt};
  if (words_per_line_ == 4) columns_->intensity = 3;
  return true;
}

absl::Status TextPointParser::AddLine(absl::string_view line, CloudBuilder& builder) {
  if (line_number_ == 1) absl::ConsumePrefix(&line, kByteOrderMark);
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) return absl::OkStatus();
  if (ConsumeCommentMark(line)) {
    if (!columns_.has_value()) TakeNamesOfComment(line);
    return absl::OkStatus();
  }
  if (!columns_.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(const bool is_point, ChooseColumns(line));
    if (!is_point) return absl::OkStatus();
  }
  SplitWords(line, separator_, words_);
  if (words_.size() != words_per_line_) {
    return MalformedLine(name_, line_number_, "has ", words_.size(),
                         " columns, the first line has ", words_per_line_);
  }
  const auto read = [&](size_t column, double& value) {
    if (ParseDouble(words_[column], value)) return absl::OkStatus();
    return MalformedLine(name_, line_number_, "column ", column + 1, ", ", Quoted(words_[column]),
                         ", is not a number with a decimal point");
  };
  Eigen::Vector3d point;
  VOXLOC_TRY(read(columns_->x, point.x()));
  VOXLOC_TRY(read(columns_->y, point.y()));
  VOXLOC_TRY(read(columns_->z, point.z()));
  double intensity = 0.0;
  if (columns_->intensity.has_value()) VOXLOC_TRY(read(*columns_->intensity, intensity));
  point.head<2>() *= xy_scale_;
  builder.Add(point);
  if (columns_->intensity.has_value()) builder.AddIntensity(intensity);
  return absl::OkStatus();
}

absl::StatusOr<size_t> TextPointParser::Parse(absl::string_view text, bool last, size_t max_points,
                                              CloudBuilder& builder) {
  LineScanner lines(text);
  size_t taken = 0;
  absl::string_view line;
  while (builder.size() < max_points && lines.Next(line)) {
    const bool whole = last || lines.offset() < text.size() || text.back() == '\n';
    if (line.size() > kMaxTextLineBytes) {
      return MalformedLine(name_, line_number_ + 1, "must have at most ", kMaxTextLineBytes,
                           " bytes (got more)");
    }
    if (!whole) break;
    ++line_number_;
    VOXLOC_TRY(AddLine(line, builder));
    taken = lines.offset();
  }
  return taken;
}

absl::StatusOr<PointCloud> ParseTextPoints(absl::string_view bytes, absl::string_view name,
                                           size_t max_points, double xy_scale) {
  CloudBuilder builder(0, false);
  TextPointParser parser(name, xy_scale);
  const size_t one_more = max_points + (max_points < std::numeric_limits<size_t>::max() ? 1 : 0);
  VOXLOC_TRY(parser.Parse(bytes, true, one_more, builder).status());
  if (builder.size() > max_points) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", max_points, " points (got more)"));
  }
  return std::move(builder).Take();
}

absl::StatusOr<uint64_t> EstimateTextPoints(absl::string_view head, uint64_t file_bytes,
                                            absl::string_view name) {
  const bool whole = head.size() == file_bytes;
  CloudBuilder builder(0, false);
  TextPointParser parser(name);
  VOXLOC_ASSIGN_OR_RETURN(const size_t taken,
                          parser.Parse(head, whole, std::numeric_limits<size_t>::max(), builder));
  if (whole) return builder.size();
  if (builder.size() == 0) {
    return Malformed(name, "the first ", head.size(), " bytes have no point");
  }
  return static_cast<uint64_t>(static_cast<double>(file_bytes) / static_cast<double>(taken) *
                               static_cast<double>(builder.size()));
}

}  // namespace voxloc
