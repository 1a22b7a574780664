// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/calibration_report.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace voxloc::cli {
namespace {

using Axes = std::array<IntervalEstimate, 3>;

void Replace(const Axes& estimates, double distance_m, const std::string& origin,
             CalibratedConstant<Eigen::Vector3d>& constant) {
  const Eigen::Vector3d upper(estimates[0].high, estimates[1].high, estimates[2].high);
  if (distance_m >= kLongDistanceM) {
    constant = {upper, origin};
  } else if ((upper.array() > constant.value.array()).any()) {
    constant = {upper.cwiseMax(constant.value),
                absl::StrCat(origin, "; where that is less: ", constant.origin)};
  }
}

std::string LagText(const LagSummary& lag) {
  return absl::StrFormat("%d pairs of scans %.3g m apart", lag.pairs, lag.distance_m);
}

std::string SpeedText(const SystematicEstimate& estimates) {
  return absl::StrFormat("%.3g and %.3g m/s", estimates.slow_m_s, estimates.fast_m_s);
}

Json EstimatedJson(const IntervalEstimate& estimated) {
  return {{"value", estimated.value}, {"low", estimated.low}, {"high", estimated.high}};
}

class ResultTable {
 public:
  void Add(const std::string& name, const IntervalEstimate& estimated, double factor,
           double written) {
    table_.AddRow(
        {name, Number(factor * estimated.value),
         absl::StrCat(Number(factor * estimated.low), " to ", Number(factor * estimated.high)),
         Number(factor * written)});
  }
  void AddAxes(const std::string& name, const Axes& axes, double factor,
               const Eigen::Vector3d& written) {
    for (size_t i = 0; i < 3; ++i) {
      Add(absl::StrCat(name, " ", std::string(1, "xyz"[i])), axes[i], factor,
          written[static_cast<Eigen::Index>(i)]);
    }
  }
  [[nodiscard]] std::string Text() const { return table_.Text(); }

 private:
  static std::string Number(double value) { return absl::StrFormat("%.3g", value); }

  TextTable table_{"|>estimate|>90 % interval|>written"};
};

}  // namespace

SensorCalibration ApplyEstimate(const CalibrationEstimate& estimates, SensorCalibration known) {
  const SystematicEstimate& systematic = estimates.systematic;
  const auto origin = [&estimates](absl::string_view of) {
    return absl::StrCat("upper end of the 90 % interval of voxloc calibrate: ", of, "; ",
                        estimates.drive);
  };
  Replace(systematic.position_sigma_m, systematic.position_distance_m,
          origin(LagText(systematic.lags[systematic.position_lag])), known.position_sigma_m);
  Replace(systematic.rotation_sigma_rad, systematic.rotation_distance_m,
          origin(LagText(systematic.lags[systematic.rotation_lag])), known.rotation_sigma_rad);

  if (systematic.time_sigma_s.has_value()) {
    const std::string pairs = origin(absl::StrCat("pairs at ", SpeedText(systematic)));
    known.time_sigma_s = {systematic.time_sigma_s->high, pairs};
    known.skew_sigma_s = {systematic.skew_sigma_s->high, pairs};
  }
  if (estimates.scan_part_factor.has_value() && estimates.scan_part_factor->low > 1.0) {
    known.scan_scale = {estimates.scan_part_factor->value,
                        absl::StrCat("voxloc calibrate: halves of ", estimates.halves, " scans; ",
                                     estimates.drive)};
  }
  return known;
}

std::string CalibrationText(const CalibrationEstimate& estimates,
                            const SensorCalibration& written) {
  const SystematicEstimate& systematic = estimates.systematic;
  std::string text = absl::StrFormat("%d scans, %d accepted, %d of them observe all axes\n\n",
                                     estimates.scans, estimates.accepted, estimates.observed);
  TextTable lags(">scans apart|>m|>pairs|>position x y z, mm|>rotation x y z, mrad");
  for (const LagSummary& lag : systematic.lags) {
    const Eigen::Vector3d position = 1e3 * lag.position_sigma_m;
    const Eigen::Vector3d rotation = 1e3 * lag.rotation_sigma_rad;
    lags.AddRow({absl::StrCat(lag.scans), absl::StrFormat("%.2f", lag.distance_m),
                 absl::StrCat(lag.pairs),
                 lag.reliable_for_position
                     ? absl::StrFormat("%.1f %.1f %.1f", position.x(), position.y(), position.z())
                     : "too far",
                 absl::StrFormat("%.2f %.2f %.2f", rotation.x(), rotation.y(), rotation.z())});
  }
  absl::StrAppend(&text, "What answers differ by beyond their scan part and the odometry:\n",
                  lags.Text(), "\n");
  ResultTable results;
  results.AddAxes("position sigma, mm,", systematic.position_sigma_m, 1e3,
                  written.position_sigma_m.value);
  results.AddAxes("rotation sigma, mrad,", systematic.rotation_sigma_rad, 1e3,
                  written.rotation_sigma_rad.value);
  if (systematic.time_sigma_s.has_value()) {
    results.Add("time sigma, ms", *systematic.time_sigma_s, 1e3, written.time_sigma_s.value);
    results.Add("skew sigma, ms", *systematic.skew_sigma_s, 1e3, written.skew_sigma_s.value);
  }
  if (estimates.scan_part_factor.has_value()) {
    results.Add("scan part, factor", *estimates.scan_part_factor, 1.0, written.scan_scale.value);
  }
  absl::StrAppend(&text, results.Text(), "\n");
  if (std::min(systematic.position_distance_m, systematic.rotation_distance_m) < kLongDistanceM) {
    absl::StrAppendFormat(&text,
                          "Answers were compared over %.3g m (position) and %.3g m "
                          "(rotation). Below %.3g m, sigmas are not made smaller.\n",
                          systematic.position_distance_m, systematic.rotation_distance_m,
                          kLongDistanceM);
  }
  if (!systematic.time_sigma_s.has_value()) {
    absl::StrAppend(&text, "This drive does not determine the time and the skew: half of it is at ",
                    SpeedText(systematic),
                    " in the median, and the faster half must have 1 m/s and 1.5 times the speed "
                    "of the slower. They stay as they were.\n");
  }
  if (!estimates.scan_part_factor.has_value()) {
    absl::StrAppend(&text, "The scan part could not be judged: no scan had two accepted halves.\n");
  }
  absl::StrAppend(&text,
                  "What all scans have in common (a wrong mount, a constant delay, a map that is "
                  "displaced as a whole)\ncannot be seen in any drive: configure it, see "
                  "docs/operations.md.\n");
  return text;
}

Json CalibrationJson(const CalibrationEstimate& estimates) {
  const SystematicEstimate& systematic = estimates.systematic;
  Json lags = Json::array();
  for (const LagSummary& lag : systematic.lags) {
    lags.push_back({{"scans", lag.scans},
                    {"pairs", lag.pairs},
                    {"way_m", lag.distance_m},
                    {"position_sigma_m", VectorJson(lag.position_sigma_m)},
                    {"rotation_sigma_rad", VectorJson(lag.rotation_sigma_rad)}});
  }
  const auto optional = [](const std::optional<IntervalEstimate>& estimated) {
    return estimated.has_value() ? EstimatedJson(*estimated) : Json(nullptr);
  };
  return {{"drive", estimates.drive},
          {"scans", estimates.scans},
          {"accepted", estimates.accepted},
          {"observed", estimates.observed},
          {"halves", estimates.halves},
          {"lags", lags},
          {"position_sigma_m", ListJson(systematic.position_sigma_m, &EstimatedJson)},
          {"rotation_sigma_rad", ListJson(systematic.rotation_sigma_rad, &EstimatedJson)},
          {"time_sigma_s", optional(systematic.time_sigma_s)},
          {"skew_sigma_s", optional(systematic.skew_sigma_s)},
          {"scan_part_factor", optional(estimates.scan_part_factor)}};
}

}  // namespace voxloc::cli
