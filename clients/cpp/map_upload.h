// SPDX-License-Identifier: Apache-2.0
//
// Uploads tiles to a map and commits them; starts a new transaction after a lost connection.
//
// Tiles are loaded one at a time and released once the server has them, so that memory holds only a
// few tiles at a time. A tile's points are sent only if the server does not have them (by their
// digest), so that retries and unchanged maps transfer only what is missing. Blocks; not
// thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_MAP_UPLOAD_H_
#define VOXLOC_CLIENTS_CPP_MAP_UPLOAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_transaction.h"

namespace voxloc::client {

// The side of the squares that a large cloud is cut into. Within the 20 to 100 m of Autoware's
// maps: 250,000 points at one each 0.1 m on flat ground.
constexpr double kTileSize_m = 50.0;
// No map is further from zero: UTM's northings end at 1e7 m.
constexpr double kMaxMapCoordinate_m = 1e7;

struct UploadTile {
  std::string id;
  // Returns the points in the map frame, the same at every call. Called to send them or to compute
  // their digest; an error ends the upload. A tile without points is skipped.
  std::function<absl::StatusOr<PointCloud>()> load;
  // If set, the points are loaded only if the server does not have them.
  std::optional<Sha256Digest> digest;
};

struct UploadProgress {
  size_t tiles = 0;  // that the server has in this transaction; approximate
  TransactionCounts counts;
  // Not OK: the error of a lost connection; the next transaction starts after `wait_s`.
  absl::Status broken;
  double wait_s = 0.0;
};

struct UploadOptions {
  // If begin.request_id is empty, a random one is used, so that a commit whose response was lost is
  // not repeated.
  TransactionOptions transaction;
  v1::CommitUpdate commit;
  // Transactions that fail with Unavailable are retried, at the next address of the channel if
  // there is one, provided that one has begun before. Progress resets the number of attempts.
  ReconnectOptions reconnect;
  // Called after every tile and every lost connection. May be empty.
  std::function<void(const UploadProgress&)> progress;
};

struct UploadResult {
  v1::UpdateCommitted committed;
  std::string request_id;
  TransactionCounts counts;  // of the transaction that was committed
  uint64_t bytes_sent = 0;   // of points, over all transactions
  int transactions = 1;
};

// The tiles become part of the map, all or none. Errors are the server's, a tile's `load`'s, and
// Unavailable where too many transactions in a row broke; then nothing has changed, unless the last
// one broke while it waited for its commit.
[[nodiscard]] absl::StatusOr<UploadResult> UploadTiles(const Channel& channel,
                                                       std::vector<UploadTile> tiles,
                                                       const UploadOptions& options);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_UPLOAD_H_
