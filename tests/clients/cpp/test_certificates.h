// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests of TLS, made when they are asked for: an authority of the test's own, and
// what it signs. Keys are of the curve P-256, and everything holds for a day.

#ifndef VOXLOC_TESTS_CLIENTS_CPP_TEST_CERTIFICATES_H_
#define VOXLOC_TESTS_CLIENTS_CPP_TEST_CERTIFICATES_H_

#include <memory>
#include <string>

namespace voxloc::client {

// PEM.
struct SignedKey {
  std::string certificate;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();

  [[nodiscard]] const std::string& certificate() const { return signed_key_.certificate; }

  // `alternative_names` as OpenSSL writes them: "DNS:voxloc.test,IP:127.0.0.1". Empty: none, as of
  // a client.
  [[nodiscard]] SignedKey Sign(const std::string& name, const std::string& alternative_names) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  SignedKey signed_key_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_TESTS_CLIENTS_CPP_TEST_CERTIFICATES_H_
