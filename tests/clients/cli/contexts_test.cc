// SPDX-License-Identifier: Apache-2.0
//
// Contexts of servers: their file, which of several ways to name a server counts, and the commands.

#include "clients/cli/flags/contexts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/doctor_checks.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/clients/cpp/test_certificates.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using client::FakeBehaviour;
using ::nlohmann::json;
using ::testing::HasSubstr;

class ContextsTest : public ::testing::Test {
 protected:
  ContextsTest() {
    setenv("XDG_CONFIG_HOME", scratch_.Path("").c_str(), 1);
    for (const char* variable : {"VOXLOC_SERVER", "VOXLOC_CONTEXT", "VOXLOC_TOKEN"}) {
      unsetenv(variable);
    }
  }
  ~ContextsTest() override {
    for (const char* variable : {"XDG_CONFIG_HOME", "VOXLOC_SERVER", "VOXLOC_CONTEXT"}) {
      unsetenv(variable);
    }
  }

  absl::StatusOr<ExitCode> Run(const std::vector<std::string>& arguments) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    return parsed.work();
  }

  json RunForJson(std::vector<std::string> arguments, ExitCode expected = ExitCode::kOk) {
    const std::string out = scratch_.Path("result.json");
    std::filesystem::remove(out);
    arguments.insert(arguments.end(), {"--json", out});
    const absl::StatusOr<ExitCode> code = Run(arguments);
    EXPECT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(code.value_or(ExitCode::kUsage), expected);
    std::ifstream file(out);
    return json::parse(file, nullptr, false);
  }

  // The server that `info` of these arguments asks, by its version; or the error.
  std::string Asked(const std::vector<std::string>& arguments) {
    const std::string out = scratch_.Path("info.json");
    std::vector<std::string> line = arguments;
    line.insert(line.end(), {"--json", out});
    const absl::StatusOr<ExitCode> code = Run(line);
    if (!code.ok()) return std::string(code.status().message());
    std::ifstream file(out);
    return json::parse(file, nullptr, false).value("version", "");
  }

  static FakeBehaviour Named(const std::string& version) {
    FakeBehaviour behaviour;
    behaviour.get_server_info = [version](grpc::ServerContext*, v1::GetServerInfoResponse* info) {
      info->set_version(version);
      return grpc::Status::OK;
    };
    return behaviour;
  }

  const ScratchDir scratch_;
};

TEST_F(ContextsTest, SetKeepsTheFullPathsOfItsFiles) {
  ASSERT_TRUE(Run({"context", "set", "depot", "--server", "depot.example:1", "--tls-ca", "ca.pem",
                   "--token-file", "/keys/depot.token"})
                  .ok());
  const auto contexts = ReadContexts(ContextsPath());
  ASSERT_TRUE(contexts.ok()) << contexts.status();
  const client::ChannelOptions& depot = contexts->by_name.at("depot");
  EXPECT_EQ(depot.tls_ca_file, std::filesystem::current_path() / "ca.pem");
  EXPECT_EQ(depot.token_file, "/keys/depot.token");
}

TEST_F(ContextsTest, ServersAreNamedByFlagsThenVariablesThenTheCurrentContext) {
  const client::FakeServer flag(Named("flag"));
  const client::FakeServer variable(Named("variable"));
  const client::FakeServer depot(Named("depot"));
  const client::FakeServer yard(Named("yard"));
  for (const auto& [name, server] : {std::pair("depot", &depot), {"yard", &yard}}) {
    ASSERT_TRUE(Run({"context", "set", name, "--server", server->address()}).ok());
  }
  EXPECT_EQ(Asked({"info", "--context", "yard"}), "yard");
  EXPECT_EQ(Asked({"--context", "yard", "info"}), "yard");
  ASSERT_TRUE(Run({"context", "use", "depot"}).ok());
  EXPECT_EQ(Asked({"info"}), "depot");
  setenv("VOXLOC_CONTEXT", "yard", 1);
  EXPECT_EQ(Asked({"info"}), "yard");
  setenv("VOXLOC_SERVER", variable.address().c_str(), 1);
  EXPECT_EQ(Asked({"info"}), "variable");
  EXPECT_EQ(Asked({"info", "--context", "depot"}), "depot");
  EXPECT_EQ(Asked({"info", "--server", flag.address()}), "flag");
  EXPECT_THAT(Asked({"info", "--server", flag.address(), "--context", "depot"}),
              HasSubstr("--context excludes --server"));
  EXPECT_THAT(Asked({"info", "--context", "nowhere"}),
              HasSubstr("must be one of depot, yard (got 'nowhere')"));

  const json list = RunForJson({"context", "list"});
  EXPECT_EQ(list["current"], "depot");
  ASSERT_EQ(list["contexts"].size(), 2U);
  EXPECT_EQ(list["contexts"][1]["server"], yard.address());
  EXPECT_EQ(RunForJson({"context", "show"})["name"], "depot");
  EXPECT_FALSE(Run({"context", "use", "nowhere"}).ok());
}

TEST_F(ContextsTest, AContextBringsItsTlsWithPathsBesideItsFile) {
  const client::TestAuthority authority("test authority");
  const client::SignedKey key = authority.Sign("server", "DNS:voxloc.test");
  grpc::SslServerCredentialsOptions credentials;
  credentials.pem_key_cert_pairs.push_back({key.key, key.certificate});
  FakeBehaviour behaviour = Named("encrypted");
  behaviour.list_maps = [](const v1::ListMapsRequest&, v1::ListMapsResponse*) {
    return grpc::Status::OK;
  };
  const client::FakeServer server(behaviour, grpc::SslServerCredentials(credentials));
  scratch_.Write("voxloc/ca.pem", authority.certificate());
  Contexts contexts;
  client::ChannelOptions& depot = contexts.by_name["depot"];
  depot.server = server.address();
  depot.tls_ca_file = "ca.pem";
  depot.tls_server_name = "voxloc.test";
  ASSERT_TRUE(WriteContexts(ContextsPath(), contexts).ok());
  const auto permissions = std::filesystem::status(ContextsPath()).permissions();
  EXPECT_EQ(permissions & std::filesystem::perms::others_read, std::filesystem::perms::none);
  EXPECT_EQ(ContextFields(ReadContexts(ContextsPath())->by_name.at("depot")), ContextFields(depot));
  EXPECT_EQ(Asked({"info", "--context", "depot"}), "encrypted");
  // A flag comes before the context's.
  EXPECT_THAT(Asked({"info", "--context", "depot", "--tls-server-name", "other.test"}),
              HasSubstr("not for other.test"));

  // The test's certificates hold for a day.
  const json result = RunForJson({"doctor", "--context", "depot"});
  EXPECT_THAT(result.dump(), AllOf(HasSubstr("by context depot"), HasSubstr("days"),
                                   HasSubstr("replace the certificate")));
}

TEST_F(ContextsTest, AMalformedFileIsNamedWithItsLine) {
  const auto error = [this](const std::string& text) {
    const std::string path = scratch_.Write("voxloc/contexts.yaml", text);
    const absl::Status status = ReadContexts(path).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return std::string(status.message());
  };
  EXPECT_THAT(error("contexts:\n  depot:\n    servr: a:1\n"),
              HasSubstr("line 3: the key of a context must be one of server, tls_ca"));
  EXPECT_THAT(error("contexts:\n  depot:\n    tls: true\n"), HasSubstr("depot must have a server"));
  EXPECT_THAT(error("contexts:\n  depot: {server: 'a:1', tls: maybe}\n"),
              HasSubstr("tls must be true or false"));
  EXPECT_THAT(error("other: 1\n"), HasSubstr("(got 'other')"));
  EXPECT_THAT(error("- 1\n"), HasSubstr("must be a map"));
  EXPECT_THAT(Asked({"info"}), HasSubstr("must be a map"));
}

TEST_F(ContextsTest, TheDoctorNamesWhatIsWrongAndTheRemedy) {
  FakeBehaviour behaviour;
  std::string version = VOXLOC_VERSION;
  behaviour.get_server_info = [&](grpc::ServerContext*, v1::GetServerInfoResponse* info) {
    info->set_version(version);
    info->set_state(v1::SERVER_STATE_SERVING);
    info->set_engine("cpu");
    return grpc::Status::OK;
  };
  std::vector<std::string> maps = {"town"};
  behaviour.list_maps = [&](const v1::ListMapsRequest&, v1::ListMapsResponse* response) {
    for (const std::string& map : maps) response->add_maps()->set_name(map);
    return grpc::Status::OK;
  };
  const client::FakeServer server(behaviour);
  std::vector<std::string> line = {"doctor", "--server", server.address(), "--map", "town"};
  const auto finding = [](const json& result, const std::string& name) {
    for (const json& check : result["checks"]) {
      if (check["check"] == name) return check["finding"].get<std::string>();
    }
    return std::string("none");
  };
  json result = RunForJson(line);
  EXPECT_EQ(result["healthy"], true);
  for (const json& check : result["checks"]) {
    // The clock of this server is that of 1970.
    EXPECT_EQ(check["finding"], check["check"] == "clock" ? "warning" : "ok") << check;
  }

  version = "0.0.1";
  result = RunForJson(line);
  EXPECT_EQ(finding(result, "version"), "warning");
  EXPECT_EQ(result["healthy"], true);

  maps.clear();
  result = RunForJson(line, ExitCode::kFailed);
  EXPECT_EQ(finding(result, "map"), "error");
  EXPECT_THAT(result.dump(), HasSubstr("voxloc map load --map town"));

  result = RunForJson({"doctor", "--server", "127.0.0.1:1"}, ExitCode::kUnreachable);
  EXPECT_EQ(finding(result, "connection"), "error");
  EXPECT_THAT(result.dump(), HasSubstr("start voxlocd there"));
}

TEST(ClockCheckTest, TheCallItselfIsNoSkew) {
  constexpr int64_t kMilli = 1'000'000;
  EXPECT_EQ(ClockCheck(1100 * kMilli, 1000 * kMilli, 1200 * kMilli).finding, Finding::kOk);
  EXPECT_EQ(ClockCheck(1290 * kMilli, 1000 * kMilli, 1200 * kMilli).finding, Finding::kOk);
  const Check ahead = ClockCheck(1310 * kMilli, 1000 * kMilli, 1200 * kMilli);
  EXPECT_EQ(ahead.finding, Finding::kWarning);
  EXPECT_EQ(ahead.detail, "the server's is 0.210 s ahead, to within 0.100 s");
  EXPECT_THAT(ahead.remedy, HasSubstr("synchronise"));
  EXPECT_THAT(ClockCheck(-1900 * kMilli, 1000 * kMilli, 1200 * kMilli).detail,
              HasSubstr("3.000 s behind"));
}

}  // namespace
}  // namespace voxloc::cli
