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
// opinion: two names of a directory have the same numbers, decimal fractions of different width
// would be ordered differently as numbers, or the files given one by one are in byte order, as from
// a shell's *, and not in numeric order.
[[nodiscard]] absl::StatusOr<std::string> PairingOrder(const std::vector<std::string>& paths);

// What was assumed of files, and what looks wrong about them: a sentence each, without a full stop.
struct InputNotes {
  std::vector<std::string> remarks;
  std::vector<std::string> warnings;
};

// Notes on how ambiguous files are interpreted: that VIEWPOINT moves the points, and the record
// size of the first .bin file. Reads the headers of all files; unreadable ones are skipped and
// reported when they are loaded.
[[nodiscard]] std::vector<std::string> DescribeClouds(const std::vector<std::string>& paths,
                                                      const CloudReadOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SCAN_DIRECTORY_H_
