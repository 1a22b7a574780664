// SPDX-License-Identifier: Apache-2.0
//
// A map service for tests of clients: revisions of one map in memory, contents by digest, kept also
// where a transaction broke. Checks what it gets by the contract, with its own reading of it. The
// connection can be made to break at chosen points. Thread-safe.

#ifndef VOXLOC_TESTS_CLIENTS_CPP_FAKE_MAPS_H_
#define VOXLOC_TESTS_CLIENTS_CPP_FAKE_MAPS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {

class FakeMaps {
 public:
  // Tiles by id; what they have are digests.
  using Tiles = std::map<std::string, std::string>;
  struct Revision {
    v1::MapRevision info;
    Tiles tiles;
  };

  // What has happened in all transactions.
  struct Record {
    int transactions = 0;
    int chunks = 0;
    int tiles_sent = 0;
    int reuses = 0;
    int missing = 0;
    v1::BeginUpdate begin;    // the last
    v1::CommitUpdate commit;  // the last
  };

  // Calls of it outlive neither the object nor the server.
  [[nodiscard]] FakeBehaviour Behaviour();

  // The next transaction breaks with UNAVAILABLE once it has got this many tiles with their points.
  void BreakAfterTiles(int tiles);
  // The next commit takes effect, and the connection breaks before it is answered.
  void LoseNextAnswer();
  // The next GetTiles breaks with UNAVAILABLE after this many tiles.
  void BreakGetTilesAfter(int tiles);
  // From now on GetTiles sends this tile with other points than it has.
  void DamageTile(const std::string& tile_id);

  [[nodiscard]] Record record() const;
  [[nodiscard]] std::vector<Revision> revisions() const;
  // Of the last revision.
  [[nodiscard]] Tiles tiles() const;

 private:
  struct Content {
    std::vector<double> origin;
    std::string data;  // float32 x y z
    uint64_t points = 0;
  };

  grpc::Status Update(FakeBehaviour::UpdateStream* stream);
  grpc::Status ListTiles(const v1::ListTilesRequest& request, v1::ListTilesResponse* response);
  grpc::Status GetTiles(const v1::GetTilesRequest& request, FakeBehaviour::TileStream* stream);
  const Revision* Find(uint64_t revision) const;
  v1::MapInfo InfoOf(const Revision& revision) const;
  uint64_t Commit(const v1::BeginUpdate& begin, const v1::CommitUpdate& commit, Tiles tiles);

  mutable std::mutex mutex_;
  std::map<std::string, Content> contents_;  // by digest
  std::vector<Revision> revisions_;
  std::map<std::string, uint64_t> committed_requests_;
  v1::MapOptions options_;
  v1::MapFrame frame_;
  Record record_;
  int break_after_tiles_ = -1;
  int break_get_after_ = -1;
  bool lose_next_answer_ = false;
  std::string damaged_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_TESTS_CLIENTS_CPP_FAKE_MAPS_H_
