// SPDX-License-Identifier: Apache-2.0

#include "tests/server/plain_calls.h"

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/rpc/status.pb.h"

namespace voxloc::server {

Answer CallWithMessages(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                        const std::vector<std::string>& requests,
                        const std::string& authorization) {
  const auto context = TestServer::NewContext();
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  return CallWithMessages(channel, method, requests, *context, /*cancels=*/false);
}

Answer CallWithMessages(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                        const std::vector<std::string>& requests, grpc::ClientContext& context,
                        bool cancels) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  Answer answer;
  call->StartCall(nullptr);
  bool alive = done();
  for (size_t i = 0; alive && i < requests.size(); ++i) {
    const grpc::Slice slice(requests[i]);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    alive = done();
  }
  if (cancels) {
    context.TryCancel();
  } else if (alive) {
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

Answer CallWithBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, const std::string& authorization) {
  return CallWithMessages(channel, method, {request}, authorization);
}

grpc::Status CallRaw(TestServer& server, const std::string& method, const std::string& request,
                     std::string* response) {
  const Answer answer = CallWithBytes(server.NewChannel(), method, request);
  if (!answer.messages.empty()) *response = answer.messages.front();
  return answer.status;
}

google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& detail : details.details()) {
    if (detail.UnpackTo(&info)) return info;
  }
  return {};
}

std::string HttpGet(const std::string& address, const std::string& path) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(parts.second, &port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, parts.first.c_str(), &to.sin_addr);
  std::string text;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) {
    const std::string request =
        absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", parts.first, "\r\n\r\n");
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t got = 0; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return text;
}

std::map<std::string, double> MetricsOf(TestServer& server) {
  return ParseMetrics(HttpGet(server.server().metrics_address(), "/metrics"));
}

std::map<std::string, double> ParseMetrics(const std::string& text) {
  std::map<std::string, double> values;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t space = line.rfind(' ');
    double value = 0.0;
    if (space != absl::string_view::npos && line[0] != '#' &&
        absl::SimpleAtod(line.substr(space + 1), &value)) {
      values[std::string(line.substr(0, space))] = value;
    }
  }
  return values;
}

}  // namespace voxloc::server
