// SPDX-License-Identifier: Apache-2.0
//
// The line search of More and Thuente (ACM Transactions on Mathematical Software 20, 1994) as a state
// machine: Trial() says where phi and its slope are wanted, Update() takes them. It ends at a step
// with sufficient decrease (mu = 1e-4) and curvature (nu = 0.9), when the interval has collapsed, or
// after ten steps.

#ifndef VOXLOC_CORE_NDT_LINE_SEARCH_H_
#define VOXLOC_CORE_NDT_LINE_SEARCH_H_

#include <cmath>

#include "core/ndt/host_device.h"

namespace voxloc::ndt {

class LineSearch {
 public:
  // phi(0), phi'(0) < 0, the first trial, and the range that trials are clamped to.
  VOXLOC_HD LineSearch(double phi_zero, double slope_zero, double first_trial, double min_step,
                       double max_step)
      : phi_zero_(phi_zero),
        slope_zero_(slope_zero),
        min_step_(min_step),
        max_step_(max_step),
        trial_(std::fmin(std::fmax(first_trial, min_step), max_step)) {
    lower_ = upper_ = {0.0, 0.0, slope_zero * (1.0 - kMu)};
  }

  VOXLOC_HD double Trial() const { return trial_; }

  // phi and its slope at Trial(). True when the search is over and Trial() is the step to take.
  VOXLOC_HD bool Update(double phi, double slope) {
    const Sample psi = {trial_, phi - phi_zero_ - kMu * slope_zero_ * trial_,
                        slope - kMu * slope_zero_};
    if (iterations_ > 0) {
      if (open_interval_ && psi.value <= 0.0 && psi.slope >= 0.0) CloseInterval();
      if (UpdateInterval(open_interval_ ? psi : Sample{trial_, phi, slope})) return true;
    }
    if (psi.value <= 0.0 && std::abs(slope) <= -kNu * slope_zero_) return true;
    if (iterations_ == kMaxIterations || !(max_step_ > min_step_)) return true;
    ++iterations_;
    const double next = SelectTrial(open_interval_ ? psi : Sample{trial_, phi, slope});
    const double clamped = std::fmin(std::fmax(next, min_step_), max_step_);
    if (clamped == trial_ || !std::isfinite(next)) return true;
    trial_ = clamped;
    return false;
  }

 private:
  struct Sample {
    double step = 0.0;
    double value = 0.0;
    double slope = 0.0;
  };

  static constexpr double kMu = 1e-4;
  static constexpr double kNu = 0.9;
  static constexpr int kMaxIterations = 10;

  // From psi to phi as the function that the interval refers to.
  VOXLOC_HD void CloseInterval() {
    open_interval_ = false;
    lower_ = ToPhi(lower_);
    upper_ = ToPhi(upper_);
  }
  VOXLOC_HD Sample ToPhi(const Sample& psi) const {
    return {psi.step, psi.value + phi_zero_ + kMu * slope_zero_ * psi.step,
            psi.slope + kMu * slope_zero_};
  }

  // Cases U1 to U3 of the paper. True when the interval cannot shrink any more.
  VOXLOC_HD bool UpdateInterval(const Sample& t) {
    if (t.value > lower_.value) {
      upper_ = t;
    } else if (t.slope * (lower_.step - t.step) > 0.0) {
      lower_ = t;
    } else if (t.slope * (lower_.step - t.step) < 0.0) {
      upper_ = lower_;
      lower_ = t;
    } else {
      return true;
    }
    return false;
  }

  // The minimiser of the cubic through both values and slopes (Nocedal and Wright, equation 3.59).
  VOXLOC_HD static double CubicMinimizer(const Sample& a, const Sample& b) {
    const double z = 3.0 * (b.value - a.value) / (b.step - a.step) - b.slope - a.slope;
    const double w = std::sqrt(std::fmax(z * z - b.slope * a.slope, 0.0));
    return a.step + (b.step - a.step) * (w - a.slope - z) / (b.slope - a.slope + 2.0 * w);
  }
  VOXLOC_HD static double SecantMinimizer(const Sample& a, const Sample& b) {
    return a.step - (a.step - b.step) / (a.slope - b.slope) * a.slope;
  }

  // Section 4 of the paper.
  VOXLOC_HD double SelectTrial(const Sample& t) const {
    if (t.step == lower_.step) return max_step_;
    if (t.value > lower_.value) {  // case 1
      const double cubic = CubicMinimizer(lower_, t);
      const double quadratic =
          lower_.step - 0.5 * (lower_.step - t.step) * lower_.slope /
                            (lower_.slope - (lower_.value - t.value) / (lower_.step - t.step));
      return std::abs(cubic - lower_.step) < std::abs(quadratic - lower_.step)
                 ? cubic
                 : 0.5 * (quadratic + cubic);
    }
    if (t.slope * lower_.slope < 0.0) {  // case 2
      const double cubic = CubicMinimizer(lower_, t);
      const double secant = SecantMinimizer(lower_, t);
      return std::abs(cubic - t.step) >= std::abs(secant - t.step) ? cubic : secant;
    }
    if (std::abs(t.slope) <= std::abs(lower_.slope)) {  // case 3
      const double cubic = CubicMinimizer(lower_, t);
      const double secant = SecantMinimizer(lower_, t);
      const double next = std::abs(cubic - t.step) < std::abs(secant - t.step) ? cubic : secant;
      if (upper_.step == lower_.step) return next;
      const double guard = t.step + 0.66 * (upper_.step - t.step);
      return t.step > lower_.step ? std::fmin(guard, next) : std::fmax(guard, next);
    }
    // case 4
    return upper_.step == t.step ? max_step_ : CubicMinimizer(upper_, t);
  }

  double phi_zero_;
  double slope_zero_;
  double min_step_;
  double max_step_;
  double trial_;
  Sample lower_;
  Sample upper_;
  bool open_interval_ = true;
  int iterations_ = 0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_LINE_SEARCH_H_
