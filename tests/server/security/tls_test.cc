// SPDX-License-Identifier: Apache-2.0
//
// TLS between a real server and clients, with certificates that the test makes.

#include "server/security/tls.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/security/made_certificates.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kServerNames[] = "DNS:localhost,IP:127.0.0.1";

// A pipe in the place of a file: whoever reads it waits, as for a disk that hangs, until the object
// is gone, which puts the file back.
class HangingFile {
 public:
  HangingFile(const TestFolder& folder, std::string name)
      : folder_(folder), name_(std::move(name)), content_(folder.Read(name_)) {
    const std::string made = folder.Path(name_ + ".pipe");
    EXPECT_EQ(mkfifo(made.c_str(), 0600), 0);
    fd_ = open(made.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(fd_, 0);
    EXPECT_EQ(write(fd_, "-", 1), 1);
    std::filesystem::rename(made, folder.Path(name_));
  }
  HangingFile(const HangingFile&) = delete;
  HangingFile& operator=(const HangingFile&) = delete;
  ~HangingFile() {
    folder_.Write(name_, content_);
    close(fd_);
  }

  // Whether a reader has taken the first byte, and waits for the next one.
  [[nodiscard]] bool IsRead() const {
    int unread = 1;
    EXPECT_EQ(ioctl(fd_, FIONREAD, &unread), 0);
    return unread == 0;
  }

 private:
  const TestFolder& folder_;
  const std::string name_;
  const std::string content_;
  int fd_ = -1;
};

class Tls : public testing::Test {
 protected:
  Tls() : authority_(MakeAuthority("fleet")), clients_(MakeAuthority("fleet clients")) {
    Serve(MakeCertificate(authority_, {"voxlocd", kServerNames}));
  }

  void Serve(const MadeCertificate& certificate) {
    folder_.Write("server.pem", certificate.certificate);
    folder_.Write("server.key", certificate.private_key);
  }

  void Configure(Config& config) const {
    config.tls.certificate = folder_.Path("server.pem");
    config.tls.private_key = folder_.Path("server.key");
  }

  void RequireClients(Config& config) const {
    Configure(config);
    config.tls.client_ca = folder_.Write("clients.pem", clients_.certificate);
    config.access_file = folder_.Write("access.yaml", R"(identities:
  by-name:
    certificate: [truck-7]
    roles: [track]
  by-uri:
    certificate: ["spiffe://fleet/mapper"]
    roles: [map-write]
)");
  }

  // What the server says to this client.
  static Answer Ask(const TestServer& server, const MadeCertificate& trusted,
                    const MadeCertificate& own = {}, const std::string& authorization = "") {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = trusted.certificate;
    options.pem_cert_chain = own.certificate;
    options.pem_private_key = own.private_key;
    return CallByName(
        ChannelTo(const_cast<TestServer&>(server).server(), grpc::SslCredentials(options)),
        "voxloc.v1.AdminService/GetServerInfo", v1::GetServerInfoRequest(), authorization);
  }

  static std::string CallerOf(const Answer& answer) {
    v1::GetServerInfoResponse info;
    if (answer.messages.empty() || !info.ParseFromString(answer.messages.front())) return "";
    return info.caller();
  }

  std::string StartError() const {
    CommandLine command_line;
    command_line.config.listen = "127.0.0.1:0";
    command_line.config.metrics_listen = "off";
    Configure(command_line.config);
    EngineChoice choice;
    choice.engine = MakeCpuEngine({1});
    return std::string(Server::Start(command_line, std::move(choice)).status().message());
  }

  const TestFolder folder_;
  const MadeCertificate authority_;
  const MadeCertificate clients_;
};

TEST_F(Tls, ClientsThatTrustTheAuthorityAreServed) {
  const TestServer server([this](Config& config) { Configure(config); });
  EXPECT_TRUE(Ask(server, authority_).status.ok());
  EXPECT_EQ(Ask(server, clients_).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  // Without encryption.
  const auto context = TestServer::NewContext();
  v1::GetServerInfoResponse info;
  EXPECT_EQ(server.admin->GetServerInfo(context.get(), {}, &info).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(Tls, NewConnectionsUseTheNewCertificateAndOldOnesLast) {
  TestServer server([this](Config& config) { Configure(config); });
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authority_.certificate;
  const auto open = ChannelTo(server.server(), grpc::SslCredentials(options));
  const auto ask_open = [&open] {
    return CallByName(open, "voxloc.v1.AdminService/GetServerInfo", v1::GetServerInfoRequest(), "");
  };
  ASSERT_TRUE(ask_open().status.ok());
  const MadeCertificate other = MakeAuthority("another");
  Serve(MakeCertificate(other, {"voxlocd", kServerNames}));
  ASSERT_TRUE(server.server().ReloadSecurity().ok());
  EXPECT_TRUE(Ask(server, other).status.ok());
  EXPECT_FALSE(Ask(server, authority_).status.ok());
  EXPECT_TRUE(ask_open().status.ok());
}

TEST_F(Tls, TheServerFollowsItsFilesByItself) {
  const TestServer server([this](Config& config) {
    Configure(config);
    config.tls.refresh_s = 0.1;
  });
  const MadeCertificate other = MakeAuthority("another");
  Serve(MakeCertificate(other, {"voxlocd", kServerNames}));
  EXPECT_TRUE(Eventually([&] { return Ask(server, other).status.ok(); }));
}

// Neither calls and handshakes nor the thread by which the server is known to live wait for a disk.
TEST_F(Tls, FilesThatHangHoldNothingUp) {
  TestServer server([this](Config& config) {
    Configure(config);
    config.tls.refresh_s = 0.1;
    config.limits.open_timeout_s = 0.2;
    config.metrics_listen = "127.0.0.1:0";
  });
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authority_.certificate;
  server.localization =
      v1::LocalizationService::NewStub(ChannelTo(server.server(), grpc::SslCredentials(options)));
  const HangingFile key(folder_, "server.key");
  ASSERT_TRUE(Eventually([&key] { return key.IsRead(); }));
  EXPECT_TRUE(Ask(server, authority_).status.ok());
  // The thread `timeouts` ends a stream that is not opened, over and over.
  for (int i = 0; i < 3; ++i) {
    TestSession session(server);
    EXPECT_EQ(session.Read().response_case(), v1::AlignScansResponse::RESPONSE_NOT_SET);
    ASSERT_EQ(ReasonOf(session.Finish()), "OPEN_TIMEOUT");
  }
  EXPECT_THAT(HttpGet(server.server().metrics_address(), "/livez"), HasSubstr("alive"));
  EXPECT_TRUE(key.IsRead());
}

TEST_F(Tls, ABadRotationKeepsWhatIsInUse) {
  TestServer server([this](Config& config) { Configure(config); });
  const MadeCertificate next = MakeCertificate(authority_, {"voxlocd", kServerNames});
  folder_.Write("server.pem", next.certificate);  // its key has not come yet
  const absl::Status half = server.server().ReloadSecurity();
  EXPECT_THAT(std::string(half.message()), HasSubstr("does not belong to the certificate"));
  EXPECT_TRUE(Ask(server, authority_).status.ok());
  folder_.Write("server.key", next.private_key);
  EXPECT_TRUE(server.server().ReloadSecurity().ok());
  EXPECT_TRUE(Ask(server, authority_).status.ok());
  folder_.Write("server.pem", "");
  EXPECT_FALSE(server.server().ReloadSecurity().ok());
  EXPECT_TRUE(Ask(server, authority_).status.ok());
}

TEST_F(Tls, ClientCertificatesTellWhoCalls) {
  const TestServer server([this](Config& config) { RequireClients(config); });
  const auto caller = [&](const CertificateRequest& own) {
    return CallerOf(Ask(server, authority_, MakeCertificate(clients_, own)));
  };
  EXPECT_EQ(caller({"truck-7", ""}), "by-name");
  EXPECT_EQ(caller({"x", "URI:spiffe://fleet/mapper"}), "by-uri");
  EXPECT_EQ(caller({"x", "DNS:truck-7"}), "by-name");
}

TEST_F(Tls, ClientCertificatesThatAreNotTheFleetsAreRefused) {
  const TestServer server([this](Config& config) { RequireClients(config); });
  // None, one of another authority, one that has expired, one whose key is another's.
  for (const MadeCertificate& own :
       {MadeCertificate(), MakeCertificate(authority_, {"truck-7", ""}),
        MakeCertificate(clients_, {"truck-7", "", -7200, -3600})}) {
    EXPECT_EQ(Ask(server, authority_, own).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  const MadeCertificate one = MakeCertificate(clients_, {"truck-7", ""});
  const MadeCertificate two = MakeCertificate(clients_, {"truck-8", ""});
  EXPECT_FALSE(Ask(server, authority_, {one.certificate, two.private_key}).status.ok());
  // Verified, and in no one's list.
  const grpc::Status unknown = Ask(server, authority_, two).status;
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(unknown), "CREDENTIALS_UNKNOWN");
  // A token that nobody has is not made good by a certificate.
  EXPECT_EQ(Ask(server, authority_, one, Bearer("nobody's")).status.error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(Tls, FilesThatCannotServeAreRefusedAtTheStart) {
  folder_.Write("server.key", MakeAuthority("another").private_key);
  EXPECT_THAT(StartError(), AllOf(HasSubstr("tls.private_key"), HasSubstr("does not belong")));
  Serve(MakeCertificate(authority_, {"voxlocd", kServerNames, -7200, -3600}));
  EXPECT_THAT(StartError(), HasSubstr("has expired at 2"));
  Serve(MakeCertificate(authority_, {"voxlocd", kServerNames, 3600, 7200}));
  EXPECT_THAT(StartError(), HasSubstr("is not valid before 2"));
  // Swapped.
  MadeCertificate right = MakeCertificate(authority_, {"voxlocd", kServerNames});
  Serve({right.private_key, right.certificate});
  EXPECT_THAT(StartError(), HasSubstr("no certificate in PEM"));
  Serve({right.certificate, "-----BEGIN nonsense"});
  EXPECT_THAT(StartError(), HasSubstr("the private key is not PEM"));
  Serve(right);
  EXPECT_EQ(StartError(), "");
  folder_.Write("server.pem",
                right.certificate + right.certificate.substr(0, right.certificate.size() / 2));
  EXPECT_THAT(StartError(), HasSubstr("damaged certificate after 1"));
}

std::string TransportError(const Config& config) {
  return std::string(CheckTransport(config).message());
}

TEST(Transport, PlaintextStaysOnThisMachineUnlessItIsAskedFor) {
  Config config;
  for (const char* local :
       {"127.0.0.1:1", "127.8.9.1:0", "localhost:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    config.listen = local;
    EXPECT_TRUE(CheckTransport(config).ok()) << local;
  }
  for (const char* outside : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "host.example:1",
                              "localhost.example:1", "[::ffff:10.0.0.1]:1", "1270.0.0.1:1"}) {
    config.listen = outside;
    config.insecure = false;
    const absl::Status status = CheckTransport(config);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << outside;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--insecure"));
    config.insecure = true;
    EXPECT_TRUE(CheckTransport(config).ok()) << outside;
  }
}

TEST(Transport, SettingsOfTlsBelongTogether) {
  Config config;
  config.listen = "0.0.0.0:1";
  config.tls.certificate = "a";
  EXPECT_THAT(TransportError(config), HasSubstr("got only tls.certificate"));
  config.tls.private_key = "b";
  EXPECT_TRUE(CheckTransport(config).ok());
  config.listen = "localhost:1";
  EXPECT_THAT(TransportError(config), HasSubstr("must be an IP address"));
  config.tls = {};
  config.tls.client_ca = "c";
  EXPECT_THAT(TransportError(config), HasSubstr("needs tls.certificate"));
}

}  // namespace
}  // namespace voxloc::server
