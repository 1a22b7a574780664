// SPDX-License-Identifier: Apache-2.0
//
// Certificates that tests make. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_SECURITY_MADE_CERTIFICATES_H_
#define VOXLOC_TESTS_SERVER_SECURITY_MADE_CERTIFICATES_H_

#include <string>

namespace voxloc::server {

struct MadeCertificate {
  std::string certificate;  // PEM
  std::string private_key;  // PEM
};

struct CertificateRequest {
  std::string common_name;
  std::string alternative_names;  // as OpenSSL writes them: "DNS:a,URI:b"; empty: none
  int begins_s = -3600;           // from now
  int ends_s = 90 * 86'400;
};

// An authority, signed by itself.
[[nodiscard]] MadeCertificate MakeAuthority(const std::string& common_name);

[[nodiscard]] MadeCertificate MakeCertificate(const MadeCertificate& authority,
                                              const CertificateRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_SECURITY_MADE_CERTIFICATES_H_
