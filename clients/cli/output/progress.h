// SPDX-License-Identifier: Apache-2.0
//
// What people see on standard error while work goes on, and of what the input is taken to be. On a
// terminal one line is drawn again and again; elsewhere (a log, a pipe) plain lines come at
// intervals. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_PROGRESS_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_PROGRESS_H_

#include <chrono>
#include <cstdio>
#include <string>

#include "clients/dataset/scan_directory.h"

namespace voxloc::cli {

// A line that is replaced by the next one.
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
  ProgressBar(std::string label, std::string unit, size_t total);

  void Update(size_t done);

 private:
  std::string label_;
  std::string unit_;
  size_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LiveLine line_;
};

// The text of a bar; `seconds_left` below 0: unknown. A function of its own for the tests.
[[nodiscard]] std::string ProgressText(const std::string& label, const std::string& unit,
                                       size_t done, size_t total, double seconds_left, bool bar);

// A line each; warnings begin with "warning:".
void PrintNotes(const InputNotes& notes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_PROGRESS_H_
