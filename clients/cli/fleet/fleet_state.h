// SPDX-License-Identifier: Apache-2.0
//
// A fleet at one time, as its servers describe it: vehicles, maps, and which vehicles run which
// revision; and how it is shown. Values and pure functions; the servers' answers are as they came,
// and only FleetText escapes them.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_STATE_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/fleet/revision_trial.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// Scans over an interval of time.
struct FleetScans {
  uint64_t answered = 0;
  uint64_t accepted = 0;
  double rate_per_s = 0.0;  // of answers

  void Add(const FleetScans& more);
  // nullopt: no scan was answered.
  [[nodiscard]] std::optional<double> accepted_ratio() const;
};

// A session; a vehicle has one at a time.
struct FleetVehicle {
  v1::SessionInfo session;
  // Since the previous poll, or since the session was opened.
  FleetScans recent;
  // Since its last answer, by the server's clock, seconds. nullopt: none yet.
  std::optional<double> silent_s;
};

struct FleetMap {
  v1::MapInfo info;
  std::vector<v1::MapRevision> revisions;  // ascending
  absl::Status revisions_status;           // not OK: `revisions` is empty
  std::vector<v1::TileInfo> worst_tiles;   // those that seem to have changed the most, worst first
  // All tiles. Null: they were not asked for, or not answered.
  std::shared_ptr<const v1::ListTilesResponse> tiles;
  absl::Status tiles_status;  // not OK: `worst_tiles` is empty
};

struct FleetServer {
  std::string address;
  absl::Status status;  // not OK: it did not answer, and nothing else is known
  v1::GetServerInfoResponse info;
  std::vector<FleetVehicle> vehicles;
  absl::Status sessions_status;  // not OK: `vehicles` is empty
  std::vector<FleetMap> maps;    // by name
  absl::Status maps_status;      // not OK: `maps` is empty
};

struct FleetState {
  int64_t taken_at_ns = 0;           // nanoseconds since the Unix epoch, by this machine's clock
  std::vector<FleetServer> servers;  // in the order in which they were named
};

struct FleetTotals {
  size_t answering_servers = 0;
  size_t vehicles = 0;
  FleetScans recent;
};
[[nodiscard]] FleetTotals TotalsOf(const FleetState& fleet);

// What went wrong, in the order of the servers; the messages name the server and the call.
[[nodiscard]] std::vector<absl::Status> FleetErrors(const FleetState& fleet);

// By the vehicles on the map of all servers.
[[nodiscard]] RevisionTrial TrialOnAll(const FleetState& fleet, const std::string& map,
                                       uint64_t revision);

// docs/cli.md describes every key.
[[nodiscard]] Json FleetJson(const FleetState& fleet);

// Of each map of each server: `server`, `name`, `tiles_of` (how many it has), and `tiles`: lowest x
// and y, highest x and y, metres, rounded to 0.1 m, and how much seems to have changed, 0 to 1
// (null: not known). At most 20,000 tiles of a map; those without points are left out.
[[nodiscard]] Json FleetTilesJson(const FleetState& fleet);

struct FleetTextOptions {
  size_t max_columns = 0;  // of a line; 0: no limit
  size_t max_rows = 20;    // vehicles, and tiles, that are shown; the others are counted
};

// A line of totals, the errors, and the tables: servers, revisions of maps, vehicles (those that
// need attention first), tiles. What comes from the network is made safe for a terminal.
[[nodiscard]] std::string FleetText(const FleetState& fleet, const FleetTextOptions& options);

// At most `max_lines` lines of it, the last of which then says how many more there are.
[[nodiscard]] std::string FirstLines(const std::string& text, size_t max_lines);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_STATE_H_
