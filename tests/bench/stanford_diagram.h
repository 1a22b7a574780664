// SPDX-License-Identifier: Apache-2.0
//
// A Stanford diagram: a 2D histogram of position error and protection level. Right of the diagonal
// the error is over the level (misleading information).

#ifndef VOXLOC_TESTS_BENCH_STANFORD_DIAGRAM_H_
#define VOXLOC_TESTS_BENCH_STANFORD_DIAGRAM_H_

#include <array>
#include <cstddef>
#include <string>

namespace voxloc::bench {

// Errors and levels from a centimetre to ten metres, in steps of the same ratio.
class StanfordDiagram {
 public:
  // Metres. What is smaller or larger than the diagram counts at its edge; a level may be infinite.
  void Add(double error_m, double level_m);

  void Add(const StanfordDiagram& more);

  // A picture of its own, with axes and the number of each cell.
  [[nodiscard]] std::string Svg(const std::string& title) const;

 private:
  static constexpr size_t kSteps = 45;  // fifteen a decade

  [[nodiscard]] static size_t StepOf(double metres);

  std::array<std::array<size_t, kSteps>, kSteps> counts_{};  // by level, by error
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_STANFORD_DIAGRAM_H_
