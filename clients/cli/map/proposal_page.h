// SPDX-License-Identifier: Apache-2.0
//
// The page of a proposal: the tiles that are proposed and those beside them, with what joins the
// map and what leaves it, and the evidence of each.

#ifndef VOXLOC_CLIENTS_CLI_MAP_PROPOSAL_PAGE_H_
#define VOXLOC_CLIENTS_CLI_MAP_PROPOSAL_PAGE_H_

#include <map>
#include <memory>
#include <string>

#include "clients/cli/map/map_tiles.h"
#include "clients/cli/output/output.h"
#include "clients/cli/report/map_view.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

// `before`: the map without the proposal. `proposed`: by tile; of one that `before` has, points
// that stay have the bits that they had. `evidence`: as EvidenceJson or ExtensionJson gives it.
[[nodiscard]] MapView ProposalView(
    const MapTiles& before,
    const std::map<std::string, std::shared_ptr<const PointCloud>>& proposed, const Json& evidence);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_PROPOSAL_PAGE_H_
