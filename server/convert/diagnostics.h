// SPDX-License-Identifier: Apache-2.0
//
// What tracking has to say on the wire: diagnostics records, searches for lost vehicles.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_
#define VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_

#include "core/tracking/diagnostics.h"
#include "core/tracking/pose_proposal.h"
#include "core/tracking/proposal_check.h"
#include "core/tracking/recovery_search.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

void DiagnosticsToProto(const Diagnostics& diagnostics, v1::Diagnostics& proto);

// A search, or a look at a pose that was found before; and what it came to.
void SearchToProto(const RecoveryReport& report, v1::RecoveryProposal& proto);
void CheckToProto(const ProposalCheck& check, v1::RecoveryProposal& proto);
void OutcomeToProto(const RecoveryOutcome& outcome, v1::RecoveryProposal& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_DIAGNOSTICS_H_
