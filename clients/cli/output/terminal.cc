// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::cli {
namespace {

constexpr char kEllipsis[] = "...";
constexpr size_t kEllipsisColumns = 3;

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
  bool valid = false;
};

// C0, DEL and C1; then the characters of Unicode's property Default_Ignorable_Code_Point that steer
// others: joiners and marks of direction, separators of lines, embeddings, isolates, and the mark
// of byte order.
bool IsControl(uint32_t point) {
  const auto in = [point](uint32_t first, uint32_t last) {
    return first <= point && point <= last;
  };
  return in(0x0, 0x1f) || in(0x7f, 0x9f) || in(0x61c, 0x61c) || in(0x200b, 0x200f) ||
         in(0x2028, 0x202e) || in(0x2060, 0x206f) || in(0xfeff, 0xfeff);
}

// Blocks whose characters have the property East_Asian_Width W or F (Unicode, UAX #11).
bool IsWide(uint32_t point) {
  const auto in = [point](uint32_t first, uint32_t last) {
    return first <= point && point <= last;
  };
  return in(0x1100, 0x115f) || in(0x2e80, 0x303e) || in(0x3041, 0xa4cf) || in(0xac00, 0xd7a3) ||
         in(0xf900, 0xfaff) || in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0x1f300, 0x1faff) ||
         in(0x20000, 0x3fffd);
}

// The code point that `text`, which is not empty, begins with. One byte where it is not UTF-8.
CodePoint FirstCodePoint(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  static constexpr std::array<uint32_t, 5> kMinValue = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc0 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t value = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3fU);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kMinValue[bytes] || value > 0x10ffff || surrogate) return {};
  return {value, bytes, true};
}

size_t ColumnsOfCodePoint(const CodePoint& point) {
  return point.valid && IsWide(point.value) ? 2 : 1;
}

// Bytes of as much of the beginning as fits.
size_t BytesOf(absl::string_view text, size_t columns) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const CodePoint point = FirstCodePoint(text.substr(bytes));
    const size_t width = ColumnsOfCodePoint(point);
    if (width > columns) break;
    columns -= width;
    bytes += point.bytes;
  }
  return bytes;
}

using Clock = std::chrono::steady_clock;

constexpr size_t kBarWidth = 24;

std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set by a handler of signals");

void OnSignal(int /*signal*/) { interrupt_requested = true; }

}  // namespace

std::string EscapeForTerminal(absl::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    if (point.valid && !IsControl(point.value)) {
      absl::StrAppend(&safe, text.substr(0, point.bytes));
    } else {
      for (size_t i = 0; i < point.bytes; ++i) {
        absl::StrAppendFormat(&safe, "\\x%02x", static_cast<uint8_t>(text[i]));
      }
    }
    text.remove_prefix(point.bytes);
  }
  return safe;
}

size_t ColumnsOf(absl::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    columns += ColumnsOfCodePoint(point);
    text.remove_prefix(point.bytes);
  }
  return columns;
}

std::string TruncateToColumns(absl::string_view text, size_t columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  const bool marked = columns > kEllipsisColumns;
  const absl::string_view kept =
      text.substr(0, BytesOf(text, marked ? columns - kEllipsisColumns : columns));
  return absl::StrCat(kept, marked ? kEllipsis : "");
}

std::string TruncateMiddleToColumns(absl::string_view text, size_t columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  if (columns <= kEllipsisColumns) return TruncateToColumns(text, columns);
  const size_t room = columns - kEllipsisColumns;
  const absl::string_view first = text.substr(0, BytesOf(text, (room + 1) / 2));
  // The end begins where what is before it takes the columns that are too many.
  absl::string_view last = text;
  while (ColumnsOf(last) > room / 2) last.remove_prefix(FirstCodePoint(last).bytes);
  return absl::StrCat(first, kEllipsis, last);
}

TerminalSize GetTerminalSize() {
  if (isatty(STDOUT_FILENO) != 1) return {};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {80, 24};  // what VT100 has, and all terminals since
  }
  return {size.ws_col, size.ws_row};
}

Confirmation Confirm(const std::string& question, bool yes, bool terminal, std::istream& in,
                     std::ostream& err) {
  if (yes) return Confirmation::kYes;
  if (!terminal) return Confirmation::kNotInteractive;
  err << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(in, line);
  line = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  return line == "y" || line == "yes" ? Confirmation::kYes : Confirmation::kNo;
}

Confirmation ConfirmOnTerminal(const std::string& question, bool yes) {
  return Confirm(question, yes, isatty(STDIN_FILENO) != 0, std::cin, std::cerr);
}

LiveLine::LiveLine(double interval_s, double terminal_interval_s, std::FILE* out)
    : out_(out),
      terminal_(isatty(fileno(out)) == 1),
      interval_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(terminal_ ? terminal_interval_s : interval_s))),
      last_(Clock::now()) {}

LiveLine::~LiveLine() {
  if (terminal_ && shown_ > 0) std::fputs("\n", out_);
}

bool LiveLine::due() const { return Clock::now() - last_ >= interval_; }

void LiveLine::Show(const std::string& text, bool always) {
  if (!always && !due()) return;
  last_ = Clock::now();
  if (!terminal_) {
    absl::FPrintF(out_, "%s\n", text);
    std::fflush(out_);
    return;
  }
  const size_t blanks = shown_ > text.size() ? shown_ - text.size() : 0;
  absl::FPrintF(out_, "\r%s%s", text, std::string(blanks, ' '));
  std::fflush(out_);
  shown_ = text.size();
}

std::string ProgressText(const std::string& label, const std::string& unit, size_t done,
                         size_t total, double seconds_left, bool bar) {
  std::string text = label;
  if (bar && total > 0) {
    const size_t filled = std::min(kBarWidth, kBarWidth * done / total);
    absl::StrAppend(&text, " [", std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
                    "]");
  }
  absl::StrAppend(&text, " ", done, " of ", total, " ", unit);
  if (seconds_left >= 1.0 && done < total) {
    absl::StrAppendFormat(&text, ", %.0f s left", seconds_left);
  }
  return text;
}

double SecondsLeft(size_t done, size_t total, double elapsed_s) {
  if (done == 0) return -1.0;
  return elapsed_s * static_cast<double>(total - std::min(done, total)) / static_cast<double>(done);
}

void ProgressBar::Update(size_t done) {
  const bool last = done >= total_;
  if (!line_.due() && !(last && line_.terminal())) return;
  const double left = SecondsLeft(done, total_, watch_.seconds());
  line_.Show(ProgressText(label_, unit_, done, total_, left, line_.terminal()), last);
}

void PrintNotes(const InputNotes& notes) {
  for (const std::string& remark : notes.remarks) absl::FPrintF(stderr, "%s\n", remark);
  for (const std::string& warning : notes.warnings) absl::FPrintF(stderr, "warning: %s\n", warning);
}

Interrupt::Interrupt() {
  interrupt_requested = false;
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  // One shot; interrupted system calls are restarted.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    if (sigaction(signal, &action, &before) == 0) previous_actions_.emplace_back(signal, before);
  }
}

Interrupt::~Interrupt() {
  for (const auto& [signal, before] : previous_actions_) sigaction(signal, &before, nullptr);
}

bool Interrupt::Requested() { return interrupt_requested; }

}  // namespace voxloc::cli
