// SPDX-License-Identifier: Apache-2.0
//
// What voxloc prints where it gets no connection: its own message, and no line of gRPC's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/clients/cpp/test_certificates.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kNotReached = 3;  // the program's exit code

class ClientMessages : public ::testing::Test {
 protected:
  // Runs `voxloc info`, with what /usr/bin/env does to the variable of gRPC's log.
  static ProcessResult Info(const std::vector<std::string>& verbosity, const std::string& address,
                            const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"/usr/bin/env"};
    arguments.insert(arguments.end(), verbosity.begin(), verbosity.end());
    for (const std::string& argument :
         {ProgramPath(VOXLOC_VOXLOC), std::string("info"), std::string("--timeout"),
          std::string("10"), std::string("--server"), address}) {
      arguments.push_back(argument);
    }
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunProcess(arguments);
  }
  static size_t LinesIn(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  static void ExpectOneMessage(const ProcessResult& run, const std::string& address) {
    EXPECT_EQ(run.exit_code, kNotReached);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.error, AllOf(StartsWith("voxloc: "), HasSubstr(address), EndsWith("\n")));
    EXPECT_EQ(LinesIn(run.error), 1U) << run.error;
  }

  const std::vector<std::string> silent_ = {"-u", "GRPC_VERBOSITY"};
  const ScratchDir scratch_;
  const client::TestAuthority authority_{"authority"};
  const client::TestAuthority other_{"other"};
  const std::string authority_file_ = scratch_.Write("ca.pem", authority_.certificate());
  const std::string other_file_ = scratch_.Write("other.pem", other_.certificate());
};

TEST_F(ClientMessages, OfAClosedPortAreOneLine) {
  ExpectOneMessage(Info(silent_, "127.0.0.1:1"), "127.0.0.1:1");
}

TEST_F(ClientMessages, OfHandshakesThatFailAreOneLine) {
  const client::SignedKey own = authority_.Sign("voxlocd", "IP:127.0.0.1");
  server::TestServer plain;
  server::TestServer encrypted([&](server::Config& config) {
    config.tls.certificate = scratch_.Write("server.pem", own.certificate);
    config.tls.private_key = scratch_.Write("server.key", own.key);
  });
  const std::string to_plain = plain.server().address();
  const std::string to_encrypted = encrypted.server().address();
  EXPECT_EQ(Info(silent_, to_encrypted, {"--tls-ca", authority_file_}).exit_code, 0);
  ExpectOneMessage(Info(silent_, to_plain, {"--tls-ca", authority_file_}), to_plain);
  ExpectOneMessage(Info(silent_, to_encrypted), to_encrypted);
  ExpectOneMessage(Info(silent_, to_encrypted, {"--tls-ca", other_file_}), to_encrypted);
  // With GRPC_VERBOSITY gRPC's lines come before the same message.
  const ProcessResult verbose =
      Info({"GRPC_VERBOSITY=error"}, to_encrypted, {"--tls-ca", other_file_});
  EXPECT_EQ(verbose.exit_code, kNotReached);
  EXPECT_THAT(verbose.error, HasSubstr("voxloc: "));
  EXPECT_GT(LinesIn(verbose.error), 1U) << verbose.error;
}

}  // namespace
}  // namespace voxloc
