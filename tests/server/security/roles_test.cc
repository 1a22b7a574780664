// SPDX-License-Identifier: Apache-2.0
//
// Every role against every RPC, on a real server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/security/access_control.h"
#include "tests/server/plain_calls.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// By the contract's comments on Role (admin_service.proto), and not by the server's table.
const std::map<std::string, std::set<std::string>>& AllowedRpcs() {
  static const std::set<std::string> reading = {"GetMap",   "ListMaps", "ListTiles",    "GetTiles",
                                                "GetCells", "WatchMap", "ListRevisions"};
  static const auto* const allowed = [] {
    auto* const made = new std::map<std::string, std::set<std::string>>;
    std::set<std::string> writing = {"UpdateMapTiles",   "DeleteMap",        "UndeleteMap",
                                     "ActivateRevision", "WithdrawRevision", "SetCanary"};
    writing.insert(reading.begin(), reading.end());
    *made = {{"track", {"AlignScans", "AlignScan", "EstimateInitialPose"}},
             {"score", {"ScorePoses"}},
             {"map-read", reading},
             {"map-write", writing},
             {"admin",
              {"ListSessions", "GetConfig", "SetLogLevel", "Drain", "Undrain", "ListCaptures",
               "GetCapture"}}};
    for (auto& [role, rpcs] : *made) rpcs.insert("GetServerInfo");
    return made;
  }();
  return *allowed;
}

std::string AccessFile() {
  std::string text = "identities:\n";
  for (const auto& [role, rpcs] : AllowedRpcs()) {
    absl::StrAppend(&text, "  ", role, "-only:\n    roles: [", role, "]\n    token_sha256: [",
                    HashOf(role + " token"), "]\n");
  }
  return text;
}

TEST(Roles, EveryRoleMayMakeItsCallsAndNoOthers) {
  const TestFolder folder;
  TestServer server([&folder](Config& config) {
    config.access_file = folder.Write("access.yaml", AccessFile());
    config.audit_log = folder.Path("audit.log");
  });
  const auto channel = ChannelTo(server.server());
  std::vector<std::pair<std::string, std::string>> expected_audit;  // caller and method
  size_t let_in = 0;
  const auto try_all = [&](const std::string& caller, const std::string& authorization,
                           const std::set<std::string>& allowed, const std::string& reason) {
    for (const auto* const rpc : AllRpcs()) {
      SCOPED_TRACE(absl::StrCat(caller, " calls ", rpc->name()));
      const bool watches = rpc->name() == "WatchMap";  // which does not end by itself
      if (watches && allowed.count("WatchMap") != 0) {
        const auto context = TestServer::NewContext();
        context->AddMetadata("authorization", authorization);
        v1::WatchMapRequest request;
        const auto reader = server.maps->WatchMap(context.get(), request);
        context->TryCancel();
        v1::WatchMapResponse event;
        EXPECT_FALSE(reader->Read(&event));
        EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
        continue;
      }
      const grpc::Status status =
          CallByName(channel, PathOf(*rpc), *RequestOf(*rpc, "nowhere"), authorization).status;
      if (allowed.count(rpc->name()) != 0) {
        EXPECT_FALSE(IsDenial(status)) << status.error_message();
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
        ++let_in;
      } else {
        EXPECT_TRUE(IsDenial(status)) << status.error_code() << status.error_message();
        EXPECT_EQ(ReasonOf(status), reason) << status.error_message();
      }
      if (AllowedRpcs().at("map-write").count(rpc->name()) +
                  AllowedRpcs().at("admin").count(rpc->name()) ==
              1 &&
          AllowedRpcs().at("map-read").count(rpc->name()) == 0) {
        expected_audit.emplace_back(caller, rpc->name());
        const std::vector<std::string> lines =
            folder.AwaitLines("audit.log", expected_audit.size());
        ASSERT_EQ(lines.size(), expected_audit.size());
        EXPECT_THAT(
            lines.back(),
            AllOf(HasSubstr(absl::StrCat(" event=audit caller=", caller.empty() ? "\"\"" : caller,
                                         " peer=ipv4:127.0.0.1:")),
                  HasSubstr(absl::StrCat(" method=", rpc->name(), " ")),
                  HasSubstr(absl::StrCat(" code=", NameOfCode(status.error_code())))));
        // Of a known caller it is told what was to be changed.
        if (rpc->name() == "UpdateMapTiles" && reason == "ROLE_MISSING") {
          EXPECT_THAT(lines.back(), HasSubstr(" map=nowhere "));
        }
      }
    }
  };
  try_all("", "", {}, "CREDENTIALS_MISSING");
  try_all("", Bearer("a token of nobody"), {}, "CREDENTIALS_UNKNOWN");
  try_all("", "Basic dXNlcjpwYXNz", {}, "CREDENTIALS_UNKNOWN");
  try_all("", "Bearer ", {}, "CREDENTIALS_UNKNOWN");
  for (const char* role : {"track", "score", "map-read", "map-write", "admin"}) {
    try_all(absl::StrCat(role, "-only"), Bearer(absl::StrCat(role, " token")),
            AllowedRpcs().at(role), "ROLE_MISSING");
  }
  EXPECT_EQ(let_in, 4 + 2 + 7 + 13 + 8);
  for (const auto& [role, rpcs] : AllowedRpcs()) {
    EXPECT_THAT(folder.Read("audit.log"), testing::Not(HasSubstr(role + " token")));
  }
}

TEST(Roles, TheServersTableIsThatOfTheContract) {
  std::set<std::string> seen;
  for (size_t i = 0; i < kRpcMethods; ++i) {
    const auto method = static_cast<RpcMethod>(i);
    for (const Role role : kRoles) {
      EXPECT_EQ(Permits({role}, method),
                AllowedRpcs().at(std::string(ToString(role))).count(NameOf(method).method) != 0)
          << ToString(role) << " " << NameOf(method).method;
    }
    seen.insert(NameOf(method).method);
  }
  EXPECT_EQ(seen.size(), AllRpcs().size());
}

TEST(Roles, WithoutAnAccessFileEverybodyMayDoEverything) {
  TestServer server;
  v1::GetServerInfoResponse info;
  const auto context = TestServer::NewContext();
  context->AddMetadata("authorization", "Bearer whatever");
  ASSERT_TRUE(server.admin->GetServerInfo(context.get(), {}, &info).ok());
  EXPECT_EQ(info.caller(), "");
  EXPECT_THAT(info.caller_roles(),
              testing::ElementsAre(v1::ROLE_TRACK, v1::ROLE_SCORE, v1::ROLE_MAP_READ,
                                   v1::ROLE_MAP_WRITE, v1::ROLE_ADMIN));
  server.LoadTown();
}

TEST(Roles, CredentialsThatHaveExpiredAreRefused) {
  const TestFolder folder;
  TestServer server([&folder](Config& config) {
    config.access_file =
        folder.Write("access.yaml",
                     "identities:\n  old:\n    roles: [admin]\n    expires: 2001-01-01T00:00:00Z"
                     "\n    token_sha256: [" +
                         HashOf("old token") + "]\n");
  });
  const auto answer = CallByName(ChannelTo(server.server()), "voxloc.v1.AdminService/GetServerInfo",
                                 v1::GetServerInfoRequest(), Bearer("old token"));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(answer.status), "CREDENTIALS_EXPIRED");
}

TEST(Roles, HealthIsOpenAndReflectionOnlyWhereItIsAskedFor) {
  const TestFolder folder;
  const std::string access = folder.Write("access.yaml", AccessFile());
  for (const auto& [reflection, access_file, code] :
       {std::tuple{"auto", access, grpc::StatusCode::UNIMPLEMENTED},
        std::tuple{"true", access, grpc::StatusCode::OK},
        std::tuple{"auto", std::string(), grpc::StatusCode::OK},
        std::tuple{"false", std::string(), grpc::StatusCode::UNIMPLEMENTED}}) {
    SCOPED_TRACE(absl::StrCat(reflection, " ", access_file));
    TestServer server([&, setting = reflection, file = access_file](Config& config) {
      config.reflection = setting;
      config.access_file = file;
    });
    std::string response;
    EXPECT_TRUE(CallRaw(server, "/grpc.health.v1.Health/Check", "", &response).ok());
    EXPECT_EQ(CallRaw(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "",
                      &response)
                  .error_code(),
              code);
  }
}

}  // namespace
}  // namespace voxloc::server
