// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/list_maps.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/map.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kDefaultMaps = 100;
constexpr uint32_t kMostMaps = 1000;

}  // namespace

// The token of a page is the last name of the page before: names come and go between two pages, and
// none that stays is left out.
absl::Status ListMaps(const Runtime& runtime, const v1::ListMapsRequest& request,
                      v1::ListMapsResponse& response) {
  if (request.page_size() > kMostMaps) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size must be at most ", kMostMaps, " (got ", request.page_size(), ")"));
  }
  const int size = static_cast<int>(request.page_size() == 0 ? kDefaultMaps : request.page_size());
  for (const MapView& view : runtime.maps.List()) {
    if (!request.page_token().empty() && view.snapshot->name <= request.page_token()) continue;
    if (response.maps_size() == size) {
      response.set_next_page_token(response.maps(size - 1).name());
      break;
    }
    MapInfoToProto(view, *response.add_maps());
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
