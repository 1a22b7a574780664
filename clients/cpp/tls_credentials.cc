// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/tls_credentials.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cpp/small_file.h"

namespace voxloc::client {
namespace {

// The bundle of all public authorities has 0.2 MB.
constexpr size_t kMaxPemBytes = size_t{1} << 20;

template <typename Object, void (*kFree)(Object*)>
struct Freed {
  void operator()(Object* object) const { kFree(object); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, &X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, &EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO, &BIO_free_all>>;

Bio BioOf(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// In place of asking for a passphrase at the terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

// The first certificate; null: there is none.
Certificate FirstCertificate(const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(BioOf(pem).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  return certificate;
}

Key PrivateKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(BioOf(pem).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

absl::Status CheckTogether(const ChannelOptions& options) {
  if (!options.tls) {
    for (const auto& [name, value] :
         {std::pair("tls_ca_file", &options.tls_ca_file),
          std::pair("tls_certificate_file", &options.tls_certificate_file),
          std::pair("tls_key_file", &options.tls_key_file),
          std::pair("tls_server_name", &options.tls_server_name)}) {
      if (value->empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must come with tls (got '", *value, "' without)"));
    }
  }
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty()) {
    const bool key = options.tls_certificate_file.empty();
    return absl::InvalidArgumentError(
        absl::StrCat("tls_certificate_file and tls_key_file must be given together (got ",
                     key ? "tls_key_file '" : "tls_certificate_file '",
                     key ? options.tls_key_file : options.tls_certificate_file, "' alone)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ChannelOptions& options) {
  if (absl::Status status = CheckTogether(options); !status.ok()) return status;
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  if (!options.tls_ca_file.empty()) {
    absl::StatusOr<std::string> pem = ReadSmallFile(options.tls_ca_file, "CA file", kMaxPemBytes);
    if (!pem.ok()) return pem.status();
    if (FirstCertificate(*pem) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CA file ", options.tls_ca_file, " must hold a certificate in PEM (it holds none)"));
    }
    ssl.pem_root_certs = *std::move(pem);
  }
  if (!options.tls_certificate_file.empty()) {
    absl::StatusOr<std::string> chain =
        ReadSmallFile(options.tls_certificate_file, "certificate file", kMaxPemBytes);
    if (!chain.ok()) return chain.status();
    absl::StatusOr<std::string> key = ReadSmallFile(options.tls_key_file, "key file", kMaxPemBytes);
    if (!key.ok()) return key.status();
    const Certificate certificate = FirstCertificate(*chain);
    if (certificate == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("certificate file ",
                                                     options.tls_certificate_file,
                                                     " must hold a certificate in PEM (it holds "
                                                     "none)"));
    }
    const Key private_key = PrivateKey(*key);
    if (private_key == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("key file ", options.tls_key_file,
                       " must hold a private key in PEM, without a passphrase (it holds none)"));
    }
    if (X509_check_private_key(certificate.get(), private_key.get()) != 1) {
      ERR_clear_error();
      return absl::InvalidArgumentError(
          absl::StrCat("key file ", options.tls_key_file, " must belong to the certificate in ",
                       options.tls_certificate_file, " (it belongs to another one)"));
    }
    ssl.pem_cert_chain = *std::move(chain);
    ssl.pem_private_key = *std::move(key);
  }
  return grpc::SslCredentials(ssl);
}

}  // namespace voxloc::client
