// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/channel_impl.h"

namespace voxloc::client {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kProbeTimeout{2};
constexpr std::chrono::seconds kProbeInterval{5};
constexpr size_t kMaxNames = 5;
// The first bytes of what a server that speaks TLS sends: an alert, a part of the handshake.
constexpr unsigned char kAlertRecord = 0x15;
constexpr unsigned char kHandshakeRecord = 0x16;

struct FreeProbe {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, FreeProbe>;

// A socket whose calls end with a deadline.
class ProbeSocket {
 public:
  explicit ProbeSocket(ProbeClock::time_point deadline) : deadline_(deadline) {}
  ProbeSocket(const ProbeSocket&) = delete;
  ProbeSocket& operator=(const ProbeSocket&) = delete;
  ~ProbeSocket() {
    if (file_ >= 0) close(file_);
  }

  bool Connect(const HostPort& to) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    if (getaddrinfo(to.host.c_str(), absl::StrCat(to.port).c_str(), &hints, &first) != 0) {
      return false;
    }
    const Owned<addrinfo> found(first);
    for (const addrinfo* next = first; next != nullptr; next = next->ai_next) {
      if (file_ >= 0) close(file_);
      file_ = socket(next->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (file_ < 0) continue;
      if (connect(file_, next->ai_addr, next->ai_addrlen) == 0) return true;
      int error = errno;
      if (error == EINPROGRESS && Await(POLLOUT)) {
        socklen_t size = sizeof(error);
        if (getsockopt(file_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return true;
      }
    }
    return false;
  }

  bool Send(const char* bytes, size_t size) {
    while (size > 0) {
      const ssize_t sent = send(file_, bytes, size, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN && Await(POLLOUT)) continue;
      if (sent <= 0) return false;
      bytes += sent;
      size -= static_cast<size_t>(sent);
    }
    return true;
  }

  // 0: nothing more comes, or not in time.
  size_t Receive(char* bytes, size_t size) {
    if (!Await(POLLIN)) return 0;
    const ssize_t got = recv(file_, bytes, size, 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  bool Await(short events) {
    pollfd waited = {file_, events, 0};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - ProbeClock::now());
    return left.count() > 0 && poll(&waited, 1, static_cast<int>(left.count())) == 1;
  }

  const ProbeClock::time_point deadline_;
  int file_ = -1;
};

// TLS over the socket, by memory: OpenSSL's own writing could raise SIGPIPE.
class ProbeHandshake {
 public:
  ProbeHandshake(ProbeSocket& socket, SSL& ssl)
      : socket_(socket), ssl_(ssl), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(&ssl_, in_, out_);
  }

  // `step` is SSL_connect or a reading. Whether it was done before the connection ended.
  template <typename Step>
  bool Do(const Step& step) {
    std::array<char, 4096> buffer{};
    while (true) {
      ERR_clear_error();
      const int done = step();
      const int error = SSL_get_error(&ssl_, done);
      for (int size = BIO_read(out_, buffer.data(), static_cast<int>(buffer.size())); size > 0;
           size = BIO_read(out_, buffer.data(), static_cast<int>(buffer.size()))) {
        if (!socket_.Send(buffer.data(), static_cast<size_t>(size))) return false;
      }
      if (done > 0) return true;
      if (error != SSL_ERROR_WANT_READ) return false;
      const size_t got = socket_.Receive(buffer.data(), buffer.size());
      if (got == 0) return false;
      if (!received_) first_ = static_cast<unsigned char>(buffer[0]);
      received_ = true;
      BIO_write(in_, buffer.data(), static_cast<int>(got));
    }
  }

  [[nodiscard]] bool received() const { return received_; }
  [[nodiscard]] bool speaks_tls() const {
    return received_ && (first_ == kAlertRecord || first_ == kHandshakeRecord);
  }

 private:
  ProbeSocket& socket_;
  SSL& ssl_;
  BIO* const in_;  // the SSL owns both
  BIO* const out_;
  bool received_ = false;
  unsigned char first_ = 0;
};

int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

int OnCertificateRequested(SSL* /*ssl*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 1;
}

bool IsIpAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> number{};
  return inet_pton(AF_INET, host.c_str(), number.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), number.data()) == 1;
}

std::string OneLine(const X509_NAME* name) {
  std::array<char, 256> text{};
  X509_NAME_oneline(name, text.data(), static_cast<int>(text.size()));
  return absl::CEscape(text.data());
}

// The names and addresses that a certificate is for.
std::string NamesIn(const X509* certificate) {
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> texts;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  for (int i = 0; i < count && texts.size() < kMaxNames; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      const ASN1_STRING* const text = name->d.dNSName;
      texts.push_back(absl::CEscape(
          absl::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                            static_cast<size_t>(ASN1_STRING_length(text)))));
    } else if (name->type == GEN_IPADD) {
      const ASN1_OCTET_STRING* const number = name->d.iPAddress;
      std::array<char, INET6_ADDRSTRLEN> text{};
      const int family = ASN1_STRING_length(number) == 4 ? AF_INET : AF_INET6;
      if (inet_ntop(family, ASN1_STRING_get0_data(number), text.data(), text.size()) != nullptr) {
        texts.emplace_back(text.data());
      }
    }
  }
  return texts.empty() ? "no name" : absl::StrJoin(texts, ", ");
}

std::string ExplainVerdict(long verdict, const X509* certificate, const std::string& host,
                           const std::string& ca_file) {
  switch (verdict) {
    case X509_V_OK:
      return "";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("the server's certificate is for ", NamesIn(certificate),
                          ", and not for ", host, " (tls_server_name expects another name)");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat("the server's certificate is signed by ",
                          OneLine(X509_get_issuer_name(certificate)),
                          ", an authority that is not in ",
                          ca_file.empty() ? "the system's list (tls_ca_file names another)"
                                          : absl::StrCat("the CA file ", ca_file));
    default:
      return absl::StrCat("the server's certificate is not valid: ",
                          X509_verify_cert_error_string(verdict));
  }
}

}  // namespace

std::string TlsProbe::Explain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!probed_ || Clock::now() >= probed_at_ + kProbeInterval) {
    found_ = Probe().cause;
    probed_ = true;
    probed_at_ = Clock::now();
  }
  return found_;
}

absl::StatusOr<int64_t> TlsProbe::Expiry() const {
  const Found found = Probe();
  if (found.expiry_unix_s.has_value()) return *found.expiry_unix_s;
  return absl::UnavailableError(absl::StrCat(
      address_, " shows no certificate: ",
      found.cause.empty() ? "it cannot be reached, or does not speak TLS" : found.cause));
}

TlsProbe::Found TlsProbe::Probe() const {
  Found found;
  const auto to = HostPortOf(address_);
  if (!to.ok()) return found;
  ProbeSocket socket(ProbeClock::now() + kProbeTimeout);
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || !socket.Connect(*to)) return found;
  bool certificate_requested = false;
  SSL_CTX_set_default_passwd_cb(context.get(), &NoPassword);
  SSL_CTX_set_cert_cb(context.get(), &OnCertificateRequested, &certificate_requested);
  if (options_.tls_ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else {
    SSL_CTX_load_verify_locations(context.get(), options_.tls_ca_file.c_str(), nullptr);
  }
  if (!options_.tls_certificate_file.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), options_.tls_certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), options_.tls_key_file.c_str(), SSL_FILETYPE_PEM);
  }
  const Owned<SSL> ssl(SSL_new(context.get()));
  if (ssl == nullptr) return found;
  const std::string& host = options_.tls_server_name.empty() ? to->host : options_.tls_server_name;
  if (IsIpAddress(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl.get()), host.c_str(), 0);
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  // The certificate is verified below; the handshake continues whatever it is.
  SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2.data(), kHttp2.size());

  ProbeHandshake handshake(socket, *ssl);
  const bool done = handshake.Do([&ssl] { return SSL_connect(ssl.get()); });
  const Owned<X509> certificate(SSL_get1_peer_certificate(ssl.get()));
  if (certificate != nullptr) found.expiry_unix_s = ExpiryOf(certificate.get());
  std::string& cause = found.cause;
  if (!options_.tls) {
    if (handshake.speaks_tls()) cause = "the server speaks TLS, and the client does not (tls)";
  } else if (handshake.received() && !handshake.speaks_tls()) {
    cause = "the server does not speak TLS, and the client does (tls)";
  } else if (certificate != nullptr) {
    cause = ExplainVerdict(SSL_get_verify_result(ssl.get()), certificate.get(), host,
                           options_.tls_ca_file);
    char byte = 0;
    const auto read = [&ssl, &byte] { return SSL_read(ssl.get(), &byte, 1); };
    if (cause.empty() && certificate_requested && !(done && handshake.Do(read))) {
      cause = options_.tls_certificate_file.empty()
                  ? "the server asks for a certificate, and the client has none "
                    "(tls_certificate_file)"
                  : absl::StrCat("the server does not accept the client's certificate ",
                                 options_.tls_certificate_file);
    }
  }
  ERR_clear_error();
  return found;
}

}  // namespace voxloc::client
