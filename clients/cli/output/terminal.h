// SPDX-License-Identifier: Apache-2.0
//
// The terminal: text that others wrote (names of vehicles, comments, errors of servers), made safe
// for it, so that it can neither move the cursor, nor change colours, nor reorder what stands
// beside it; its size; a question to the person who sits there; progress; and Ctrl-C.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <istream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/dataset/cloud_sources.h"

namespace voxloc::cli {

// Replaces each byte of control characters, of bidirectional and joining controls, and of invalid
// UTF-8 by \xNN; everything else is unchanged.
[[nodiscard]] std::string EscapeForTerminal(absl::string_view text);

// Columns that text without control characters takes on a terminal: 2 for East Asian wide
// characters and emoji, 1 for others.
[[nodiscard]] size_t ColumnsOf(absl::string_view text);

// Truncates the text at its end, or in its middle, to `columns` columns. Three dots mark the place
// if they fit.
[[nodiscard]] std::string TruncateToColumns(absl::string_view text, size_t columns);
[[nodiscard]] std::string TruncateMiddleToColumns(absl::string_view text, size_t columns);

// Zeros if standard output is not a terminal.
struct TerminalSize {
  size_t columns = 0;
  size_t rows = 0;
};

[[nodiscard]] TerminalSize GetTerminalSize();

enum class Confirmation { kYes, kNo, kNotInteractive };

// `yes`: confirmed by a flag. Otherwise, if `terminal`, asks on `err` and reads a line of `in`: "y"
// or "yes" confirms.
[[nodiscard]] Confirmation Confirm(const std::string& question, bool yes, bool terminal,
                                   std::istream& in, std::ostream& err);

// On standard input and standard error.
[[nodiscard]] Confirmation ConfirmOnTerminal(const std::string& question, bool yes);

// The time since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Seconds until all is done at the rate so far; below 0: unknown.
[[nodiscard]] double SecondsLeft(size_t done, size_t total, double elapsed_s);

// A line on standard error that is replaced by the next one during work. On a terminal it is
// redrawn; elsewhere (a log, a pipe) plain lines come at intervals. For one thread.
class LiveLine {
 public:
  // Lines that come sooner than `interval_s` after the last are left out; on a terminal the
  // interval is `terminal_interval_s`.
  LiveLine(double interval_s, double terminal_interval_s, std::FILE* out = stderr);
  // Ends the line on a terminal.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Whether Show would print now.
  [[nodiscard]] bool due() const;

  // `always`: print it even if it is not due, as for the last one.
  void Show(const std::string& text, bool always = false);

  [[nodiscard]] bool terminal() const { return terminal_; }

 private:
  std::FILE* out_;
  bool terminal_;
  std::chrono::steady_clock::duration interval_;
  std::chrono::steady_clock::time_point last_;
  size_t shown_ = 0;  // characters on the terminal's line
};

// "label [#####.....] 120 of 240 tiles, 3 s left".
class ProgressBar {
 public:
  ProgressBar(std::string label, std::string unit, size_t total)
      : label_(std::move(label)), unit_(std::move(unit)), total_(total) {}

  void Update(size_t done);

 private:
  std::string label_;
  std::string unit_;
  size_t total_;
  Stopwatch watch_;
  LiveLine line_{3.0, 0.1};
};

// The text of a bar; `seconds_left` below 0: unknown. A function of its own for the tests.
[[nodiscard]] std::string ProgressText(const std::string& label, const std::string& unit,
                                       size_t done, size_t total, double seconds_left, bool bar);

// How the input is read, on standard error: a line each; warnings begin with "warning:".
void PrintNotes(const InputNotes& notes);

// Ctrl-C asks a long command to end and to keep what it has done. While an Interrupt lives, the
// first SIGINT or SIGTERM is noted, and a second one ends the program as if there were none. At
// most one lives at a time, in the thread that runs the command.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // Whether a signal was received. Thread-safe.
  [[nodiscard]] static bool Requested();

 private:
  std::vector<std::pair<int, struct sigaction>> previous_actions_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_TERMINAL_H_
