// SPDX-License-Identifier: Apache-2.0

#include "server/start_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A configuration that can start, by ports that nobody has.
Config Startable() {
  Config config;
  config.listen = "127.0.0.1:0";
  config.metrics_listen = "127.0.0.1:0";
  config.engine = "cpu";
  return config;
}

std::string ErrorsOf(const Config& config) {
  ConfigErrors errors;
  CheckConfig(config, errors);
  CheckStart(config, errors);
  return std::string(errors.Status().message());
}

TEST(StartCheck, FindsNothingInWhatCanStartAndCreatesNothing) {
  const ScratchDir scratch;
  Config config = Startable();
  config.data_dir = scratch.Path("data");
  config.audit_log = scratch.Path("audit.log");
  config.ready_file = scratch.Path("ready.json");
  EXPECT_EQ(ErrorsOf(config), "");
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(config.data_dir).parent_path()));
  EXPECT_EQ(ErrorsOf(Startable()), "");
}

TEST(StartCheck, FindsNothingBesideTheServerThatRunsWithTheConfiguration) {
  const ScratchDir scratch;
  Config config = Startable();
  config.data_dir = scratch.Path("data");
  TestServer server([&](Config& of_server) { of_server.data_dir = config.data_dir; });
  config.listen = server.server().address();
  EXPECT_EQ(ErrorsOf(config), "");
}

TEST(StartCheck, FindsOnePortForBoth) {
  Config config = Startable();
  for (const auto& [listen, metrics] :
       {std::pair<const char*, const char*>{"127.0.0.1:50051", "127.0.0.1:50051"},
        {"127.0.0.1:50051", "0.0.0.0:50051"},
        {"[::1]:50051", "[::]:50051"},
        {"localhost:50051", "127.0.0.1:50051"}}) {
    config.listen = listen;
    config.metrics_listen = metrics;
    ConfigErrors errors;
    CheckConfig(config, errors);
    EXPECT_EQ(errors.Status().message(),
              absl::StrCat("listen and metrics_listen must have different ports (got '", listen,
                           "' and '", metrics, "')"));
  }
  for (const auto& [listen, metrics] :
       {std::pair<const char*, const char*>{"127.0.0.1:0", "127.0.0.1:0"},
        {"127.0.0.1:50051", "127.0.0.2:50051"},
        {"127.0.0.1:50051", "off"}}) {
    config.listen = listen;
    config.metrics_listen = metrics;
    ConfigErrors errors;
    CheckConfig(config, errors);
    EXPECT_TRUE(errors.Status().ok()) << errors.Status();
  }
}

TEST(StartCheck, FindsADataDirectoryThatCannotBeMadeOrUsed) {
  const ScratchDir scratch;
  Config config = Startable();
  config.data_dir = scratch.Path("none") + "/data";  // one level is made, not two
  EXPECT_EQ(ErrorsOf(config),
            absl::StrCat("data_dir must be a folder that can be made in one that exists (got '",
                         config.data_dir, "': No such file or directory)"));
  config.data_dir = scratch.Write("file", "text");
  EXPECT_THAT(ErrorsOf(config), AllOf(HasSubstr("data_dir must be a folder that can be written"),
                                      HasSubstr("Not a directory")));
  config.data_dir = config.data_dir + "/data";
  EXPECT_THAT(ErrorsOf(config), HasSubstr("Not a directory"));
  config.data_dir =
      std::filesystem::path(scratch.Write("other/maps.db", "no database")).parent_path();
  EXPECT_THAT(ErrorsOf(config), HasSubstr("maps.db is no database of SQLite"));
}

TEST(StartCheck, FindsWhatThisUserMayNotWrite) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const ScratchDir scratch;
  Config config = Startable();
  config.data_dir = std::filesystem::path(scratch.Path("data/maps.db")).parent_path();
  ASSERT_EQ(chmod(config.data_dir.c_str(), 0500), 0);
  EXPECT_THAT(ErrorsOf(config), HasSubstr("Permission denied"));
  config.data_dir += "/below";
  EXPECT_THAT(ErrorsOf(config), HasSubstr("Permission denied"));
}

TEST(StartCheck, FindsADatabaseOfANewerVersion) {
  const ScratchDir scratch;
  Config config = Startable();
  config.data_dir = scratch.Path("data");
  {
    const TestServer server([&](Config& of) { of.data_dir = config.data_dir; });
  }
  EXPECT_EQ(ErrorsOf(config), "");
  const std::string path = config.data_dir + "/maps.db";
  // user_version, in the header of the file.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);
  file.write("\x00\x00\x03\xE7", 4);
  file.close();
  EXPECT_THAT(ErrorsOf(config), HasSubstr("made by a newer version of voxlocd: its schema has "
                                          "version 999"));
}

TEST(StartCheck, FindsAddressesThatAreNotThisMachines) {
  Config config = Startable();
  config.insecure = true;
  config.listen = "192.0.2.1:50051";             // reserved for documents (RFC 5737)
  config.metrics_listen = "[2001:db8::1]:9464";  // RFC 3849
  EXPECT_THAT(ErrorsOf(config),
              AllOf(HasSubstr("listen must be an address of this machine (got '192.0.2.1:50051'"),
                    HasSubstr("metrics_listen must be an address of this machine (got '[2001:")));
}

TEST(StartCheck, FindsTheOtherFilesThatCannotBeMade) {
  const ScratchDir scratch;
  Config config = Startable();
  config.audit_log = scratch.Path("none") + "/audit.log";
  config.ready_file = scratch.Path("none") + "/ready.json";
  EXPECT_THAT(ErrorsOf(config), AllOf(HasSubstr("audit_log must be a file that can be written"),
                                      HasSubstr("ready_file must be a file in a folder")));
  config = Startable();
  config.audit_log = std::filesystem::path(scratch.Path("a/b")).parent_path();
  config.ready_file = config.audit_log;
  EXPECT_THAT(ErrorsOf(config), AllOf(HasSubstr("audit_log must"), HasSubstr("ready_file must"),
                                      HasSubstr("Is a directory")));
}

TEST(StartCheck, FindsAUrlThatLibpqDoesNotUnderstand) {
  Config config = Startable();
  config.store.url = "postgresql://voxloc@db.example.com/voxloc?no_such_option=1";
  EXPECT_THAT(ErrorsOf(config), AllOf(HasSubstr("store.url: "), HasSubstr("no_such_option")));
}

TEST(StartCheck, FindsEveryFaultAtOnce) {
  const ScratchDir scratch;
  Config config = Startable();
  config.metrics_listen = config.listen = "127.0.0.1:50051";
  config.tls.certificate = scratch.Path("server.pem");
  config.tls.private_key = scratch.Path("server.key");
  config.tls.client_ca = scratch.Path("ca.pem");
  config.access_file = scratch.Path("access.yaml");
  config.data_dir = scratch.Path("none") + "/data";
  config.otlp_endpoint = "collector";
  const std::string errors = ErrorsOf(config);
  for (const std::string& named :
       {std::string("different ports"), config.tls.certificate, config.tls.private_key,
        config.tls.client_ca, config.access_file, config.data_dir, config.otlp_endpoint}) {
    EXPECT_THAT(errors, HasSubstr(named));
  }
}

}  // namespace
}  // namespace voxloc::server
