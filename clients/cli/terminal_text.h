// SPDX-License-Identifier: Apache-2.0
//
// Text that others wrote (names of vehicles, comments, errors of servers), made safe for a
// terminal: it can neither move the cursor, nor change colours, nor reorder what stands beside it.
// Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_TERMINAL_TEXT_H_
#define VOXLOC_CLIENTS_CLI_TERMINAL_TEXT_H_

#include <cstddef>
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

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_TERMINAL_TEXT_H_
