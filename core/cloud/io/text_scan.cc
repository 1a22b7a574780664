// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/text_scan.h"

#include <cmath>
#include <limits>
#include <system_error>

#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

std::string Quoted(absl::string_view value) {
  constexpr size_t kMaxShown = 48;
  return absl::StrCat("'", absl::CHexEscape(value.substr(0, kMaxShown)),
                      value.size() > kMaxShown ? "..." : "", "'");
}

namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

}  // namespace

bool LineScanner::Next(absl::string_view& line) {
  if (offset_ >= text_.size()) return false;
  const size_t end = text_.find('\n', offset_);
  if (end == absl::string_view::npos) {
    line = text_.substr(offset_);
    offset_ = text_.size();
  } else {
    line = text_.substr(offset_, end - offset_);
    offset_ = end + 1;
  }
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++next_line_;
  return true;
}

absl::string_view ConsumeWord(absl::string_view& rest) {
  while (!rest.empty() && IsSpace(rest.front())) rest.remove_prefix(1);
  size_t end = 0;
  while (end < rest.size() && !IsSpace(rest[end])) ++end;
  const absl::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

bool ParseDouble(absl::string_view word, double& value) {
  if (word.size() > 1 && word.front() == '+' && word[1] != '-') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const absl::from_chars_result result = absl::from_chars(word.data(), end, value);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return false;
  if (result.ec == std::errc::result_out_of_range && std::abs(value) > 1.0) {
    value = std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return true;
}

}  // namespace voxloc
