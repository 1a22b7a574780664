// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/fleet_page.h"

#include "clients/cli/report/page.h"

namespace voxloc::cli {

std::string FleetHtml(const Json& fleet) { return PageWithData(FleetPage(), fleet); }

}  // namespace voxloc::cli
