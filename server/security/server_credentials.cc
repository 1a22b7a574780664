// SPDX-License-Identifier: Apache-2.0

#include "server/security/server_credentials.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <netinet/in.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/text/host_port.h"
#include "server/config/settings.h"

namespace voxloc::server {
namespace {

// None: a name.
std::optional<in6_addr> NumberOf(const std::string& host) {
  in6_addr number = {};
  if (inet_pton(AF_INET6, host.c_str(), &number) == 1) return number;
  // As IPv6 writes the addresses of IPv4.
  if (inet_pton(AF_INET6, absl::StrCat("::ffff:", host).c_str(), &number) == 1) return number;
  return std::nullopt;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;  // RFC 6761
  const std::optional<in6_addr> number = NumberOf(host);
  if (!number.has_value()) return false;
  if (IN6_IS_ADDR_V4MAPPED(&*number)) return number->s6_addr[12] == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&*number);
}

// gRPC's SslServerCredentials with certificates that change. Its C++ interface offers that by
// FileWatcherCertificateProvider, which takes whatever the files have: a key without its
// certificate, as between the writing of both, would end all handshakes.
class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(std::shared_ptr<TlsFiles> files) : files_(std::move(files)) {}

  // Callers are told apart by CallAccess.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    const auto request = files_->requires_client_certificate()
                             ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, Fetch, this));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  // Before each handshake.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<TlsCredentials*>(self)->FetchNew(config);
  }

  grpc_ssl_certificate_config_reload_status FetchNew(grpc_ssl_server_certificate_config** config) {
    std::shared_ptr<const TlsMaterial> material = files_->material();
    if (material == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {material->private_key.c_str(),
                                             material->certificate_chain.c_str()};
    // gRPC wants some authorities always; where it asks for no client certificate, it uses none.
    const std::string& authorities = material->client_authorities.empty()
                                         ? material->certificate_chain
                                         : material->client_authorities;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    given_ = std::move(material);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<TlsFiles> files_;
  std::shared_ptr<const TlsMaterial> given_;  // what gRPC has; one thread at a time uses it
};

}  // namespace

absl::Status CheckTransport(const Config& config) {
  const TlsOptions& tls = config.tls;
  if (tls.certificate.empty() != tls.private_key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls.certificate and tls.private_key belong together (got only ",
                     tls.certificate.empty() ? "tls.private_key" : "tls.certificate", ")"));
  }
  const auto listen = ParseHostPort(config.listen, PortZero::kAllowed);
  if (!listen.ok()) return CheckAddress("listen", config.listen);
  const std::string& host = listen->host;
  if (!tls.certificate.empty()) {
    if (NumberOf(host).has_value()) return absl::OkStatus();
    // A name may stand for several addresses.
    return absl::InvalidArgumentError(absl::StrCat(
        "with tls.certificate, listen must be an IP address and a port, such as 0.0.0.0:50051 (got "
        "'",
        config.listen, "')"));
  }
  if (!tls.client_ca.empty()) {
    return absl::InvalidArgumentError("tls.client_ca needs tls.certificate and tls.private_key");
  }
  if (config.insecure || IsLoopback(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "listen ", config.listen,
      " would serve other machines without encryption: set tls.certificate and tls.private_key, or "
      "say --insecure where the network is protected otherwise"));
}

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(std::shared_ptr<TlsFiles> files) {
  return std::make_shared<TlsCredentials>(std::move(files));
}

}  // namespace voxloc::server
