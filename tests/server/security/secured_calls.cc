// SPDX-License-Identifier: Apache-2.0

#include "tests/server/security/secured_calls.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_split.h"
#include "core/checksum/sha256.h"
#include "tests/support/eventually.h"

namespace voxloc::server {

std::string TestFolder::Write(const std::string& name, const std::string& text) const {
  const std::string made = Path(name + ".new");
  std::ofstream(made) << text;
  std::filesystem::rename(made, Path(name));
  return Path(name);
}

std::string TestFolder::Read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(Path(name)).rdbuf();
  return text.str();
}

std::vector<std::string> TestFolder::Lines(const std::string& name) const {
  return absl::StrSplit(Read(name), '\n', absl::SkipEmpty());
}

std::vector<std::string> TestFolder::AwaitLines(const std::string& name, size_t count) const {
  std::vector<std::string> lines;
  EXPECT_TRUE(Eventually([&] {
    lines = Lines(name);
    return lines.size() >= count;
  })) << lines.size()
      << " of " << count << " lines";
  return lines;
}

std::string HashOf(const std::string& token) { return ToHex(Sha256Of(token)); }

std::shared_ptr<grpc::Channel> ChannelTo(
    const Server& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server.address(), credentials, arguments);
}

std::string Bearer(const std::string& token) { return "Bearer " + token; }

Answer CallByName(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const google::protobuf::Message& request, const std::string& authorization) {
  return CallWithBytes(channel, "/" + method, request.SerializeAsString(), authorization);
}

}  // namespace voxloc::server
