// SPDX-License-Identifier: Apache-2.0
//
// Reading text: lines with their numbers, words, and numbers in any locale of the process.

#ifndef VOXLOC_CORE_CLOUD_IO_TEXT_SCAN_H_
#define VOXLOC_CORE_CLOUD_IO_TEXT_SCAN_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// InvalidArgument: the parts, joined, behind the name of the file, and the line or byte.
template <typename... Parts>
[[nodiscard]] absl::Status Malformed(absl::string_view name, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", parts...));
}
template <typename... Parts>
[[nodiscard]] absl::Status MalformedLine(absl::string_view name, size_t line,
                                         const Parts&... parts) {
  return Malformed(name, "line ", line, ": ", parts...);
}
template <typename... Parts>
[[nodiscard]] absl::Status MalformedByte(absl::string_view name, size_t offset,
                                         const Parts&... parts) {
  return Malformed(name, "byte ", offset, ": ", parts...);
}

// A value from a file, in quotes, shortened, and with bytes that are not printable escaped.
[[nodiscard]] std::string Quoted(absl::string_view value);

// Walks the lines of a text that outlives it. Lines end with \n or \r\n; the last may lack its end.
class LineScanner {
 public:
  explicit LineScanner(absl::string_view text, size_t first_line = 1)
      : text_(text), next_line_(first_line) {}

  // False at the end of the text.
  [[nodiscard]] bool Next(absl::string_view& line);

  // Of the line last returned; the first is line 1.
  [[nodiscard]] size_t line_number() const { return next_line_ - 1; }
  // Of the byte after the line last returned and its end.
  [[nodiscard]] size_t offset() const { return offset_; }

 private:
  absl::string_view text_;
  size_t offset_ = 0;
  size_t next_line_;
};

// Takes the first word (between spaces and tabs) off `rest`; empty when there is none.
[[nodiscard]] absl::string_view ConsumeWord(absl::string_view& rest);

// The whole word as a number: decimal, or hexadecimal after 0x, with optional sign and exponent,
// nan, inf. Too large becomes infinite, too small (nearly) zero.
[[nodiscard]] bool ParseDouble(absl::string_view word, double& value);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_TEXT_SCAN_H_
