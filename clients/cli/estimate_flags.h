// SPDX-License-Identifier: Apache-2.0
//
// The flags that say what is wanted beside a pose: --covariance, --sensor, --protection-risk,
// --no-confidence and the like.

#ifndef VOXLOC_CLIENTS_CLI_ESTIMATE_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_ESTIMATE_FLAGS_H_

#include <optional>
#include <string>

#include "voxloc/v1/options.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

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

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_ESTIMATE_FLAGS_H_
