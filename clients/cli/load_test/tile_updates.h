// SPDX-License-Identifier: Apache-2.0
//
// Tiles of a map that are replaced while the streams of a load test drive: each in a transaction of
// its own, without one of its points, another one each time. Afterwards every tile is as it was.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_TILE_UPDATES_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_TILE_UPDATES_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/tally.h"
#include "clients/cpp/channel.h"
#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

// What became of the updates.
struct TileUpdateCounts {
  uint64_t due = 0;        // in the part of the run that has updates
  uint64_t committed = 0;  // of these, within that part
  uint64_t failed = 0;
  // In nanoseconds, of the committed ones: from the beginning of the transaction, and from the
  // request to commit it, to the answer.
  LogHistogram update;
  LogHistogram commit;
  std::map<std::string, uint64_t> problems;  // errors, and how often; the first few

  // Some are committed, and of those that were due at least 99 %, or all but one.
  [[nodiscard]] bool reached() const;
};

class TileUpdates {
 public:
  // Reads the tiles that will be replaced: as many as updates are due, chosen by the seed of the
  // plan's faults among those of all maps, or all. FailedPrecondition: no tile has two points;
  // ResourceExhausted: they take more than kMaxDriveBytes.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TileUpdates>> Read(const LoadPlan& plan);
  // Ends the updates. What Finish has not put back stays as it is.
  ~TileUpdates();
  TileUpdates(const TileUpdates&) = delete;
  TileUpdates& operator=(const TileUpdates&) = delete;

  // Begins to count the time of the run, once: `start_ns` of RunClock::Monotonic_ns.
  void Start(int64_t start_ns);

  // Ends the updates, which the end of the run does as well, and returns what became of them. Puts
  // the tiles back in one transaction of each map; an error names the map whose tiles are not back.
  [[nodiscard]] absl::StatusOr<TileUpdateCounts> Finish();

 private:
  struct Tile {
    std::string map;
    std::string id;
    PointCloud cloud_map;
    Sha256Digest digest;
    bool replaced = false;
  };

  TileUpdates(const LoadPlan& plan, client::Channel channel);

  [[nodiscard]] absl::Status ReadPoints();
  void End();
  void Run(const RunClock& clock);
  [[nodiscard]] absl::Status Replace(Tile& tile, const RunClock& clock);
  [[nodiscard]] absl::Status Restore(const std::string& map);

  const LoadPlan plan_;
  const client::Channel channel_;
  std::vector<Tile> tiles_;
  std::mt19937_64 points_;   // which of them is left out; other ones in every run
  TileUpdateCounts counts_;  // of the thread
  std::mutex mutex_;
  std::condition_variable end_requested_;
  bool ending_ = false;  // with the mutex
  std::thread thread_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_TILE_UPDATES_H_
