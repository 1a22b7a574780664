// SPDX-License-Identifier: Apache-2.0
//
// TLS and tokens over real connections, with certificates that the test makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "clients/cpp/map_watch.h"
#include "clients/cpp/score_client.h"
#include "clients/cpp/search_client.h"
#include "clients/cpp/session.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/clients/cpp/test_certificates.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTimeout_s = 20.0;
constexpr char kSecret[] = "s3cret-T0ken.~+/=";

class ChannelSecurity : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    return folder_.Write(name, text);
  }

  // Says who the client is, by its certificate, and remembers its metadata.
  FakeBehaviour EchoesCaller() {
    FakeBehaviour behaviour;
    behaviour.get_server_info = [this](grpc::ServerContext* context,
                                       v1::GetServerInfoResponse* response) {
      Remember(*context);
      for (const auto& name : context->auth_context()->GetPeerIdentity()) {
        response->set_caller(std::string(name.data(), name.size()));
      }
      return grpc::Status::OK;
    };
    return behaviour;
  }

  void Remember(const grpc::ServerContext& context) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string joined;
    const auto range = context.client_metadata().equal_range("authorization");
    for (auto value = range.first; value != range.second; ++value) {
      joined += std::string(value->second.data(), value->second.size()) + "|";
    }
    authorizations_.push_back(joined);
  }

  std::vector<std::string> authorizations() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return authorizations_;
  }

  static std::shared_ptr<grpc::ServerCredentials> ServerTls(const SignedKey& own,
                                                            const std::string& clients_ca) {
    grpc::SslServerCredentialsOptions options(
        clients_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                           : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = clients_ca;
    options.pem_key_cert_pairs.push_back({own.key, own.certificate});
    return grpc::SslServerCredentials(options);
  }

  ChannelOptions TlsTo(const FakeServer& server, const TestAuthority& authority) const {
    ChannelOptions options;
    options.server = server.address();
    options.tls = true;
    options.tls_ca_file = Write("ca.pem", authority.certificate());
    return options;
  }

  static absl::StatusOr<v1::GetServerInfoResponse> Info(const ChannelOptions& options) {
    const absl::StatusOr<Channel> channel = Channel::Create(options);
    if (!channel.ok()) return channel.status();
    return GetServerInfo(*channel, kTimeout_s);
  }

  static absl::Status CreateStatus(const ChannelOptions& options) {
    return Channel::Create(options).status();
  }

 private:
  ScratchDir folder_;
  mutable std::mutex mutex_;
  std::vector<std::string> authorizations_;
};

TEST_F(ChannelSecurity, ReachesAServerThatItsAuthorityVouchesForAndNoOther) {
  const TestAuthority authority("authority");
  const TestAuthority other("other");
  const FakeServer server(EchoesCaller(), ServerTls(authority.Sign("server", "IP:127.0.0.1"), ""));
  ChannelOptions options = TlsTo(server, authority);
  EXPECT_TRUE(Info(options).ok()) << Info(options).status();
  options.tls_ca_file = Write("other.pem", other.certificate());
  const absl::Status refused = Info(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(server.address()));
  // The system's authorities do not know it either.
  options.tls_ca_file.clear();
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
  options.tls = false;
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ChannelSecurity, ExpectsTheNameOfTheAddressOrTheOneThatItIsTold) {
  const TestAuthority authority("authority");
  const FakeServer server(EchoesCaller(),
                          ServerTls(authority.Sign("server", "DNS:voxloc.test"), ""));
  ChannelOptions options = TlsTo(server, authority);
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
  options.tls_server_name = "voxloc.test";
  EXPECT_TRUE(Info(options).ok()) << Info(options).status();
  options.tls_server_name = "another.test";
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ChannelSecurity, SaysWhatIsWrongWithTls) {
  const TestAuthority authority("authority");
  const TestAuthority other("other");
  const FakeServer server(EchoesCaller(),
                          ServerTls(authority.Sign("server", "DNS:voxloc.test,IP:127.0.0.1"), ""));
  const FakeServer plain(EchoesCaller());
  const FakeServer asking(
      EchoesCaller(), ServerTls(authority.Sign("server", "IP:127.0.0.1"), authority.certificate()));
  const auto expect = [](const ChannelOptions& options, const std::string& words) {
    const absl::Status status = Info(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(HasSubstr(options.server), HasSubstr(words)));
    // A session says the same.
    const auto session = LocalizationSession::Open(*Channel::Create(options), SessionOptions());
    EXPECT_THAT(std::string(session.status().message()), HasSubstr(words));
  };
  ChannelOptions without;
  without.server = server.address();
  expect(without, "the server speaks TLS, and the client does not");

  ChannelOptions options = TlsTo(server, authority);
  options.server = plain.address();
  expect(options, "the server does not speak TLS, and the client does");

  options = TlsTo(server, authority);
  options.tls_ca_file = Write("other.pem", other.certificate());
  expect(options, "authority, an authority that is not in the CA file " + options.tls_ca_file);

  options = TlsTo(server, authority);
  options.tls_server_name = "another.test";
  expect(options, "is for voxloc.test, 127.0.0.1, and not for another.test");

  options = TlsTo(asking, authority);
  expect(options, "the server asks for a certificate, and the client has none");
  const SignedKey foreign = other.Sign("bus-7", "");
  options.tls_certificate_file = Write("foreign.pem", foreign.certificate);
  options.tls_key_file = Write("foreign.key", foreign.key);
  expect(options, "the server does not accept the client's certificate");

  // Nobody there: TLS is not the reason.
  options = TlsTo(server, authority);
  options.server = "127.0.0.1:1";
  EXPECT_THAT(std::string(Info(options).status().message()), Not(HasSubstr("gRPC says")));
}

TEST_F(ChannelSecurity, PresentsItsCertificateToAServerThatAsksForIt) {
  const TestAuthority authority("authority");
  const TestAuthority other("other");
  const FakeServer server(
      EchoesCaller(), ServerTls(authority.Sign("server", "IP:127.0.0.1"), authority.certificate()));
  ChannelOptions options = TlsTo(server, authority);
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
  const SignedKey own = authority.Sign("bus-7", "");
  options.tls_certificate_file = Write("client.pem", own.certificate);
  options.tls_key_file = Write("client.key", own.key);
  const absl::StatusOr<v1::GetServerInfoResponse> info = Info(options);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->caller(), "bus-7");
  const SignedKey foreign = other.Sign("bus-7", "");
  options.tls_certificate_file = Write("foreign.pem", foreign.certificate);
  options.tls_key_file = Write("foreign.key", foreign.key);
  EXPECT_EQ(Info(options).status().code(), absl::StatusCode::kUnavailable);
}

// Sees the metadata of all calls, whoever serves them.
class CallRecorder final : public grpc::AuthMetadataProcessor {
 public:
  // The paths of the calls, by the "authorization" that they came with.
  using Calls = std::map<std::string, std::set<std::string>>;

  explicit CallRecorder(Calls* calls) : calls_(calls) {}

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const auto value = [&metadata](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string()
                                     : std::string(found->second.data(), found->second.size());
    };
    const std::lock_guard<std::mutex> lock(mutex_);
    (*calls_)[value("authorization")].insert(value(":path"));
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  Calls* calls_;
};

TEST_F(ChannelSecurity, SendsTheTokenWithEveryCallAndStream) {
  const TestAuthority authority("authority");
  const auto credentials = ServerTls(authority.Sign("server", "IP:127.0.0.1"), "");
  CallRecorder::Calls calls;
  credentials->SetAuthMetadataProcessor(std::make_shared<CallRecorder>(&calls));
  {
    const FakeServer server(FakeBehaviour(), credentials);
    ChannelOptions options = TlsTo(server, authority);
    options.token = kSecret;
    const absl::StatusOr<Channel> channel = Channel::Create(options);
    ASSERT_TRUE(channel.ok()) << channel.status();
    const auto served = [](const absl::Status& status) {
      return status.code() == absl::StatusCode::kUnimplemented;
    };
    const MapClient maps(*channel);
    EXPECT_TRUE(served(GetServerInfo(*channel, kTimeout_s).status()));
    EXPECT_TRUE(served(LocalizationSession::Open(*channel, SessionOptions()).status()));
    EXPECT_TRUE(served(EstimateInitialPose(*channel, {}, nullptr, kTimeout_s).status()));
    EXPECT_TRUE(served(MapWatch(*channel, "town").Next().status()));
    EXPECT_TRUE(served(maps.Get("town", kTimeout_s).status()));
    EXPECT_TRUE(served(maps.Drop("town", 0, kTimeout_s).status()));
    EXPECT_TRUE(served(maps.GetTiles(v1::GetTilesRequest(), nullptr, kTimeout_s).status()));
    EXPECT_TRUE(served(MapTransaction::Begin(*channel, TransactionOptions()).status()));
    EXPECT_TRUE(served(ScoreClient::Open(*channel, v1::ScoreSetup(), kTimeout_s).status()));
  }
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls.begin()->first, std::string("Bearer ") + kSecret);
  EXPECT_EQ(calls.begin()->second.size(), 9u);
}

TEST_F(ChannelSecurity, UsesATokenOfAFileAsItIsAtTheCall) {
  const FakeServer server(EchoesCaller());
  ChannelOptions options;
  options.server = server.address();
  options.token_file = Write("token", "first\n");
  const absl::StatusOr<Channel> channel = Channel::Create(options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_TRUE(GetServerInfo(*channel, kTimeout_s).ok());
  Write("token", "again\n");  // of the same size
  EXPECT_TRUE(GetServerInfo(*channel, kTimeout_s).ok());
  // While it is being replaced.
  Write("token", "");
  EXPECT_TRUE(GetServerInfo(*channel, kTimeout_s).ok());
  std::filesystem::remove(options.token_file);
  EXPECT_TRUE(GetServerInfo(*channel, kTimeout_s).ok());
  Write("token", "last");
  EXPECT_TRUE(GetServerInfo(*channel, kTimeout_s).ok());
  EXPECT_THAT(authorizations(), ElementsAre("Bearer first|", "Bearer again|", "Bearer again|",
                                            "Bearer again|", "Bearer last|"));
}

TEST_F(ChannelSecurity, SendsNothingWithoutAToken) {
  const FakeServer server(EchoesCaller());
  ChannelOptions options;
  options.server = server.address();
  EXPECT_TRUE(Info(options).ok());
  EXPECT_THAT(authorizations(), ElementsAre(""));
}

TEST_F(ChannelSecurity, KeepsATokenInPlainTextOnThisMachine) {
  ChannelOptions options;
  options.token = kSecret;
  for (const char* local : {"localhost:1", "LOCALHOST:1", "127.0.0.1:1", "127.3.2.1:1", "[::1]:1",
                            "unix:/tmp/s", "unix:///tmp/s", "ipv4:127.0.0.1:1", "ipv6:[::1]:1",
                            "dns:localhost:1", "dns:///localhost:1", "localhost:1, 127.0.0.1:2"}) {
    options.server = local;
    EXPECT_TRUE(CreateStatus(options).ok()) << local << ": " << CreateStatus(options);
  }
  for (const char* remote :
       {"10.0.0.1:1", "voxloc.example:1", "[::2]:1", "127.0.0.1.example:1", "localhost.example:1",
        "dns://127.0.0.1/voxloc.example:1", "128.0.0.1:1", "0.0.0.0:1", "localhost:1,10.0.0.1:1"}) {
    options.server = remote;
    const absl::Status refused = CreateStatus(options);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << remote;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("TLS"));
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(kSecret)));
    options.allow_insecure_token = true;
    EXPECT_TRUE(CreateStatus(options).ok()) << remote;
    options.allow_insecure_token = false;
    options.tls = true;
    EXPECT_TRUE(CreateStatus(options).ok()) << remote;
    options.tls = false;
  }
}

TEST_F(ChannelSecurity, NamesTheFileAndWhatIsWrongWithIt) {
  const TestAuthority authority("authority");
  const SignedKey one = authority.Sign("one", "");
  const SignedKey two = authority.Sign("two", "");
  const std::string certificate = Write("one.pem", one.certificate);
  const std::string key = Write("one.key", one.key);
  const auto expect = [](const ChannelOptions& options, absl::StatusCode code,
                         const std::vector<std::string>& words) {
    const absl::Status status = CreateStatus(options);
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& word : words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    }
  };
  ChannelOptions tls;
  tls.server = "localhost:1";
  tls.tls = true;

  ChannelOptions options = tls;
  options.tls_ca_file = "/nowhere/ca.pem";
  expect(options, absl::StatusCode::kNotFound, {"/nowhere/ca.pem", "No such file"});
  options.tls_ca_file = key;
  expect(options, absl::StatusCode::kInvalidArgument, {key, "certificate"});
  options = tls;
  options.tls_certificate_file = certificate;
  expect(options, absl::StatusCode::kInvalidArgument, {"tls_key_file", certificate});
  options.tls_key_file = certificate;
  expect(options, absl::StatusCode::kInvalidArgument, {certificate, "private key"});
  options.tls_key_file = Write("two.key", two.key);
  expect(options, absl::StatusCode::kInvalidArgument, {options.tls_key_file, certificate});
  options.tls_key_file = key;
  expect(options, absl::StatusCode::kOk, {});
  options.tls = false;
  expect(options, absl::StatusCode::kInvalidArgument, {"tls_certificate_file", "tls"});

  options = ChannelOptions();
  options.server = "localhost:1";
  options.token_file = "/nowhere/token";
  expect(options, absl::StatusCode::kNotFound, {"token file /nowhere/token"});
  options.token_file = Write("empty", " \n");
  expect(options, absl::StatusCode::kInvalidArgument, {options.token_file, "empty"});
  options.token_file = Write("long", std::string(4097, 'x'));
  expect(options, absl::StatusCode::kInvalidArgument, {options.token_file, "4096"});
  options.token_file = Write("two lines", "s3cret\nX-Other: 1\n");
  expect(options, absl::StatusCode::kInvalidArgument, {options.token_file, "character 7"});
  EXPECT_THAT(std::string(CreateStatus(options).message()), Not(HasSubstr("s3cret")));
  options.token = kSecret;
  expect(options, absl::StatusCode::kInvalidArgument, {"both"});
  options.token_file.clear();
  options.token = "s3cret\x01";
  expect(options, absl::StatusCode::kInvalidArgument, {"printable"});
  EXPECT_THAT(std::string(CreateStatus(options).message()), Not(HasSubstr("s3cret")));
}

// Neither again nor elsewhere: another server would say the same.
TEST_F(ChannelSecurity, EndsAtOnceWithTheReasonWhereItIsNotLetIn) {
  for (const auto& [code, expected] :
       {std::pair(grpc::StatusCode::UNAUTHENTICATED, absl::StatusCode::kUnauthenticated),
        std::pair(grpc::StatusCode::PERMISSION_DENIED, absl::StatusCode::kPermissionDenied)}) {
    std::atomic<int> calls{0};
    std::atomic<int> elsewhere{0};
    FakeBehaviour refuses;
    const grpc::StatusCode refusal_code = code;
    // Opens at first, as before its token expired.
    refuses.align_scans = [&calls, refusal_code](grpc::ServerContext*,
                                                 FakeBehaviour::AlignStream* stream) {
      if (++calls > 1) return grpc::Status(refusal_code, "the token has expired");
      v1::AlignScansRequest request;
      stream->Read(&request);
      v1::AlignScansResponse response;
      response.mutable_opened();
      stream->Write(response);
      stream->Read(&request);
      response.mutable_draining();
      stream->Write(response);
      while (stream->Read(&request)) {
      }
      return grpc::Status::OK;
    };
    FakeBehaviour other;
    other.align_scans = [&elsewhere](grpc::ServerContext*, FakeBehaviour::AlignStream*) {
      ++elsewhere;
      return grpc::Status::OK;
    };
    const FakeServer first(refuses);
    ChannelOptions options;
    options.server = first.address();
    auto session = LocalizationSession::Open(*Channel::Create(options), SessionOptions());
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->Activate(true).ok());
    const std::optional<absl::Status> end = (*session)->AwaitEnd(kTimeout_s);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->code(), expected);
    EXPECT_THAT(std::string(end->message()), HasSubstr("the token has expired"));
    EXPECT_EQ(calls, 2);

    const FakeServer second(other);
    options.server = first.address() + "," + second.address();
    const auto refused = LocalizationSession::Open(*Channel::Create(options), SessionOptions());
    EXPECT_EQ(refused.status().code(), expected);
    EXPECT_EQ(elsewhere, 0);
  }
}

}  // namespace
}  // namespace voxloc::client
