// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/delete_map.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/map/map_name.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// Of the sessions in the message.
constexpr size_t kNamedVehicles = 3;

absl::Status CheckUnused(const Runtime& runtime, const std::string& map) {
  const auto wanted = [&map](const std::string& of_session) { return of_session == map; };
  const auto sessions = runtime.sessions.List(0, wanted, runtime.sessions.open());
  if (sessions.empty()) return absl::OkStatus();
  std::vector<std::string> vehicles;
  for (const auto& [number, facts] : sessions) {
    if (vehicles.size() == kNamedVehicles) break;
    vehicles.push_back(facts.vehicle.empty() ? "one without a name" : facts.vehicle);
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          sessions.size(), sessions.size() == 1 ? " session uses" : " sessions use", " map \"", map,
          "\": ", absl::StrJoin(vehicles, ", "), sessions.size() > vehicles.size() ? ", ..." : "")),
      "MAP_IN_USE", {{"map", map}, {"sessions", absl::StrCat(sessions.size())}});
}

}  // namespace

absl::Status DeleteMap(Runtime& runtime, const v1::DeleteMapRequest& request,
                       v1::DeleteMapResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  if (request.unless_in_use()) {
    if (absl::Status status = CheckUnused(runtime, request.map()); !status.ok()) return status;
  }
  auto revision = runtime.library.Delete(request.map(), request.revision());
  if (!revision.ok()) return revision.status();
  runtime.tile_fits.Forget(request.map());
  response.set_revision(*revision);
  Log(LogLevel::kInfo, "map_deleted", {{"map", request.map()}, {"revision", *revision}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
