// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/request_flags.h"

#include <CLI/CLI.hpp>
#include <map>

#include "clients/cli/flags/option.h"
#include "clients/cli/flags/value_flag.h"
#include "clients/cpp/messages.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {
namespace {

const std::map<std::string, v1::CovarianceMethod>& Methods() {
  static const auto& methods = *new std::map<std::string, v1::CovarianceMethod>{
      {"fixed", v1::COVARIANCE_METHOD_FIXED},
      {"laplace", v1::COVARIANCE_METHOD_LAPLACE},
      {"multi-ndt", v1::COVARIANCE_METHOD_MULTI_NDT},
      {"multi-ndt-score", v1::COVARIANCE_METHOD_MULTI_NDT_SCORE},
      {"calibrated", v1::COVARIANCE_METHOD_CALIBRATED}};
  return methods;
}

}  // namespace

void AlignmentFlags::AddTo(v1::ScanSetup* setup) const {
  if (!overrides.empty()) SetFields(overrides, setup->mutable_options()->mutable_overrides());
  if (!gate.empty()) SetFields(gate, setup->mutable_options()->mutable_gate());
  if (!vehicle.empty()) setup->set_vehicle(vehicle);
  if (base_T_sensor.empty()) return;
  if (const absl::StatusOr<Pose> mount = ParsePoseText(base_T_sensor); mount.ok()) {
    client::EncodePose(*mount, setup->mutable_base_t_sensor());
  }
}

void AddAlignmentFlags(CLI::App* command, AlignmentFlags* flags) {
  AddScoringFlags(command, flags);
  AddFieldFlag(command, "--gate",
               "Replace a limit that decides whether a result is accepted, SI units",
               v1::GateOptions::default_instance(), &flags->gate);
}

void AddScoringFlags(CLI::App* command, AlignmentFlags* flags) {
  AddFieldFlag(command, "--override", "Replace a value of the profile's stages, SI units",
               v1::AlignmentOverrides::default_instance(), &flags->overrides);
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle by this pose, metres and degrees, ROS angles; "
              "default: the scans are in base axes",
              &flags->base_T_sensor);
  AddOption(command, "--vehicle", flags->vehicle, "NAME",
            "Tell the server this name of the vehicle, which may decide what the caller may do; "
            "default: the command's own name");
}

void EstimateFlags::AddTo(v1::AlignmentOptions* options, v1::OutputOptions* output) const {
  if (!covariance.empty()) options->mutable_covariance()->set_method(Methods().at(covariance));
  if (!sensor.empty()) options->set_sensor(sensor);
  if (systematic_time_sigma_s) {
    options->mutable_covariance()->mutable_systematic_time_sigma_s()->set_value(
        *systematic_time_sigma_s);
  }
  if (systematic_skew_sigma_s) {
    options->mutable_covariance()->mutable_systematic_skew_sigma_s()->set_value(
        *systematic_skew_sigma_s);
  }
  if (no_confidence) output->set_no_confidence(true);
  if (protection_risk) output->mutable_protection()->mutable_risk()->set_value(*protection_risk);
  for (int axis = 0; axis < 3; ++axis) {
    if (systematic_position_sigma_m) {
      options->mutable_covariance()->add_systematic_position_sigma_m(*systematic_position_sigma_m);
    }
    if (systematic_rotation_sigma_deg) {
      options->mutable_covariance()->add_systematic_rotation_sigma_rad(
          *systematic_rotation_sigma_deg * kRadiansPerDegree);
    }
  }
}

void AddEstimateFlags(CLI::App* command, EstimateFlags* flags) {
  AddOptional(command, "--covariance", flags->covariance, "M",
              "Estimate the covariance by fixed, laplace, multi-ndt, multi-ndt-score or "
              "calibrated; default: the profile's method")
      ->check(CLI::IsMember(Methods()));
  AddOptional(command, "--systematic-position", flags->systematic_position_sigma_m, "M",
              "Add errors of this standard deviation that scans share (map, mounting, time) to "
              "the calibrated covariance, along each axis of the base, m (0 to 100); default: "
              "the sensor's, 0.04")
      ->check(CLI::Range(0.0, 100.0));
  AddOptional(command, "--systematic-rotation", flags->systematic_rotation_sigma_deg, "DEG",
              "Add the same about each axis of the base, deg (0 to 180); default: the "
              "sensor's, 0.2")
      ->check(CLI::Range(0.0, 180.0));
  AddOptional(command, "--protection-risk", flags->protection_risk, "P",
              "Compute distances that the position's error exceeds with at most this "
              "probability (over 0, below 1), even if one cluster of points is wrong; needs "
              "the calibrated covariance")
      ->check(CLI::Range(0.0, 1.0));
  AddOptional(command, "--systematic-time", flags->systematic_time_sigma_s, "S",
              "Add errors of the time of scans: what the base moves in so many seconds (0 to "
              "10); default: the sensor's, 0.02")
      ->check(CLI::Range(0.0, 10.0));
  AddOptional(command, "--systematic-skew", flags->systematic_skew_sigma_s, "S",
              "Add errors of sweeps that are not deskewed: the base's speed for so many seconds "
              "in all directions (0 to 10); default: the sensor's, 0.01")
      ->check(CLI::Range(0.0, 10.0));
  AddOptional(command, "--sensor", flags->sensor, "NAME",
              "Use the server's calibration of this sensor; `voxloc info` lists them; default: "
              "default");
  command->add_flag("--no-confidence", flags->no_confidence,
                    "Do not compute the confidence, which saves time");
}

void OutputFlags::AddTo(v1::OutputOptions* output) const {
  if (trace) output->set_trace(true);
  if (diagnostics) output->set_diagnostics(true);
  if (point_scores) {
    output->set_point_scores(true);
    output->set_aligned_cloud(true);  // which points they are of
  }
  if (no_ground_margin_m) output->mutable_no_ground()->set_z_margin_m(*no_ground_margin_m);
}

void AddOutputFlags(CLI::App* command, OutputFlags* flags) {
  AddTraceFlag(command, &flags->trace);
  AddDiagnosticsFlag(command, &flags->diagnostics);
  AddPointScoresFlag(command, &flags->point_scores);
  AddOptional(command, "--no-ground-margin", flags->no_ground_margin_m, "M",
              "Report also the scores of the points more than M metres above the result's "
              "position, finite; Autoware has 0.8");
}

void AddTraceFlag(CLI::App* command, bool* trace) {
  command->add_flag("--trace", *trace, "Report every Newton step of the alignment");
}

void AddDiagnosticsFlag(CLI::App* command, bool* diagnostics) {
  command->add_flag("--diagnostics", *diagnostics,
                    "Report Autoware's checks: level, message and values of scan_matching_status");
}

void AddPointScoresFlag(CLI::App* command, bool* point_scores) {
  command->add_flag("--point-scores", *point_scores,
                    "Write every point that was used, and its score, to the JSON");
}

}  // namespace voxloc::cli
