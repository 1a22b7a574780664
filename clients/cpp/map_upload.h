// SPDX-License-Identifier: Apache-2.0
//
// Tiles brought into a map until they are committed: a transaction that begins anew where the
// connection breaks.
//
// Each tile is loaded when its turn comes and let go once the server has it, so that memory holds a
// few tiles whatever the size of the map. The server is asked first whether it has a tile's points
// (by their digest), and they are sent only if not: an upload that begins anew, and a map that has
// not changed, send only what is missing. Blocks; for one thread.

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

struct UploadTile {
  std::string id;
  // Points in the map frame, the same at every call. Called when they are to be sent, or to learn
  // their digest; its error ends the upload. A tile without points is left out.
  std::function<absl::StatusOr<PointCloud>()> load;
  // Where it is known already; the points are then loaded only if the server does not have them.
  std::optional<Sha256Digest> digest;
};

struct UploadProgress {
  size_t tiles = 0;  // that the server has in this transaction, about
  TransactionCounts counts;
  // Not OK: the connection broke for this reason, and the next transaction begins after `wait_s`.
  absl::Status broken;
  double wait_s = 0.0;
};

struct UploadOptions {
  // Where begin.request_id is empty one is made up, so that a commit whose answer was lost is not
  // done twice.
  TransactionOptions transaction;
  v1::CommitUpdate commit;
  // Transactions that break with Unavailable are begun anew, once one has begun, with the next
  // address of the channel where there is one; where tiles were sent in between, the count of
  // attempts starts from the beginning.
  ReconnectOptions reconnect;
  // Called for every tile, and where the connection broke. May be empty.
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
