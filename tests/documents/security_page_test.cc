// SPDX-License-Identifier: Apache-2.0
//
// Compares docs/security.md with the server's code: the example of an access file, and the table of
// roles.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "server/security/access_control.h"

namespace voxloc::server {
namespace {

std::string Page() {
  std::ostringstream text;
  text << std::ifstream(std::string(VOXLOC_SOURCE_DIR) + "/docs/security.md").rdbuf();
  return text.str();
}

// The words in backticks of a line.
std::set<std::string> Quoted(absl::string_view line) {
  std::set<std::string> words;
  const std::vector<std::string> parts = absl::StrSplit(line, '`');
  for (size_t i = 1; i < parts.size(); i += 2) words.insert(parts[i]);
  return words;
}

TEST(SecurityPage, ItsAccessFileIsRight) {
  const std::string page = Page();
  const std::string fence = "```yaml\n";
  const size_t begin = page.find(fence) + fence.size();
  const size_t end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const auto policy = ParseAccessPolicy(page.substr(begin, end - begin), "docs/security.md");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->identities.size(), 3U);
  EXPECT_TRUE(policy->anonymous.has_value());
}

TEST(SecurityPage, ItsTableOfRolesIsThatOfTheServer) {
  std::map<std::string, std::set<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(Page(), '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() != 4) continue;  // two columns
    const std::set<std::string> role = Quoted(cells[1]);
    const std::string name = absl::StrContains(cells[1], "any") ? "any"
                             : role.size() == 1                 ? *role.begin()
                                                                : "";
    if (name == "any" || RoleOf(name).has_value()) rows[name] = Quoted(cells[2]);
  }
  ASSERT_EQ(rows.size(), kRoles.size() + 1);
  rows.at("map-write").erase("map-read");  // stands for its calls
  std::map<std::string, std::set<std::string>> expected;
  for (size_t i = 0; i < kRpcMethods; ++i) {
    const auto method = static_cast<RpcMethod>(i);
    const auto role = RequiredRole(method);
    expected[role.has_value() ? std::string(ToString(*role)) : "any"].insert(NameOf(method).method);
  }
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace voxloc::server
