// SPDX-License-Identifier: Apache-2.0
//
// The cloud files that people name: those of a directory, the order in which they are paired with
// the lines of a file of poses, and how they are interpreted, in words.

#ifndef VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_
#define VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc {

// The paths of the files in `path` (not below it) whose names end as a cloud's does, in the numeric
// order of their names (natural_order.h: 2.pcd before 10.pcd); or `path` itself where it is such a
// file. NotFound when there is no such path; InvalidArgument when it holds no cloud, and what lies
// there instead.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListClouds(const std::string& path);

// Whether the name of file `a` comes before that of `b` in this order; an extension decides last.
[[nodiscard]] bool CloudNameLess(const std::string& a, const std::string& b);

// The order of `paths` in words, for people who pair them with poses: "in the numeric order of
// their names: 0.pcd, 1.pcd, 2.pcd, ... 11.pcd". InvalidArgument where the order is a matter of
// opinion: two names of a directory have the same numbers, decimal fractions of unequal width would
// come otherwise as numbers, or files that were named one by one are in the order of their bytes,
// as a shell expands *, and not in that of their numbers.
[[nodiscard]] absl::StatusOr<std::string> PairingOrder(const std::vector<std::string>& paths);

// What was assumed of files, and what looks wrong about them: a sentence each, without a full stop.
struct InputNotes {
  std::vector<std::string> remarks;
  std::vector<std::string> warnings;
};

// A line for each thing that the files' form does not settle alone: VIEWPOINT moves the points,
// and how long the records of .bin files are, of the first.
// Looks at the beginnings of all files. Those that cannot be read are passed over: reading them
// says why.
[[nodiscard]] std::vector<std::string> RemarksOnClouds(const std::vector<std::string>& paths,
                                                       const CloudReadOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_
