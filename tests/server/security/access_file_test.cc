// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/security/access_control.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Of "abc": FIPS 180-2, appendix B.1.
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

constexpr char kFile[] = R"(anonymous:
  roles: [map-read]
  maps: [public-*]
identities:
  truck-7:
    token_sha256: [HASH]
    certificate: [truck-7.fleet.example]
    expires: 2027-01-31T12:00:00Z
    roles: [track, score]
    maps: [town, "depot-?"]
    vehicles: [truck-7]
  mapper:
    certificate: ["spiffe://fleet/mapper"]
    roles: [map-write]
)";

std::string Text() { return absl::StrReplaceAll(kFile, {{"HASH", kAbc}}); }

// Of the file with one piece replaced.
std::string ErrorOf(const std::string& piece, const std::string& by) {
  EXPECT_THAT(Text(), HasSubstr(piece));
  const auto policy = ParseAccessPolicy(absl::StrReplaceAll(Text(), {{piece, by}}), "access.yaml");
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument) << by;
  return std::string(policy.status().message());
}

TEST(AccessFile, SaysWhoMayDoWhat) {
  const auto policy = ParseAccessPolicy(Text(), "access.yaml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const Identity* const truck = policy->FindByToken(Sha256Of("abc"));
  ASSERT_NE(truck, nullptr);
  EXPECT_EQ(truck->name, "truck-7");
  EXPECT_THAT(truck->roles, ElementsAre(Role::kTrack, Role::kScore));
  EXPECT_EQ(absl::ToUnixSeconds(truck->expires), 1801396800);  // date -d 2027-01-31T12:00Z +%s
  EXPECT_EQ(policy->FindByCertificate({"other", "truck-7.fleet.example"}), truck);
  EXPECT_EQ(policy->FindByToken(Sha256Of("abd")), nullptr);
  EXPECT_EQ(policy->FindByCertificate({"truck-7"}), nullptr);
  EXPECT_EQ(policy->FindByCertificate({}), nullptr);

  for (const char* map : {"town", "depot-1"}) EXPECT_TRUE(truck->MayUseMap(map)) << map;
  for (const char* map : {"towns", "depot-12", "public-1", ""}) {
    EXPECT_FALSE(truck->MayUseMap(map)) << map;
  }
  EXPECT_TRUE(truck->MayUseVehicle("truck-7"));
  for (const char* vehicle : {"truck-8", "truck-77", ""}) {
    EXPECT_FALSE(truck->MayUseVehicle(vehicle)) << vehicle;
  }
  EXPECT_FALSE(truck->MayUseVehicle(std::string("truck-7\0x", 9)));

  const Identity* const mapper = policy->FindByCertificate({"spiffe://fleet/mapper"});
  ASSERT_NE(mapper, nullptr);
  EXPECT_TRUE(mapper->MayUseMap("anything"));
  EXPECT_TRUE(mapper->MayUseVehicle(""));
  EXPECT_EQ(mapper->expires, absl::InfiniteFuture());

  ASSERT_TRUE(policy->anonymous.has_value());
  EXPECT_THAT(policy->anonymous->roles, ElementsAre(Role::kMapRead));
  EXPECT_TRUE(policy->anonymous->MayUseMap("public-1"));
  EXPECT_FALSE(policy->anonymous->MayUseMap("town"));
}

TEST(AccessFile, ErrorsNameTheLineAndTheNearestName) {
  EXPECT_THAT(ErrorOf("identities:", "identitys:"),
              AllOf(StartsWith("access.yaml:4: "), HasSubstr("did you mean identities?")));
  EXPECT_THAT(ErrorOf("    expires:", "    expire:"),
              AllOf(StartsWith("access.yaml:8: "), HasSubstr("did you mean expires?")));
  EXPECT_THAT(ErrorOf("[track, score]", "[trak]"),
              AllOf(StartsWith("access.yaml:9: "), HasSubstr("did you mean track?")));
  EXPECT_THAT(ErrorOf("[track, score]", "track"), HasSubstr("must be a list"));
  EXPECT_THAT(ErrorOf("2027-01-31T12:00:00Z", "tomorrow"), StartsWith("access.yaml:8: "));
  EXPECT_THAT(ErrorOf("    roles: [map-write]\n", ""),
              AllOf(StartsWith("access.yaml:13: "), HasSubstr("needs roles")));
  EXPECT_THAT(ErrorOf("    certificate: [\"spiffe://fleet/mapper\"]\n", ""),
              HasSubstr("needs token_sha256 or certificate"));
  EXPECT_THAT(ErrorOf("[\"spiffe://fleet/mapper\"]", "[truck-7.fleet.example]"),
              AllOf(StartsWith("access.yaml:13: "), HasSubstr("used twice")));
  EXPECT_THAT(ErrorOf("  mapper:", "  anonymous:"), HasSubstr("must not be anonymous"));
  EXPECT_THAT(ErrorOf("  mapper:", "  truck-7:"), HasSubstr("occurs twice"));
  EXPECT_THAT(ErrorOf("anonymous:", "anonymous: ["), StartsWith("access.yaml:"));
}

TEST(AccessFile, ErrorsOfTokensDoNotRepeatThem) {
  const std::string damaged = std::string(kAbc).substr(1);
  EXPECT_THAT(ErrorOf(kAbc, damaged),
              AllOf(StartsWith("access.yaml:6: "), Not(HasSubstr(damaged))));
  EXPECT_THAT(ErrorOf(kAbc, absl::StrCat(kAbc, ", ", kAbc)),
              AllOf(HasSubstr("used twice"), Not(HasSubstr(kAbc))));
  // sha256sum of nothing, as of a variable that is not set.
  EXPECT_THAT(ErrorOf(kAbc, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
              HasSubstr("of nothing"));
}

TEST(AccessFile, AFileThatIsNotThereIsNotFound) {
  const auto policy = ReadAccessFile("/nowhere/access.yaml");
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(policy.status().message()), HasSubstr("No such file"));
}

}  // namespace
}  // namespace voxloc::server
