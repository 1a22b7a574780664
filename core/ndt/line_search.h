// SPDX-License-Identifier: Apache-2.0
//
// The line search of More and Thuente (ACM Transactions on Mathematical Software 20, 1994) as a
// state machine: Trial() is where to evaluate phi and its slope, Update() gets their values. It
// ends at a step with sufficient decrease (mu = 1e-4) and curvature (nu = 0.9), at the end of the
// range of steps if the next trial would leave it, or after ten further trials.

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
        trial_(std::fmin(std::fmax(first_trial, min_step), max_step)),
        last_width_(max_step - min_step),
        width_before_last_(2.0 * last_width_) {
    lower_ = upper_ = {0.0, 0.0, slope_zero * (1.0 - kMu)};
  }

  VOXLOC_HD double Trial() const { return trial_; }

  // phi and its slope at Trial(). True when the search is over and Trial() is the step to take.
  VOXLOC_HD_RARE bool Update(double phi, double slope) {
    if (!std::isfinite(phi + slope)) return true;
    const Sample psi = {trial_, phi - phi_zero_ - kMu * slope_zero_ * trial_,
                        slope - kMu * slope_zero_};
    if (psi.value <= 0.0 && std::abs(slope) <= -kNu * slope_zero_) return true;
    if (iterations_ == kMaxIterations || !(max_step_ > min_step_)) return true;
    ++iterations_;
    if (on_psi_ && psi.value <= 0.0 && slope >= 0.0) SwitchToPhi();
    const Sample trial = on_psi_ ? psi : Sample{trial_, phi, slope};
    double next = SelectTrial(trial);
    UpdateInterval(trial);
    if (bracketed_) {
      // Halved where interpolation does not shrink it fast enough.
      const double width = std::abs(upper_.step - lower_.step);
      if (width >= kShrink * width_before_last_) {
        next = lower_.step + 0.5 * (upper_.step - lower_.step);
      }
      width_before_last_ = last_width_;
      last_width_ = width;
    }
    const double clamped = std::fmin(std::fmax(next, min_step_), max_step_);
    if (clamped == trial_) return true;
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
  static constexpr double kShrink = 0.66;
  static constexpr int kMaxIterations = 10;
  // Bounds of an extrapolation, in lengths of the last advance.
  static constexpr double kMinAdvance = 1.1;
  static constexpr double kMaxAdvance = 4.0;

  // The interval refers to psi, phi less the line of sufficient decrease, until a trial has that
  // decrease and a minimiser of phi behind it.
  VOXLOC_HD void SwitchToPhi() {
    on_psi_ = false;
    lower_ = ToPhi(lower_);
    upper_ = ToPhi(upper_);
  }
  VOXLOC_HD Sample ToPhi(const Sample& psi) const {
    return {psi.step, psi.value + phi_zero_ + kMu * slope_zero_ * psi.step,
            psi.slope + kMu * slope_zero_};
  }

  // Cases U1 to U3 of the paper. `lower_` is the best step so far; once bracketed, a minimiser lies
  // between the two.
  VOXLOC_HD void UpdateInterval(const Sample& t) {
    if (t.value > lower_.value) {
      upper_ = t;
      bracketed_ = true;
      return;
    }
    if (t.slope * lower_.slope < 0.0) {
      upper_ = lower_;
      bracketed_ = true;
    }
    lower_ = t;
  }

  // The minimiser of the cubic through both values and slopes (Nocedal and Wright, equation 3.59);
  // not finite where there is none.
  VOXLOC_HD static double CubicMinimizer(const Sample& a, const Sample& b) {
    const double z = 3.0 * (b.value - a.value) / (b.step - a.step) - b.slope - a.slope;
    const double w =
        std::copysign(std::sqrt(std::fmax(z * z - b.slope * a.slope, 0.0)), b.step - a.step);
    return a.step + (b.step - a.step) * (w - a.slope - z) / (b.slope - a.slope + 2.0 * w);
  }
  VOXLOC_HD static double SecantMinimizer(const Sample& a, const Sample& b) {
    return b.step - (b.step - a.step) / (b.slope - a.slope) * b.slope;
  }

  // Section 4 of the paper.
  VOXLOC_HD double SelectTrial(const Sample& t) const {
    const double advance = t.step - lower_.step;
    if (t.value > lower_.value) {  // case 1
      const double cubic = CubicMinimizer(lower_, t);
      const double quadratic =
          lower_.step +
          0.5 * advance * lower_.slope / (lower_.slope - (t.value - lower_.value) / advance);
      return std::abs(cubic - lower_.step) < std::abs(quadratic - lower_.step)
                 ? cubic
                 : 0.5 * (quadratic + cubic);
    }
    if (t.slope * lower_.slope < 0.0) {  // case 2
      const double cubic = CubicMinimizer(lower_, t);
      const double secant = SecantMinimizer(lower_, t);
      return std::abs(cubic - t.step) >= std::abs(secant - t.step) ? cubic : secant;
    }
    const double farthest = t.step + kMaxAdvance * advance;
    if (std::abs(t.slope) <= std::abs(lower_.slope)) {  // case 3
      const double cubic = CubicMinimizer(lower_, t);
      const double secant = SecantMinimizer(lower_, t);
      // A minimiser on the wrong side, or none, means that the function keeps falling.
      const double by_cubic = (cubic - t.step) * advance > 0.0 ? cubic : farthest;
      const double by_secant = (secant - t.step) * advance > 0.0 ? secant : farthest;
      const bool cubic_is_nearer = std::abs(by_cubic - t.step) < std::abs(by_secant - t.step);
      if (bracketed_) {
        const double next = cubic_is_nearer ? by_cubic : by_secant;
        const double guard = t.step + kShrink * (upper_.step - t.step);
        return advance > 0.0 ? std::fmin(guard, next) : std::fmax(guard, next);
      }
      const double nearest = t.step + kMinAdvance * advance;
      const double next = cubic_is_nearer ? by_secant : by_cubic;
      return std::fmax(std::fmin(next, farthest), nearest);
    }
    return bracketed_ ? CubicMinimizer(upper_, t) : farthest;  // case 4
  }

  double phi_zero_;
  double slope_zero_;
  double min_step_;
  double max_step_;
  double trial_;
  Sample lower_;
  Sample upper_;
  bool on_psi_ = true;
  bool bracketed_ = false;
  double last_width_;
  double width_before_last_;
  int iterations_ = 0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_LINE_SEARCH_H_
