// SPDX-License-Identifier: Apache-2.0
//
// Maps: listing, describing and deleting them, their revisions and their tiles. map_upload.h and
// map_transaction.h change them, map_watch.h follows them. Thread-safe; every call blocks until the
// answer or its deadline, `timeout_s` from now (0: none). Errors are the server's, with its name
// and the call in the message.

#ifndef VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::client {

// Takes a tile with its points in the map frame; an error ends the call with it.
using TileReceiver = std::function<absl::Status(const v1::TileInfo& tile, PointCloud cloud_map)>;

// Takes a part of the cells of a region; an error ends the call with it.
using CellReceiver = std::function<absl::Status(const v1::GetCellsResponse& part)>;

// Tiles that a call of GetTiles should ask for: few enough that it is soon over, of the 10,000 that
// it may.
inline constexpr int kTilesACall = 1000;

class MapClient {
 public:
  explicit MapClient(Channel channel) : channel_(std::move(channel)) {}

  // All maps by name, page after page.
  [[nodiscard]] absl::StatusOr<std::vector<v1::MapInfo>> List(double timeout_s) const;

  // NotFound: no such map.
  [[nodiscard]] absl::StatusOr<v1::MapInfo> Get(const std::string& map, double timeout_s) const;

  // The tiles of a map, those that touch `region` where it is set, page after page in one answer.
  // `request` has map, region and revision; its page size and token are not used. Aborted: the map
  // changed in the meantime. NotFound: no such map, or the revision is not kept.
  [[nodiscard]] absl::StatusOr<v1::ListTilesResponse> ListTiles(const v1::ListTilesRequest& request,
                                                                double timeout_s) const;

  // Hands tiles with their points to `receive`, one after another in ascending order of their ids'
  // bytes, and returns the revision that they are of. At most one tile is in memory here.
  // `timeout_s` holds for each message. DataLoss: the points of a tile do not have its digest, or
  // are damaged on the server; the message names it.
  [[nodiscard]] absl::StatusOr<uint64_t> GetTiles(const v1::GetTilesRequest& request,
                                                  const TileReceiver& receive,
                                                  double timeout_s) const;

  // Hands the cells of a region to `receive`, part after part, and returns the revision that they
  // are of. `timeout_s` holds for each message. NotFound: no such map, profile or stage.
  // FailedPrecondition: the map does not serve the profile.
  [[nodiscard]] absl::StatusOr<uint64_t> GetCells(const v1::GetCellsRequest& request,
                                                  const CellReceiver& receive,
                                                  double timeout_s) const;

  // The revisions that the server keeps, ascending. NotFound: no such map.
  [[nodiscard]] absl::StatusOr<std::vector<v1::MapRevision>> ListRevisions(const std::string& map,
                                                                           double timeout_s) const;

  // Activates a staged revision for all vehicles. Aborted: another one has been activated since it
  // was created. FailedPrecondition: it was withdrawn, or is no longer active.
  [[nodiscard]] absl::StatusOr<v1::MapInfo> Activate(const std::string& map, uint64_t revision,
                                                     double timeout_s) const;

  // Withdraws a staged revision. FailedPrecondition: it was activated.
  [[nodiscard]] absl::StatusOr<v1::MapRevision> Withdraw(const std::string& map, uint64_t revision,
                                                         double timeout_s) const;

  // Sets the vehicles that use a staged revision; replaces the previous list. FailedPrecondition:
  // it is not staged.
  [[nodiscard]] absl::StatusOr<v1::MapRevision> SetCanary(const std::string& map, uint64_t revision,
                                                          const std::vector<std::string>& vehicles,
                                                          double timeout_s) const;

  // Deletes a map; returns its last revision. NotFound: no such map. Aborted: not at `revision` (0:
  // any). FailedPrecondition: `unless_in_use`, and sessions of the server use it.
  [[nodiscard]] absl::StatusOr<uint64_t> Drop(const std::string& map, uint64_t revision,
                                              double timeout_s, bool unless_in_use = false) const;

  // Restores the last deleted map of this name, within a day of its deletion. NotFound: there is
  // none to restore. AlreadyExists: there is a map of this name.
  [[nodiscard]] absl::StatusOr<v1::MapInfo> Undrop(const std::string& map, double timeout_s) const;

 private:
  Channel channel_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_
