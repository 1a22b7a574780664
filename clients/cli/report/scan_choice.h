// SPDX-License-Identifier: Apache-2.0
//
// The scans of a replay whose points a report shows: half of them evenly spread over the drive, the
// others those with the largest errors. Decided while the scans pass, so that no more of them are
// in memory than are shown. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_SCAN_CHOICE_H_
#define VOXLOC_CLIENTS_CLI_REPORT_SCAN_CHOICE_H_

#include <cstddef>
#include <vector>

#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

struct ChosenScan {
  size_t index = 0;  // of the scan in the drive
  double error_m = 0.0;
  PointCloud cloud;  // sensor frame
};

class ScanChoice {
 public:
  // Of a drive of `scans` scans, at most `most`. 0: none.
  ScanChoice(size_t scans, size_t most);

  // To be called once for each scan that has a pose, with the error of its position, metres.
  void Offer(size_t index, double error_m, const PointCloud& cloud);

  // In the order of the drive.
  [[nodiscard]] std::vector<ChosenScan> Take();

 private:
  [[nodiscard]] bool IsSpread(size_t index) const;

  size_t scans_;
  size_t spread_;  // how many are evenly spread
  size_t worst_;   // how many have the largest errors
  std::vector<ChosenScan> spread_scans_;
  std::vector<ChosenScan> worst_scans_;  // the smallest error first
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_SCAN_CHOICE_H_
