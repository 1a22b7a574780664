// SPDX-License-Identifier: Apache-2.0
//
// The trial of a staged revision of a map: what its vehicles were answered on it, beside what the
// same vehicles were answered on the revision that they used before. Values and pure functions.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_REVISION_TRIAL_H_
#define VOXLOC_CLIENTS_CLI_FLEET_REVISION_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::cli {

struct RevisionTrial {
  uint64_t revision = 0;
  size_t vehicles = 0;  // that have used another revision before
  // Of these vehicles; `revision` is not set in `before`.
  v1::RevisionAnswers before;
  v1::RevisionAnswers after;
};

// Adds the counts, and weighs the means by them.
void AddAnswers(const v1::RevisionAnswers& more, v1::RevisionAnswers& sum);

// By the sessions on the map that used `revision` last.
[[nodiscard]] RevisionTrial TrialOf(uint64_t revision,
                                    const std::vector<const v1::SessionInfo*>& sessions);

// By which a staged revision may be put in use without a person's judgement.
struct TrialRule {
  uint64_t min_scans = 1000;  // answers of its vehicles, on either revision
  // How much worse a mean may be: score and innovation in percent, the shares accepted, explained
  // and seen through in hundredths. As much as the alert VoxlocCanaryWorse allows.
  double tolerance_percent = 5.0;
};

// What is wrong with the trial by the rule, in words with figures; empty: nothing.
[[nodiscard]] std::vector<std::string> FindFaults(const RevisionTrial& trial,
                                                  const TrialRule& rule);

// `revision`, `vehicles`, and `before` and `after` with `answered`, `accepted_ratio`, `nvtl`,
// `confidence`, `innovation`, `sharp_ratio` and `seen_through_ratio`, null where none has it.
[[nodiscard]] Json TrialJson(const RevisionTrial& trial);

// The same as cells of a table: scans, accepted, score, innovation, explained, through.
[[nodiscard]] std::vector<std::string> TrialCells(const v1::RevisionAnswers& answers);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_REVISION_TRIAL_H_
