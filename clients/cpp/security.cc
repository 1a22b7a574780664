// SPDX-License-Identifier: Apache-2.0

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/channel_impl.h"
#include "core/status/try.h"

namespace voxloc::client {
namespace {

absl::Status ReadError(const std::string& path, absl::string_view what, int error) {
  const std::string text = absl::StrCat(what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::FailedPreconditionError(text);
}

// A file of a few kilobytes, read whole: a token, a certificate, a key. NotFound, PermissionDenied,
// FailedPrecondition: it cannot be read. InvalidArgument: it has more than `max_bytes`. `what`
// names its purpose in the message, which has the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, absl::string_view what,
                                          size_t max_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) return ReadError(path, what, errno);
  std::string text(max_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return ReadError(path, what, errno);
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", path, " must have at most ", max_bytes, " bytes (it has more)"));
  }
  return text;
}

// Half of the 8 KiB that gRPC takes as the metadata of a call; signed tokens of Kubernetes take 1
// to 2 KiB.
constexpr size_t kMaxTokenBytes = 4096;

// gRPC ends the process on metadata with other characters.
absl::Status CheckToken(const std::string& token, const std::string& name) {
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " is empty"));
  if (token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must have at most ", kMaxTokenBytes,
                                                   " characters (got ", token.size(), ")"));
  }
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] <= ' ' || token[i] > '~') {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be printable ASCII characters without spaces (character ",
                       i + 1, " of ", token.size(), " is not)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadToken(const std::string& file) {
  // With room for white space around it, such as the end of a line.
  VOXLOC_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(file, "token file", kMaxTokenBytes + 16));
  std::string token(absl::StripAsciiWhitespace(text));
  VOXLOC_TRY(CheckToken(token, absl::StrCat("the token in ", file)));
  return token;
}

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

// The first certificate of a file, whose text is put into `pem`.
absl::StatusOr<Certificate> ReadCertificate(const std::string& path, absl::string_view what,
                                            std::string* pem) {
  VOXLOC_ASSIGN_OR_RETURN(*pem, ReadSmallFile(path, what, kMaxPemBytes));
  Certificate certificate(PEM_read_bio_X509(BioOf(*pem).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  if (certificate != nullptr) return certificate;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", path, " must hold a certificate in PEM (it holds none)"));
}

Key PrivateKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(BioOf(pem).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

absl::Status CheckOptionCombinations(const ChannelOptions& options) {
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

int64_t ExpiryOf(const X509* certificate) {
  std::tm end = {};
  return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 ? timegm(&end) : 0;
}

absl::StatusOr<int64_t> CertificateFileExpiry(const std::string& path) {
  std::string pem;
  VOXLOC_ASSIGN_OR_RETURN(const Certificate certificate,
                          ReadCertificate(path, "tls_certificate_file", &pem));
  return ExpiryOf(certificate.get());
}

absl::StatusOr<BearerToken> BearerToken::Create(const std::string& token, const std::string& file) {
  BearerToken result;
  if (token.empty() && file.empty()) return result;
  if (!token.empty() && !file.empty()) {
    return absl::InvalidArgumentError("token and token_file must not both be set (got both)");
  }
  result.state_ = std::make_shared<State>();
  result.state_->file = file;
  if (file.empty()) {
    result.state_->last = std::string(absl::StripAsciiWhitespace(token));
    VOXLOC_TRY(CheckToken(result.state_->last, "the token"));
  } else {
    VOXLOC_ASSIGN_OR_RETURN(result.state_->last, ReadToken(file));
  }
  return result;
}

std::string BearerToken::Value() const {
  if (state_ == nullptr) return {};
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->file.empty()) {
    // Every time: a few microseconds, and no change can go unnoticed.
    absl::StatusOr<std::string> read = ReadToken(state_->file);
    if (read.ok()) state_->last = *std::move(read);
  }
  return state_->last;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ChannelOptions& options) {
  VOXLOC_TRY(CheckOptionCombinations(options));
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  if (!options.tls_ca_file.empty()) {
    VOXLOC_TRY(ReadCertificate(options.tls_ca_file, "CA file", &ssl.pem_root_certs).status());
  }
  if (!options.tls_certificate_file.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(
        const Certificate certificate,
        ReadCertificate(options.tls_certificate_file, "certificate file", &ssl.pem_cert_chain));
    VOXLOC_ASSIGN_OR_RETURN(ssl.pem_private_key,
                            ReadSmallFile(options.tls_key_file, "key file", kMaxPemBytes));
    const Key private_key = PrivateKey(ssl.pem_private_key);
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
  }
  return grpc::SslCredentials(ssl);
}

}  // namespace voxloc::client
