// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/stanford_diagram.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::bench {
namespace {

constexpr double kMinM = 0.01;
constexpr double kStepsOfDecade = 15.0;
constexpr int kCell = 10;  // pixels
constexpr int kMargin = 60;

}  // namespace

size_t StanfordDiagram::StepOf(double metres) {
  if (!(metres > kMinM)) return 0;
  const double step = kStepsOfDecade * std::log10(std::min(metres, 1e6) / kMinM);
  return std::min(static_cast<size_t>(step), kSteps - 1);
}

void StanfordDiagram::Add(double error_m, double level_m) {
  ++counts_[StepOf(level_m)][StepOf(error_m)];
}

void StanfordDiagram::Add(const StanfordDiagram& more) {
  for (size_t level = 0; level < kSteps; ++level) {
    for (size_t error = 0; error < kSteps; ++error) {
      counts_[level][error] += more.counts_[level][error];
    }
  }
}

std::string StanfordDiagram::Svg(const std::string& title) const {
  const int side = kCell * static_cast<int>(kSteps);
  size_t max_count = 1;
  for (const auto& row : counts_)
    max_count = std::max(max_count, *std::max_element(row.begin(), row.end()));
  std::string svg = absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
      "<text x='%d' y='20'>%s</text>\n",
      side + 2 * kMargin, side + 2 * kMargin, kMargin, title);
  for (size_t level = 0; level < kSteps; ++level) {
    for (size_t error = 0; error < kSteps; ++error) {
      const size_t count = counts_[level][error];
      if (count == 0) continue;
      const double shade =
          std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(max_count));
      const int dark = static_cast<int>(220.0 * (1.0 - shade));
      const std::string color = error > level ? absl::StrFormat("rgb(230,%d,%d)", dark, dark)
                                              : absl::StrFormat("rgb(%d,%d,230)", dark, dark);
      absl::StrAppendFormat(
          &svg, "<rect x='%d' y='%d' width='%d' height='%d' fill='%s'><title>%d</title></rect>\n",
          kMargin + kCell * static_cast<int>(error),
          kMargin + side - kCell * static_cast<int>(level + 1), kCell, kCell, color, count);
    }
  }
  absl::StrAppendFormat(&svg, "<path d='M%d %dL%d %d' stroke='black'/>\n", kMargin, kMargin + side,
                        kMargin + side, kMargin);
  int decade = 0;
  for (const char* label : {"1 cm", "10 cm", "1 m", "10 m"}) {
    const int at = kCell * static_cast<int>(kStepsOfDecade) * decade++;
    absl::StrAppendFormat(&svg, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n",
                          kMargin + at, kMargin + side + 18, label);
    absl::StrAppendFormat(&svg, "<text x='%d' y='%d' text-anchor='end'>%s</text>\n", kMargin - 6,
                          kMargin + side - at + 4, label);
  }
  absl::StrAppendFormat(&svg, "<text x='%d' y='%d' text-anchor='middle'>error</text>\n",
                        kMargin + side / 2, kMargin + side + 40);
  absl::StrAppendFormat(&svg, "<text x='14' y='%d' writing-mode='tb'>protection level</text>\n",
                        kMargin + side / 2 - 40);
  return svg + "</svg>\n";
}

}  // namespace voxloc::bench
