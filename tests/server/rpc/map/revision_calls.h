// SPDX-License-Identifier: Apache-2.0
//
// Calls that change the revisions of the town, and what waits for a map.

#ifndef VOXLOC_TESTS_SERVER_RPC_MAP_REVISION_CALLS_H_
#define VOXLOC_TESTS_SERVER_RPC_MAP_REVISION_CALLS_H_

#include <string>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/support/eventually.h"

namespace voxloc::server {

inline grpc::Status Withdraw(TestServer& server, uint64_t revision) {
  v1::WithdrawRevisionRequest request;
  request.set_map("town");
  request.set_revision(revision);
  v1::WithdrawRevisionResponse response;
  return server.maps->WithdrawRevision(TestServer::NewContext().get(), request, &response);
}

// Adds a commit to what changes the map, and expects it to succeed.
inline UpdateOutcome Change(TestServer& server, std::vector<v1::UpdateMapTilesRequest> requests,
                            const v1::UpdateMapTilesRequest& commit = CommitRequest(),
                            const v1::UpdateMapTilesRequest& begin = BeginRequest("town")) {
  requests.insert(requests.begin(), begin);
  requests.push_back(commit);
  UpdateOutcome outcome = RunUpdate(server, requests);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  return outcome;
}

// Waits until the town is not being loaded any more.
inline void AwaitTown(TestServer& server) {
  EXPECT_TRUE(Eventually([&] {
    v1::GetMapRequest request;
    request.set_map("town");
    v1::GetMapResponse response;
    return server.maps->GetMap(TestServer::NewContext().get(), request, &response).ok();
  })) << "the map was not loaded";
}

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_RPC_MAP_REVISION_CALLS_H_
