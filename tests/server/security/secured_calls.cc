// SPDX-License-Identifier: Apache-2.0

#include "tests/server/security/secured_calls.h"

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_split.h"
#include "core/checksum/sha256.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "voxloc-security-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

std::string TestFolder::Path(const std::string& name) const { return (path_ / name).string(); }

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
  const auto context = TestServer::NewContext();
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(context.get(), "/" + method, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  Answer answer;
  call->StartCall(nullptr);
  bool alive = done();
  if (alive) {
    const std::string bytes = request.SerializeAsString();
    const grpc::Slice slice(bytes);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    alive = done();
  }
  if (alive) {
    call->WritesDone(nullptr);
    static_cast<void>(done());
  }
  while (true) {
    grpc::ByteBuffer buffer;
    call->Read(&buffer, nullptr);
    if (!done()) break;
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(buffer.Dump(&slices).ok());
    std::string message;
    for (const grpc::Slice& slice : slices) {
      message.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    answer.messages.push_back(std::move(message));
  }
  call->Finish(&answer.status, nullptr);
  static_cast<void>(done());
  return answer;
}

}  // namespace voxloc::server
