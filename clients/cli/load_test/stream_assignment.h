// SPDX-License-Identifier: Apache-2.0
//
// Which drive, which map and which place of the drive each stream of a load test begins with.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_ASSIGNMENT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_ASSIGNMENT_H_

#include <cstddef>
#include <vector>

namespace voxloc::cli {

struct StreamAssignment {
  size_t drive = 0;
  size_t map = 0;
  size_t first_scan = 0;  // of the drive
};

// Stream s has drive s modulo their number and map s modulo their number. The streams of one drive
// are spread evenly over its scans. `drive_scans`: how many scans each drive has, at least 1;
// `maps`: at least 1.
[[nodiscard]] StreamAssignment AssignStream(size_t stream, size_t streams,
                                            const std::vector<size_t>& drive_scans, size_t maps);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_ASSIGNMENT_H_
