// SPDX-License-Identifier: Apache-2.0
//
// A link between a client and a server on this machine that is as slow as one over the air: bytes
// arrive later, and lost segments hold up what follows. TCP never loses bytes; of a lost segment a
// program sees that it, and all after it, come a round trip later, which is what this does.
//
// Connections go to the port of the link in place of the server's. Thread-safe; the destructor ends
// all connections.

#ifndef VOXLOC_TESTS_ROS_WIRE_SLOW_LINK_H_
#define VOXLOC_TESTS_ROS_WIRE_SLOW_LINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace voxloc::ros_wire {

struct SlowLinkOptions {
  std::string server_address;    // IPv4:port
  absl::Duration one_way_delay;  // in each direction
  double segment_loss = 0.0;     // share of the segments, 0 to 1
  uint64_t seed = 1;
};

class SlowLink {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SlowLink>> Start(
      const SlowLinkOptions& options);
  ~SlowLink();

  [[nodiscard]] int port() const;
  // Segments that were held up, in both directions.
  [[nodiscard]] uint64_t lost_segments() const;

 private:
  struct Parts;
  explicit SlowLink(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_SLOW_LINK_H_
