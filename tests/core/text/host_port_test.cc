// SPDX-License-Identifier: Apache-2.0

#include "core/text/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace voxloc {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, TakesNamesAndAddressesOfBothFamilies) {
  const struct {
    const char* text;
    const char* host;
    int port;
  } cases[] = {{"localhost:50051", "localhost", 50051},
               {"127.0.0.1:1", "127.0.0.1", 1},
               {"[::1]:65535", "::1", 65535},
               {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
               {"my_host-1.example.com.:00080", "my_host-1.example.com.", 80}};
  for (const auto& expected : cases) {
    const auto parsed = ParseHostPort(expected.text, PortZero::kRefused);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->host, expected.host);
    EXPECT_EQ(parsed->port, expected.port);
  }
}

// 115587 is 50051 modulo 65536: what wraps would reach a server that nobody named.
TEST(HostPortTest, RefusesPortsThatWouldWrapAroundOrMeanSomethingElse) {
  for (const char* port : {"115587", "65536", "4294967297", "18446744073709601667", "-1", "+80",
                           "0x50", " 80", "80 ", "8e1", "http", "", "000080"}) {
    const auto parsed = ParseHostPort(std::string("localhost:") + port, PortZero::kAllowed);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << port;
    EXPECT_THAT(std::string(parsed.status().message()),
                ::testing::AllOf(HasSubstr("0 to 65535"),
                                 HasSubstr(std::string("(got 'localhost:") + port + "')")));
  }
}

TEST(HostPortTest, AllowsPortZeroOnlyToThoseThatListen) {
  EXPECT_TRUE(ParseHostPort("localhost:0", PortZero::kAllowed).ok());
  EXPECT_EQ(ParseHostPort("localhost:0", PortZero::kRefused).status().message(),
            "must be HOST:PORT with a port from 1 to 65535 (got 'localhost:0')");
  EXPECT_TRUE(ParsePort("0", PortZero::kAllowed).ok());
  EXPECT_EQ(ParsePort("0", PortZero::kRefused).status().message(),
            "must be a port from 1 to 65535 (got '0')");
}

TEST(HostPortTest, RefusesWhatIsNoHost) {
  for (const char* bad : {"", ":", ":1", "localhost", "a b:1", "a,b:1", "[::1]", "[]:1", "[::1:1",
                          "[abc:1", "a/b:1", "http://localhost:50051", "\x01:1"}) {
    EXPECT_FALSE(ParseHostPort(bad, PortZero::kAllowed).ok()) << bad;
  }
}

TEST(HostPortTest, SaysThatIpv6NeedsBrackets) {
  EXPECT_THAT(std::string(ParseHostPort("::1:50051", PortZero::kRefused).status().message()),
              HasSubstr("an IPv6 address in brackets (got '::1:50051')"));
}

TEST(HostPortTest, ChecksThePortOfUrlsAndShowsNoPassword) {
  for (const char* good :
       {"host", "host:80", "[::1]", "[::1]:80", "user@host", "u:secret@host:80"}) {
    EXPECT_TRUE(CheckUrlPort(good).ok()) << good;
  }
  EXPECT_EQ(CheckUrlPort("u:secret@host:115587").message(),
            "must have a port from 1 to 65535 (got '115587')");
  EXPECT_FALSE(CheckUrlPort("[::1]:0").ok());
  EXPECT_FALSE(CheckUrlPort("host:").ok());
}

}  // namespace
}  // namespace voxloc
