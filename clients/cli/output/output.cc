// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/write_error.h"

namespace voxloc::cli {
namespace {

// Whether WriteTextFile may work later: before work whose result it is to write. Creates and
// changes nothing. The error names the file and the system's reason.
absl::Status CheckWritable(const std::string& path) {
  struct stat found = {};
  int error = 0;
  if (stat(path.c_str(), &found) == 0) {
    error = S_ISDIR(found.st_mode) ? EISDIR : access(path.c_str(), W_OK) == 0 ? 0 : errno;
  } else if (errno == ENOENT) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    error = path.empty() || access(folder.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  } else {
    error = errno;
  }
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(WriteErrorText(path, error));
}

// Empty: the file may be written.
std::string OutputFileError(const std::string& path) {
  return path.empty() || path == "-" ? std::string() : std::string(CheckWritable(path).message());
}

// No column is cut to less.
constexpr size_t kMinColumnWidth = 4;
constexpr size_t kColumnGap = 2;

std::string Line(const std::vector<TextTable::Column>& columns, const std::vector<size_t>& widths,
                 const std::vector<std::string>& cells) {
  std::string line;
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::string cell = c < cells.size() ? TruncateMiddleToColumns(cells[c], widths[c]) : "";
    const std::string blanks(widths[c] - ColumnsOf(cell), ' ');
    if (c > 0) line.append(kColumnGap, ' ');
    line += columns[c].is_number ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Makes the widest columns that are no numbers narrower until the lines fit, or none can be.
void ShrinkColumns(const std::vector<TextTable::Column>& columns, size_t max_columns,
                   std::vector<size_t>& widths) {
  size_t total = kColumnGap * (columns.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > max_columns) {
    size_t widest = columns.size();
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].is_number || widths[c] <= kMinColumnWidth) continue;
      if (widest == columns.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::InvalidArgumentError(WriteErrorText(path, errno));
  }
  const size_t written = std::fwrite(text.data(), 1, text.size(), file);
  const int write_error = written == text.size() ? 0 : errno;
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  const int error = write_error != 0 ? write_error : close_error;
  if (error != 0) {
    return absl::InternalError(WriteErrorText(path, error));
  }
  return absl::OkStatus();
}

absl::Status WriteJson(const std::string& destination, const Json& value) {
  if (destination.empty()) return absl::OkStatus();
  // Text that is not UTF-8, such as a file's name, is replaced and does not throw.
  const std::string text =
      value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (destination == "-") {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      return absl::InternalError("standard output cannot be written");
    }
    return absl::OkStatus();
  }
  return WriteTextFile(destination, text);
}

Json VectorJson(const Eigen::Vector3d& vector) {
  return Json::array({vector.x(), vector.y(), vector.z()});
}

Json PoseJson(const Pose& pose) {
  return Json::array({pose.translation.x(), pose.translation.y(), pose.translation.z(),
                      pose.rotation.x(), pose.rotation.y(), pose.rotation.z(), pose.rotation.w()});
}

CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help) {
  return AddOption(command, name, *path, "FILE", help)->check(&OutputFileError);
}

CLI::Option* AddOutputFiles(CLI::App* command, const std::string& name,
                            std::vector<std::string>* paths, const std::string& help) {
  return AddOption(command, name, *paths, "FILE", help)
      ->allow_extra_args(false)
      ->check(&OutputFileError);
}

TextTable::TextTable(absl::string_view columns) {
  for (absl::string_view title : absl::StrSplit(columns, '|')) {
    const bool is_number = absl::ConsumePrefix(&title, ">");
    columns_.push_back({std::string(title), is_number});
  }
}

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = EscapeForTerminal(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::Text(size_t max_columns) const {
  std::vector<size_t> widths;
  std::vector<std::string> titles;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = ColumnsOf(columns_[c].title);
    for (const std::vector<std::string>& row : rows_) {
      if (c < row.size()) width = std::max(width, ColumnsOf(row[c]));
    }
    widths.push_back(width);
    titles.push_back(columns_[c].title);
  }
  if (max_columns > 0) ShrinkColumns(columns_, max_columns, widths);
  const auto line = [&](const std::vector<std::string>& cells) {
    const std::string text = Line(columns_, widths, cells);
    return (max_columns > 0 ? TruncateToColumns(text, max_columns) : text) + "\n";
  };
  std::string text = line(titles);
  for (const std::vector<std::string>& row : rows_) text += line(row);
  return text;
}

std::string GroupDigits(uint64_t number) {
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

void SummaryTable::AddRow(const std::string& name, const Summary& summary, int digits,
                          double factor) {
  std::vector<std::string> cells = {name};
  for (const double value : {summary.mean, summary.p50, summary.p95, summary.p99, summary.max}) {
    cells.push_back(std::isfinite(value) ? absl::StrFormat("%.*f", digits, factor * value) : "-");
  }
  table_.AddRow(std::move(cells));
}

Json SummaryJson(const Summary& d) {
  return {{"mean", d.mean}, {"p50", d.p50}, {"p95", d.p95}, {"p99", d.p99}, {"max", d.max}};
}

}  // namespace voxloc::cli
