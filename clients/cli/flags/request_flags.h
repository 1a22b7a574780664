// SPDX-License-Identifier: Apache-2.0
//
// The flags that say how scans are aligned (--override, --gate, --base-t-sensor, --vehicle), what
// is estimated beside a pose (--covariance, --sensor, --protection-risk, --no-confidence and the
// like), and what else results carry (--trace, --diagnostics, --point-scores, --no-ground-margin).

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "voxloc/v1/options.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct AlignmentFlags {
  std::vector<std::string> overrides;  // KEY=VALUE of v1::AlignmentOverrides
  std::vector<std::string> gate;       // KEY=VALUE of v1::GateOptions
  std::string base_T_sensor;           // X,Y,Z,ROLL,PITCH,YAW; empty: the scans are in base axes
  std::string vehicle;                 // empty: that of the setup stays

  // The flags were checked while the command line was read.
  void AddTo(v1::ScanSetup* setup) const;
};

void AddAlignmentFlags(CLI::App* command, AlignmentFlags* flags);

// Without --gate, for commands that accept no poses.
void AddScoringFlags(CLI::App* command, AlignmentFlags* flags);

struct EstimateFlags {
  std::string covariance;  // empty: the profile's
  bool no_confidence = false;
  // One value for all three axes; nullopt: the server's default.
  std::optional<double> systematic_position_sigma_m;
  std::optional<double> systematic_rotation_sigma_deg;
  std::optional<double> systematic_time_sigma_s;
  std::optional<double> systematic_skew_sigma_s;
  std::string sensor;                     // empty: the server's default
  std::optional<double> protection_risk;  // nullopt: no protection levels

  void AddTo(v1::AlignmentOptions* options, v1::OutputOptions* output) const;
};

void AddEstimateFlags(CLI::App* command, EstimateFlags* flags);

struct OutputFlags {
  bool trace = false;
  bool diagnostics = false;
  bool point_scores = false;
  std::optional<double> no_ground_margin_m;  // nullopt: no scores without the ground

  void AddTo(v1::OutputOptions* output) const;
};

void AddOutputFlags(CLI::App* command, OutputFlags* flags);

// These alone, for commands that offer nothing else.
void AddTraceFlag(CLI::App* command, bool* trace);
void AddDiagnosticsFlag(CLI::App* command, bool* diagnostics);
void AddPointScoresFlag(CLI::App* command, bool* point_scores);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_
