// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output_flags.h"

#include <CLI/CLI.hpp>

namespace voxloc::cli {

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
  command
      ->add_option("--no-ground-margin", flags->no_ground_margin_m,
                   "Report also the scores of the points more than M metres above the result's "
                   "position, finite; Autoware has 0.8")
      ->option_text("M");
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
