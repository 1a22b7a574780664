// SPDX-License-Identifier: Apache-2.0
//
// What the reports of drives count as accepted.

#ifndef VOXLOC_CLIENTS_CLI_ACCEPTED_H_
#define VOXLOC_CLIENTS_CLI_ACCEPTED_H_

#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

// Status OK, or DEGENERATE with a score over the threshold.
[[nodiscard]] inline bool CountsAsAccepted(const v1::AlignmentResult& result) {
  return result.status() == v1::ALIGNMENT_STATUS_OK ||
         (result.status() == v1::ALIGNMENT_STATUS_DEGENERATE && result.accepted());
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_ACCEPTED_H_
