// SPDX-License-Identifier: Apache-2.0
//
// Scores as JSON. Pure function.

#ifndef VOXLOC_CLIENTS_CLI_SCORES_JSON_H_
#define VOXLOC_CLIENTS_CLI_SCORES_JSON_H_

#include "clients/cli/json_output.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

[[nodiscard]] inline Json ScoresJson(const v1::Scores& scores) {
  return {{"score", scores.score()},
          {"transform_probability", scores.transform_probability()},
          {"nvtl", scores.nvtl()},
          {"matched_ratio", scores.matched_ratio()}};
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_SCORES_JSON_H_
