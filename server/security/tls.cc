// SPDX-License-Identifier: Apache-2.0

#include "server/security/tls.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "core/text/host_port.h"
#include "server/config/config_input.h"
#include "server/config/settings.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

// A certificate is a few kB, and the authorities of a whole distribution are 220 kB.
constexpr size_t kMaxPemBytes = size_t{1} << 20;
// ACME clients renew certificates of 90 days 30 days before their end; later a renewal has failed.
constexpr absl::Duration kRenewalWarning = absl::Hours(24 * 30);

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

// gRPC uses the same library in these threads, and takes what is left in the queue for its own.
struct ErrorQueue {
  ErrorQueue() { ERR_clear_error(); }
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;
  ~ErrorQueue() { ERR_clear_error(); }
};

// Where a pass phrase is asked for, there is none; the default would ask at the terminal.
int NoPassPhrase(char* /*text*/, int /*size*/, int /*writes*/, void* /*user*/) { return -1; }

Bio BioOf(absl::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view text) {
  const Bio bio = BioOf(text);
  std::vector<Certificate> certificates;
  while (Certificate certificate{PEM_read_bio_X509(bio.get(), nullptr, NoPassPhrase, nullptr)}) {
    certificates.push_back(std::move(certificate));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty()) return absl::InvalidArgumentError("has no certificate in PEM");
  if (!at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a damaged certificate after ", certificates.size()));
  }
  return certificates;
}

std::optional<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

absl::Status InvalidError(absl::string_view key, const std::string& path,
                          const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(key, " (", path, "): ", status.message()));
}

std::array<FileStamp, 3> StampsOf(const TlsOptions& options) {
  return {StampOf(options.certificate), StampOf(options.private_key), StampOf(options.client_ca)};
}

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

  // CallAccess identifies callers.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    const auto request = files_->requires_client_certificate()
                             ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    const auto fetch = [](void* self, grpc_ssl_server_certificate_config** config) {
      return static_cast<TlsCredentials*>(self)->FetchNew(config);
    };
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(request, fetch, this));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  // Before each handshake.
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

absl::StatusOr<absl::Time> CheckKeyPair(absl::string_view certificate_chain,
                                        absl::string_view private_key, absl::Time now) {
  const ErrorQueue errors;
  const auto chain = ReadCertificates(certificate_chain);
  if (!chain.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the certificate ", chain.status().message()));
  }
  const Bio bio = BioOf(private_key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassPhrase, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError("the private key is not PEM, or needs a pass phrase");
  }
  X509* const leaf = chain->front().get();
  if (X509_check_private_key(leaf, key.get()) != 1) {
    return absl::InvalidArgumentError("the private key does not belong to the certificate");
  }
  const auto begins = TimeOf(X509_get0_notBefore(leaf));
  const auto ends = TimeOf(X509_get0_notAfter(leaf));
  if (!begins.has_value() || !ends.has_value()) {
    return absl::InvalidArgumentError("the certificate has a date that cannot be read");
  }
  if (now >= *ends) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate has expired at ", TimeText(*ends)));
  }
  if (now < *begins) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate is not valid before ", TimeText(*begins)));
  }
  return *ends;
}

absl::Status CheckAuthorities(absl::string_view certificates) {
  const ErrorQueue errors;
  return ReadCertificates(certificates).status();
}

absl::StatusOr<TlsMaterial> ReadTlsMaterial(const TlsOptions& options) {
  TlsMaterial material;
  ConfigErrors errors;
  const auto read = [&errors](absl::string_view key, const std::string& path, std::string& into) {
    auto text = ReadTextFile(path, kMaxPemBytes);
    if (text.ok()) {
      into = *std::move(text);
    } else {
      errors.Add(InvalidError(key, path, text.status()));
    }
  };
  read("tls.certificate", options.certificate, material.certificate_chain);
  read("tls.private_key", options.private_key, material.private_key);
  if (!options.client_ca.empty()) {
    read("tls.client_ca", options.client_ca, material.client_authorities);
  }
  VOXLOC_TRY(errors.Status());
  const auto expires = CheckKeyPair(material.certificate_chain, material.private_key, absl::Now());
  if (!expires.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tls.certificate (", options.certificate,
                                                   ") and tls.private_key (", options.private_key,
                                                   "): ", expires.status().message()));
  }
  material.expires = *expires;
  if (options.client_ca.empty()) return material;
  if (absl::Status status = CheckAuthorities(material.client_authorities); !status.ok()) {
    return InvalidError("tls.client_ca", options.client_ca, status);
  }
  return material;
}

TlsFiles::TlsFiles(TlsOptions options, const Metrics& metrics)
    : options_(std::move(options)), metrics_(metrics) {}

absl::Status TlsFiles::Reload() {
  // Taken before the files are read: what changes meanwhile is read again.
  const auto stamps = StampsOf(options_);
  auto material = ReadTlsMaterial(options_);
  const absl::MutexLock lock(&mutex_);
  last_read_ = stamps;
  if (!material.ok()) {
    metrics_.tls_reloads_failed.Increment();
    Log(LogLevel::kError, "tls_files_refused", {{"error", material.status().message()}});
    return material.status();
  }
  material_ = std::make_shared<const TlsMaterial>(*std::move(material));
  metrics_.tls_reloads_ok.Increment();
  metrics_.tls_expiry_s.Set(static_cast<double>(absl::ToUnixSeconds(material_->expires)));
  const std::string expires = TimeText(material_->expires);
  Log(LogLevel::kInfo, "tls_files_read",
      {{"certificate", options_.certificate}, {"expires", expires}});
  if (material_->expires - absl::Now() < kRenewalWarning) {
    Log(LogLevel::kWarn, "tls_certificate_ends",
        {{"certificate", options_.certificate}, {"expires", expires}});
  }
  return absl::OkStatus();
}

std::shared_ptr<const TlsMaterial> TlsFiles::material() const {
  const absl::MutexLock lock(&mutex_);
  return material_;
}

TimeoutWatch::Clock::time_point TlsFiles::Poll(TimeoutWatch::Clock::time_point now) {
  const auto stamps = StampsOf(options_);
  bool changed = false;
  {
    const absl::MutexLock lock(&mutex_);
    changed = stamps != last_read_;
  }
  if (changed) static_cast<void>(Reload());
  return now + ToDuration(options_.refresh_s);
}

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
