// SPDX-License-Identifier: Apache-2.0
//
// The flags that say how scans are aligned beside the profile: --override, --gate and
// --base-t-sensor.

#ifndef VOXLOC_CLIENTS_CLI_ALIGNMENT_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_ALIGNMENT_FLAGS_H_

#include <string>
#include <vector>

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

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_ALIGNMENT_FLAGS_H_
