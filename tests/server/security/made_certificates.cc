// SPDX-License-Identifier: Apache-2.0

#include "tests/server/security/made_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>
#include <memory>

namespace voxloc::server {
namespace {

template <auto Function>
struct Free {
  template <typename Object>
  void operator()(Object* object) const {
    Function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  Require(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `authority`; null: by itself, as one.
MadeCertificate Make(const CertificateRequest& request, const MadeCertificate* authority) {
  static std::atomic<int> serial{1};
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  Require(key != nullptr && certificate != nullptr);
  X509* const made = certificate.get();
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), serial++);
  X509_gmtime_adj(X509_getm_notBefore(made), request.begins_s);
  X509_gmtime_adj(X509_getm_notAfter(made), request.ends_s);
  X509_set_pubkey(made, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.common_name.c_str()),
                             -1, -1, 0);
  if (authority == nullptr) {
    X509_set_issuer_name(made, X509_get_subject_name(made));
    AddExtension(made, made, NID_basic_constraints, "critical,CA:TRUE");
    Require(X509_sign(made, key.get(), EVP_sha256()) > 0);
  } else {
    const Bio issuer_text(BIO_new_mem_buf(authority->certificate.data(), -1));
    const Certificate issuer(PEM_read_bio_X509(issuer_text.get(), nullptr, nullptr, nullptr));
    const Bio key_text(BIO_new_mem_buf(authority->private_key.data(), -1));
    const Key issuer_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
    Require(issuer != nullptr && issuer_key != nullptr);
    X509_set_issuer_name(made, X509_get_subject_name(issuer.get()));
    if (!request.alternative_names.empty()) {
      AddExtension(made, issuer.get(), NID_subject_alt_name, request.alternative_names);
    }
    Require(X509_sign(made, issuer_key.get(), EVP_sha256()) > 0);
  }
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(certificate_text.get(), made) == 1);
  const Bio private_text(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_PrivateKey(private_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                   nullptr) == 1);
  return {TextOf(certificate_text), TextOf(private_text)};
}

}  // namespace

MadeCertificate MakeAuthority(const std::string& common_name) {
  CertificateRequest request;
  request.common_name = common_name;
  return Make(request, nullptr);
}

MadeCertificate MakeCertificate(const MadeCertificate& authority,
                                const CertificateRequest& request) {
  return Make(request, &authority);
}

}  // namespace voxloc::server
