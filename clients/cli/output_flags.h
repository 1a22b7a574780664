// SPDX-License-Identifier: Apache-2.0
//
// The flags that ask for more than a pose and its estimates: --trace, --diagnostics, --point-scores
// and --no-ground-margin.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_FLAGS_H_

#include <optional>

#include "voxloc/v1/options.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

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

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_FLAGS_H_
