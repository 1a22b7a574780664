// SPDX-License-Identifier: Apache-2.0
//
// A client of HTTP that sends any bytes. Expectations inside fail the test. Thread-safe: no shared
// state.

#ifndef VOXLOC_TESTS_SERVER_NETWORK_RAW_HTTP_H_
#define VOXLOC_TESTS_SERVER_NETWORK_RAW_HTTP_H_

#include <string>

namespace voxloc::server {

// A connection to 127.0.0.1, closed at its end.
class RawConnection {
 public:
  explicit RawConnection(int port);
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  ~RawConnection();

  // The other end may have gone.
  void Send(const std::string& bytes) const;
  // Everything until the other end closes the connection; gives up after a minute.
  [[nodiscard]] std::string ReadAll() const;

 private:
  int fd_ = -1;
};

// Sends the bytes over a connection of their own, and returns all that comes back.
[[nodiscard]] std::string Exchange(int port, const std::string& bytes);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_NETWORK_RAW_HTTP_H_
