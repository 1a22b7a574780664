// SPDX-License-Identifier: Apache-2.0
//
// Changes of a map, all or nothing: begin, add and remove tiles, commit.
//
// Tiles go out in chunks of at most 1 MiB (less where the server asks for less), each with its
// CRC32C, and several may be on their way before the first is acknowledged. Nothing of a
// transaction that is destroyed without Commit takes effect. For one thread. Every step that waits
// for the server does so for at most `timeout_s`; after an error every further step returns it.

#ifndef VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_
#define VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::client {

struct TransactionOptions {
  // Map, create, clear, base revision, options.
  v1::BeginUpdate begin;
  // For each step. 0: no limit.
  double timeout_s = 60.0;
  // Most bytes of points in a chunk; the server's own limit holds as well.
  size_t max_chunk_bytes = size_t{1} << 20;
};

class MapTransaction {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapTransaction>> Begin(
      const Channel& channel, const TransactionOptions& options);
  // Cancels what was not committed.
  ~MapTransaction();
  MapTransaction(const MapTransaction&) = delete;
  MapTransaction& operator=(const MapTransaction&) = delete;

  [[nodiscard]] const v1::UpdateBegun& begun() const;

  // Points in the map frame. Replaces the tile of the same id.
  [[nodiscard]] absl::Status AddTile(const std::string& tile_id, const PointCloud& cloud_map);

  [[nodiscard]] absl::Status RemoveTile(const std::string& tile_id);

  // Waits for every acknowledgement, then makes the changes the map's next revision.
  [[nodiscard]] absl::StatusOr<v1::UpdateCommitted> Commit(const std::string& comment);

  // Points that the server kept and dropped (not finite), over the tiles acknowledged so far.
  [[nodiscard]] uint64_t points_kept() const;
  [[nodiscard]] uint64_t points_not_finite() const;

 private:
  struct Impl;
  explicit MapTransaction(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_
