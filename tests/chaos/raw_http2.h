// SPDX-License-Identifier: Apache-2.0
//
// Connections that speak HTTP/2 byte by byte, correctly or not (RFC 9113, RFC 7541). Nothing here
// answers what the server sends. For one thread.

#ifndef VOXLOC_TESTS_CHAOS_RAW_HTTP2_H_
#define VOXLOC_TESTS_CHAOS_RAW_HTTP2_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace voxloc::chaos {

enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9,
};

constexpr uint8_t kEndStream = 0x1;   // of DATA and HEADERS
constexpr uint8_t kEndHeaders = 0x4;  // of HEADERS and CONTINUATION

// "PRI * HTTP/2.0..." and an empty SETTINGS frame.
[[nodiscard]] std::string ClientPreface();

[[nodiscard]] std::string Frame(FrameType type, uint8_t flags, uint32_t stream,
                                const std::string& payload);
// With this length in its head, whatever the payload.
[[nodiscard]] std::string FrameWithLength(uint32_t length, FrameType type, uint8_t flags,
                                          uint32_t stream, const std::string& payload);

// Literal header fields without an index; names and values of at most 126 bytes.
[[nodiscard]] std::string HeaderBlock(
    const std::vector<std::pair<std::string, std::string>>& headers);
// Those of a gRPC call, such as "/voxloc.v1.LocalizationService/AlignScans".
[[nodiscard]] std::string CallHeaders(const std::string& method);

// A message with gRPC's prefix in a DATA frame.
[[nodiscard]] std::string MessageFrame(uint32_t stream, const std::string& message);

// A TCP connection, closed with the object.
class RawConnection {
 public:
  // Not connected() where the server does not take it within 5 s.
  explicit RawConnection(const std::string& address);
  ~RawConnection();
  RawConnection(RawConnection&& other) noexcept;
  RawConnection& operator=(RawConnection&& other) noexcept;

  [[nodiscard]] bool connected() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }

  // False: the other end has gone, or takes nothing for 5 s.
  bool Send(const std::string& bytes) const;

  // What has arrived, waiting for at most so long for the first byte; appends. False: the other
  // end has closed.
  bool Receive(double timeout_s, std::string* bytes) const;

  // Whether the other end closes within the time. What arrives until then is dropped.
  [[nodiscard]] bool ClosedWithin(double timeout_s) const;

 private:
  int fd_ = -1;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_RAW_HTTP2_H_
