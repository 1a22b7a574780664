// SPDX-License-Identifier: Apache-2.0
//
// The text by which the store remembers how a map is built.

#include <string>

#include "server/maps/map_build.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzMapBuildText(absl::string_view bytes) {
  const auto request = server::MapBuildRequestFromText(std::string(bytes));
  if (!request.ok()) return request.status();
  const auto build = server::MakeMapBuild(*request, ProfileSet());
  if (!build.ok()) return build.status();
  FuzzRequire(!build->statistics.empty(), "a map has cells");
  const auto again = server::MapBuildRequestFromText(server::ToText(build->request));
  FuzzRequire(again.ok() && again->profiles == build->request.profiles &&
                  again->cell_size_m == build->request.cell_size_m,
              "a request comes back from its text");
  return absl::OkStatus();
}

}  // namespace voxloc
