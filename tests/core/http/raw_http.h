// SPDX-License-Identifier: Apache-2.0
//
// A client of HTTP that sends any bytes. Expectations inside fail the test. Thread-safe: no shared
// state.

#ifndef VOXLOC_TESTS_CORE_HTTP_RAW_HTTP_H_
#define VOXLOC_TESTS_CORE_HTTP_RAW_HTTP_H_

#include <string>

namespace voxloc {

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
  [[nodiscard]] std::string ReadAll() { return ReadThrough(""); }
  // Likewise, but no further than through the first `last`, unless it is empty.
  [[nodiscard]] std::string ReadThrough(const std::string& last);

 private:
  int fd_ = -1;
  std::string read_;  // and not returned yet
};

// Sends the bytes over a connection of their own, and returns all that comes back.
[[nodiscard]] std::string Exchange(int port, const std::string& bytes);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_HTTP_RAW_HTTP_H_
