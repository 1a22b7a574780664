// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/list_maps.h"

#include <vector>

#include "server/convert/map.h"
#include "server/rpc/support/page_size.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kDefaultMaps = 100;
constexpr uint32_t kMostMaps = 1000;

}  // namespace

// The token of a page is the last name of the page before: names come and go between two pages, and
// none that stays is left out.
absl::Status ListMaps(const Runtime& runtime, const CallAccess& access,
                      const v1::ListMapsRequest& request, v1::ListMapsResponse& response) {
  const auto size = PageSize(request.page_size(), kDefaultMaps, kMostMaps);
  if (!size.ok()) return size.status();
  const int most = static_cast<int>(*size);
  for (const MapView& view : runtime.maps.List()) {
    if (!access.Sees(view.snapshot->name)) continue;
    if (!request.page_token().empty() && view.snapshot->name <= request.page_token()) continue;
    if (response.maps_size() == most) {
      response.set_next_page_token(response.maps(most - 1).name());
      break;
    }
    MapInfoToProto(view, *response.add_maps());
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
