// SPDX-License-Identifier: Apache-2.0

#include "tests/clients/cpp/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>

namespace voxloc::client {
namespace {

constexpr long kDay_s = 86400;

// What OpenSSL refuses here is a fault of the test.
template <typename Result>
Result Made(Result result) {
  if (!result) std::abort();
  return result;
}

EVP_PKEY* MakeKey() {
  EVP_PKEY_CTX* context = Made(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr));
  EVP_PKEY* key = nullptr;
  Made(EVP_PKEY_keygen_init(context) == 1);
  Made(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1);
  Made(EVP_PKEY_keygen(context, &key) == 1);
  EVP_PKEY_CTX_free(context);
  return key;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = Made(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  Made(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// `issuer` null: signed by itself, an authority.
X509* MakeCertificate(const std::string& name, const std::string& alternative_names, EVP_PKEY* key,
                      X509* issuer, EVP_PKEY* issuer_key) {
  static std::atomic<long> serial{1};
  X509* certificate = Made(X509_new());
  X509_set_version(certificate, 2);  // version 3 of the standard
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kDay_s);
  X509_NAME* subject = X509_get_subject_name(certificate);
  Made(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                  reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                  0) == 1);
  X509* signer = issuer == nullptr ? certificate : issuer;
  Made(X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1);
  Made(X509_set_pubkey(certificate, key) == 1);
  AddExtension(certificate, signer, NID_basic_constraints,
               issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!alternative_names.empty()) {
    AddExtension(certificate, signer, NID_subject_alt_name, alternative_names);
  }
  Made(X509_sign(certificate, issuer_key, EVP_sha256()));
  return certificate;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

SignedKey ToPem(X509* certificate, EVP_PKEY* key) {
  BIO* certificate_bio = Made(BIO_new(BIO_s_mem()));
  BIO* key_bio = Made(BIO_new(BIO_s_mem()));
  Made(PEM_write_bio_X509(certificate_bio, certificate) == 1);
  Made(PEM_write_bio_PrivateKey(key_bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {TextOf(certificate_bio), TextOf(key_bio)};
}

}  // namespace

struct TestAuthority::Impl {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key = MakeKey();
  impl_->certificate = MakeCertificate(name, "", impl_->key, nullptr, impl_->key);
  signed_key_ = ToPem(impl_->certificate, impl_->key);
}

TestAuthority::~TestAuthority() {
  X509_free(impl_->certificate);
  EVP_PKEY_free(impl_->key);
}

SignedKey TestAuthority::Sign(const std::string& name, const std::string& alternative_names) const {
  EVP_PKEY* key = MakeKey();
  X509* certificate = MakeCertificate(name, alternative_names, key, impl_->certificate, impl_->key);
  SignedKey result = ToPem(certificate, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return result;
}

}  // namespace voxloc::client
