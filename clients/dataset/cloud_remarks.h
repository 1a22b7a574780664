// SPDX-License-Identifier: Apache-2.0
//
// How cloud files are interpreted, in words, for the people who gave them.

#ifndef VOXLOC_CLIENTS_DATASET_CLOUD_REMARKS_H_
#define VOXLOC_CLIENTS_DATASET_CLOUD_REMARKS_H_

#include <string>
#include <vector>

#include "core/cloud/io/cloud_file.h"

namespace voxloc {

// What was assumed of files, and what looks wrong about them: a sentence each, without a full stop.
struct InputNotes {
  std::vector<std::string> remarks;
  std::vector<std::string> doubts;
};

// A line for each thing that the files' form does not settle alone: VIEWPOINT moves the points,
// and how long the records of .bin files are, of the first.
// Looks at the beginnings of all files. Those that cannot be read are passed over: reading them
// says why.
[[nodiscard]] std::vector<std::string> RemarksOnClouds(const std::vector<std::string>& paths,
                                                       const CloudReadOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_CLOUD_REMARKS_H_
