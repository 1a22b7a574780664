// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/estimate_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <string>

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

}  // namespace
}  // namespace voxloc::cli
