// SPDX-License-Identifier: Apache-2.0
//
// What requests ask for by the flags that commands share.

#include "clients/cli/flags/request_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>

#include "clients/cli/flags/server_flags.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {
namespace {

// What a request with these flags asks for.
v1::OpenSession RequestOf(const std::string& command_line) {
  CLI::App app;
  EstimateFlags flags;
  AddEstimateFlags(&app, &flags);
  app.parse(command_line);
  v1::OpenSession request;
  flags.AddTo(request.mutable_setup()->mutable_options(),
              request.mutable_setup()->mutable_output());
  return request;
}

TEST(EstimateFlagsTest, LeaveTheServersChoiceWhereTheyAreNotGiven) {
  EXPECT_EQ(RequestOf("").setup().options().ByteSizeLong(), 0U);
  EXPECT_EQ(RequestOf("").setup().output().ByteSizeLong(), 0U);
}

TEST(EstimateFlagsTest, NameEveryMethodOfTheContract) {
  for (int number = v1::CovarianceMethod_MIN + 1; number <= v1::CovarianceMethod_MAX; ++number) {
    const auto method = static_cast<v1::CovarianceMethod>(number);
    std::string name = v1::CovarianceMethod_Name(method).substr(sizeof("COVARIANCE_METHOD_") - 1);
    for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
    EXPECT_EQ(RequestOf("--covariance " + name).setup().options().covariance().method(), method)
        << name;
  }
  EXPECT_THROW((void)RequestOf("--covariance true"), CLI::ValidationError);
}

TEST(AlignmentFlagsTest, NameTheVehicle) {
  const auto vehicle = [](const std::string& command_line) {
    CLI::App app;
    AlignmentFlags flags;
    AddAlignmentFlags(&app, &flags);
    app.parse(command_line);
    v1::ScanSetup setup;
    setup.set_vehicle("voxloc locate");
    flags.AddTo(&setup);
    return setup.vehicle();
  };
  EXPECT_EQ(vehicle(""), "voxloc locate");
  EXPECT_EQ(vehicle("--vehicle truck-7"), "truck-7");
}

TEST(OutputFlagsTest, AskForThePointsThatTheScoresAreOf) {
  CLI::App app;
  OutputFlags flags;
  AddOutputFlags(&app, &flags);
  app.parse("--point-scores");
  v1::OutputOptions output;
  flags.AddTo(&output);
  EXPECT_TRUE(output.point_scores());
  EXPECT_TRUE(output.aligned_cloud());
}

TEST(EstimateFlagsTest, LeaveConfidenceOut) {
  const v1::OpenSession request = RequestOf("--no-confidence");
  EXPECT_TRUE(request.setup().output().no_confidence());
  EXPECT_FALSE(request.setup().options().has_covariance());
}

TEST(EstimateFlagsTest, AskForProtectionLevels) {
  const v1::OpenSession request = RequestOf("--protection-risk 1e-4");
  ASSERT_TRUE(request.setup().output().has_protection());
  EXPECT_EQ(request.setup().output().protection().risk().value(), 1e-4);
  EXPECT_FALSE(request.setup().output().protection().has_false_alarm());
  EXPECT_THROW((void)RequestOf("--protection-risk 2"), CLI::ValidationError);
}

v1::ScanSetup AlignmentSetupOf(const std::string& command_line) {
  CLI::App app;
  AlignmentFlags flags;
  AddAlignmentFlags(&app, &flags);
  app.parse(command_line);
  v1::ScanSetup setup;
  flags.AddTo(&setup);
  return setup;
}

TEST(AlignmentFlagsTest, LeaveTheProfileWhereTheyAreNotGiven) {
  EXPECT_EQ(AlignmentSetupOf("").ByteSizeLong(), 0U);
}

TEST(AlignmentFlagsTest, ReplaceValuesAndLimits) {
  const v1::ScanSetup setup = AlignmentSetupOf(
      "--override max_iterations=7 --gate score_threshold=-1.5 --override curvature=reweighted "
      "--gate validation.max_skipped_scans=3");
  EXPECT_EQ(setup.options().overrides().max_iterations().value(), 7U);
  EXPECT_EQ(setup.options().overrides().curvature(), v1::CURVATURE_REWEIGHTED);
  EXPECT_FALSE(setup.options().overrides().has_step_size_m());
  EXPECT_EQ(setup.options().gate().score_threshold().value(), -1.5);
  EXPECT_EQ(setup.options().gate().validation().max_skipped_scans().value(), 3U);
}

TEST(AlignmentFlagsTest, PlaceTheSensorWithRosAngles) {
  const v1::Pose mount = AlignmentSetupOf("--base-t-sensor 1,2,3,0,0,90").base_t_sensor();
  EXPECT_EQ(mount.position().z(), 3.0);
  EXPECT_NEAR(mount.orientation().z(), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(mount.orientation().w(), std::sqrt(0.5), 1e-12);
}

TEST(AlignmentFlagsTest, NameTheNearestKey) {
  const auto refusal = [](const std::string& command_line) -> std::string {
    try {
      (void)AlignmentSetupOf(command_line);
    } catch (const CLI::ValidationError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("--override max_iteration=7"),
              ::testing::HasSubstr("has no key max_iteration; did you mean max_iterations?"));
  EXPECT_THAT(refusal("--gate max_delay=7"), ::testing::HasSubstr("has no key max_delay"));
  EXPECT_THAT(refusal("--gate score_threshold=high"),
              ::testing::HasSubstr("score_threshold must be a number (got high)"));
  EXPECT_THAT(refusal("--override max_iterations"),
              ::testing::HasSubstr("must be KEY=VALUE (got max_iterations)"));
}

TEST(OutputFlagsTest, AskForWhatIsGiven) {
  CLI::App app;
  OutputFlags flags;
  AddOutputFlags(&app, &flags);
  v1::OutputOptions nothing;
  flags.AddTo(&nothing);
  EXPECT_EQ(nothing.ByteSizeLong(), 0U);
  app.parse("--trace --diagnostics --point-scores --no-ground-margin 0.8");
  v1::OutputOptions output;
  flags.AddTo(&output);
  EXPECT_TRUE(output.trace());
  EXPECT_TRUE(output.diagnostics());
  EXPECT_TRUE(output.point_scores());
  EXPECT_EQ(output.no_ground().z_margin_m(), 0.8);
  EXPECT_FALSE(output.no_ground().cloud());
}

client::ChannelOptions ChannelOf(const std::string& command_line) {
  CLI::App app;
  ServerFlags flags;
  AddServerFlags(&app, &flags);
  app.parse(command_line);
  return ChannelOptionsOf(flags);
}

TEST(ServerFlagsTest, ConnectInPlainTextWithoutATokenByDefault) {
  unsetenv("VOXLOC_SERVER");
  unsetenv("VOXLOC_TOKEN");
  const client::ChannelOptions options = ChannelOf("");
  EXPECT_EQ(options.server, "localhost:50051");
  EXPECT_FALSE(options.tls);
  EXPECT_EQ(options.token + options.token_file, "");
  EXPECT_FALSE(options.allow_insecure_token);
}

TEST(ServerFlagsTest, TakeTheServerFromTheEnvironmentWhereNoFlagNamesOne) {
  setenv("VOXLOC_SERVER", "a:1,unix:/run/b", 1);
  EXPECT_EQ(ChannelOf("").server, "a:1,unix:/run/b");
  EXPECT_EQ(ChannelOf("--server c:3").server, "c:3");
  CLI::App app;
  ServerFlags flags;
  AddServerFlags(&app, &flags);
  EXPECT_THAT(app.help(), ::testing::HasSubstr("VOXLOC_SERVER"));
  setenv("VOXLOC_SERVER", "", 1);
  EXPECT_EQ(ChannelOf("").server, "localhost:50051");
  unsetenv("VOXLOC_SERVER");
}

TEST(ServerFlagsTest, ABadAddressOfTheEnvironmentIsRefusedWithTheNameOfTheVariable) {
  setenv("VOXLOC_SERVER", "localhost:115587", 1);
  const auto refusal = [](const std::string& command_line) {
    CLI::App app;
    ServerFlags flags;
    AddServerFlags(&app, &flags);
    app.parse(command_line);
    return std::string(Connect(flags).status().message());
  };
  EXPECT_THAT(refusal(""), ::testing::StartsWith("VOXLOC_SERVER: the server address must be"));
  EXPECT_THAT(refusal("--server localhost"),
              ::testing::StartsWith("the server address must be HOST:PORT"));
  unsetenv("VOXLOC_SERVER");
}

TEST(ServerFlagsTest, EveryFileAndNameOfTlsTurnsItOn) {
  EXPECT_TRUE(ChannelOf("--tls").tls);
  const client::ChannelOptions options = ChannelOf(
      "--server a:1,b:2 --tls-ca ca --tls-cert cert --tls-key key --tls-server-name name");
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.server, "a:1,b:2");
  EXPECT_EQ(options.tls_ca_file, "ca");
  EXPECT_EQ(options.tls_certificate_file, "cert");
  EXPECT_EQ(options.tls_key_file, "key");
  EXPECT_EQ(options.tls_server_name, "name");
  EXPECT_TRUE(ChannelOf("--tls-ca ca").tls);
  EXPECT_TRUE(ChannelOf("--tls-server-name name").tls);
  EXPECT_THROW(ChannelOf("--tls-cert cert"), CLI::ParseError);
  EXPECT_THROW(ChannelOf("--tls-key key"), CLI::ParseError);
}

TEST(ServerFlagsTest, TakeTheTokenFromTheFileOrTheEnvironmentAndNeverShowIt) {
  setenv("VOXLOC_TOKEN", "s3cret", 1);
  EXPECT_EQ(ChannelOf("").token, "s3cret");
  const client::ChannelOptions named = ChannelOf("--token-file file --allow-insecure-token");
  EXPECT_EQ(named.token, "");
  EXPECT_EQ(named.token_file, "file");
  EXPECT_TRUE(named.allow_insecure_token);
  CLI::App app;
  ServerFlags flags;
  AddServerFlags(&app, &flags);
  EXPECT_THAT(app.help(), ::testing::Not(::testing::HasSubstr("s3cret")));
  EXPECT_THAT(app.help(), ::testing::HasSubstr("VOXLOC_TOKEN"));
  flags.server = "voxloc.example:1";
  const absl::Status refused = Connect(flags).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), ::testing::Not(::testing::HasSubstr("s3cret")));
  unsetenv("VOXLOC_TOKEN");
}

}  // namespace
}  // namespace voxloc::cli
