// SPDX-License-Identifier: Apache-2.0
//
// Asks a server for what a report shows of single scans: the cells of the map around them, and the
// scores of their points.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_VIEW_SOURCE_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_VIEW_SOURCE_H_

#include <vector>

#include "clients/cli/replay/replay_results.h"
#include "clients/cli/report/pictures.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {

struct ScanViewSetting {
  v1::ScanSetup setup;      // as of the replay's session
  v1::Profile profile;      // in effect
  double timeout_s = 10.0;  // of each call; 0: no limit
};

// The chosen scans at their results. Data that the server denies, such as cells to a caller without
// map_read, is left out, and the views have the reason; after the first denial no further call is
// made. The rows of `chosen` must have poses.
[[nodiscard]] ScanViews ViewScans(const client::Channel& channel, const ScanViewSetting& setting,
                                  const std::vector<ChosenScan>& chosen,
                                  const std::vector<ReplayRow>& rows, const Pose& base_T_sensor);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_SCAN_VIEW_SOURCE_H_
