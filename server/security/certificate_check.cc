// SPDX-License-Identifier: Apache-2.0

#include "server/security/certificate_check.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

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

absl::StatusOr<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return absl::InvalidArgumentError("has a date that cannot be read");
  }
  return absl::FromTM(parts, absl::UTCTimeZone());
}

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
  if (!begins.ok() || !ends.ok()) {
    return absl::InvalidArgumentError("the certificate has a date that cannot be read");
  }
  if (now >= *ends) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate has expired at ",
                     absl::FormatTime(absl::RFC3339_sec, *ends, absl::UTCTimeZone())));
  }
  if (now < *begins) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate is not valid before ",
                     absl::FormatTime(absl::RFC3339_sec, *begins, absl::UTCTimeZone())));
  }
  return *ends;
}

absl::Status CheckAuthorities(absl::string_view certificates) {
  const ErrorQueue errors;
  return ReadCertificates(certificates).status();
}

}  // namespace voxloc::server
