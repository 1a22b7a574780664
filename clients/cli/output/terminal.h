// SPDX-License-Identifier: Apache-2.0
//
// The terminal: text that others wrote (names of vehicles, comments, errors of servers), made safe
// for it, so that it can neither move the cursor, nor change colours, nor reorder what stands
// beside it; its size; and a question to the person who sits there.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_

#include <cstddef>
#include <istream>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::cli {

// Bytes of control characters, of characters that steer the direction or the joining of others, and
// of what is not UTF-8 become \xNN; everything else stays as it is.
[[nodiscard]] std::string TerminalText(absl::string_view text);

// Columns that text without control characters takes on a terminal: 2 for East Asian wide
// characters and emoji, 1 for others.
[[nodiscard]] size_t ColumnsOf(absl::string_view text);

// At most `columns` columns of it: its beginning, or its beginning and its end. Three dots stand
// where it was cut, where they fit.
[[nodiscard]] std::string CutToColumns(absl::string_view text, size_t columns);
[[nodiscard]] std::string CutMiddleToColumns(absl::string_view text, size_t columns);

// Zeros where it is none.
struct TerminalSize {
  size_t columns = 0;
  size_t rows = 0;
};

[[nodiscard]] TerminalSize SizeOfTerminal();

enum class Confirmation { kYes, kNo, kNobodyToAsk };

// `yes`: the answer was given by a flag. Otherwise asks on `err` and reads a line of `in`, where
// `terminal` says that a person sits there: yes is "y" or "yes".
[[nodiscard]] Confirmation Confirm(const std::string& question, bool yes, bool terminal,
                                   std::istream& in, std::ostream& err);

// On standard input and standard error.
[[nodiscard]] Confirmation ConfirmOnTerminal(const std::string& question, bool yes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_
