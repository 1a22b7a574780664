// SPDX-License-Identifier: Apache-2.0
//
// How near two evaluations of a scan at one pose are. Scores are compared relatively, derivatives
// with the sums of the pairs' magnitudes.

#ifndef VOXLOC_TESTS_CUDA_ENGINE_AGREEMENT_H_
#define VOXLOC_TESTS_CUDA_ENGINE_AGREEMENT_H_

#include <ostream>
#include <string>

#include "core/engine/align.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {

// An evaluation, by an engine or by the reference.
struct Evaluated {
  double score = 0.0;
  double transform_probability = 0.0;
  double nearest_voxel_likelihood = 0.0;
  ChartVector gradient = ChartVector::Zero();
  Matrix6 hessian = Matrix6::Zero();
};
Evaluated FromEngine(const PoseScore& score, const ChartVector& gradient, const Matrix6& hessian);
Evaluated FromReference(const reference::Evaluation& evaluation);

// Largest deviations, each with the place where it was seen.
class Disagreement {
 public:
  void Add(const std::string& where, const Evaluated& value, const Evaluated& expected,
           const reference::Evaluation& magnitudes);
  // Fails where a deviation is larger.
  void ExpectWithin(double tolerance) const;
  friend std::ostream& operator<<(std::ostream& out, const Disagreement& disagreement);

 private:
  struct Largest {
    double share = 0.0;
    std::string where;
  };
  static void Note(double share, const std::string& where, Largest& largest);

  Largest score_;
  Largest transform_probability_;
  Largest nearest_voxel_likelihood_;
  Largest gradient_;
  Largest hessian_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CUDA_ENGINE_AGREEMENT_H_
