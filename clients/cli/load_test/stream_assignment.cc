// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/stream_assignment.h"

namespace voxloc::cli {

StreamAssignment AssignStream(size_t stream, size_t streams, const std::vector<size_t>& drive_scans,
                              size_t maps) {
  const size_t drives = drive_scans.size();
  StreamAssignment assignment;
  assignment.drive = stream % drives;
  assignment.map = stream % maps;
  const size_t rank = stream / drives;
  const size_t sharing = (streams - assignment.drive + drives - 1) / drives;
  assignment.first_scan = rank * drive_scans[assignment.drive] / sharing;
  return assignment;
}

}  // namespace voxloc::cli
