// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBarWidth = 24;

}  // namespace

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
    absl::StrAppend(&text, absl::StrFormat(", %.0f s left", seconds_left));
  }
  return text;
}

ProgressBar::ProgressBar(std::string label, std::string unit, size_t total)
    : label_(std::move(label)), unit_(std::move(unit)), total_(total), line_(3.0, 0.1) {}

void ProgressBar::Update(size_t done) {
  const bool last = done >= total_;
  if (!line_.due() && !(last && line_.terminal())) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double left = done == 0 ? -1.0
                                : elapsed * static_cast<double>(total_ - std::min(done, total_)) /
                                      static_cast<double>(done);
  line_.Show(ProgressText(label_, unit_, done, total_, left, line_.terminal()), last);
}

void PrintNotes(const InputNotes& notes) {
  for (const std::string& remark : notes.remarks) absl::FPrintF(stderr, "%s\n", remark);
  for (const std::string& warning : notes.warnings) absl::FPrintF(stderr, "warning: %s\n", warning);
}

}  // namespace voxloc::cli
