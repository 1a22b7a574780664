// SPDX-License-Identifier: Apache-2.0
//
// What tracking has to say on the wire: diagnostics records, searches for lost vehicles.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_
#define VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_

#include "core/tracking/diagnostics.h"
#include "core/tracking/recovery_search.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

void DiagnosticsToProto(const Diagnostics& diagnostics, v1::Diagnostics& proto);

void RecoveryToProto(const RecoveryReport& report, bool applied, v1::RecoveryProposal& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_
