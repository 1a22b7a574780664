// SPDX-License-Identifier: Apache-2.0
//
// Profiles on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_PROFILE_H_
#define VOXLOC_SERVER_CONVERT_PROFILE_H_

#include "core/engine/profile.h"
#include "voxloc/v1/options.pb.h"

namespace voxloc::server {

void ProfileToProto(const Profile& profile, v1::Profile& proto);
void StageToProto(const Stage& stage, v1::ProfileStage& proto);
void CellStatisticsToProto(const CellStatistics& statistics, v1::CellStatistics& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_PROFILE_H_
