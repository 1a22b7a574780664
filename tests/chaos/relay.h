// SPDX-License-Identifier: Apache-2.0
//
// A TCP relay in front of a server. It can stop forwarding without closing connections, as a broken
// network does: both ends then see an open, silent connection.

#ifndef VOXLOC_TESTS_CHAOS_RELAY_H_
#define VOXLOC_TESTS_CHAOS_RELAY_H_

#include <atomic>
#include <string>
#include <thread>

namespace voxloc::chaos {

class Relay {
 public:
  // At a free port of 127.0.0.1, before the server at `address`.
  explicit Relay(std::string address);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

  // From now on nothing is forwarded, accepted or closed.
  void Stall() { stalled_ = true; }

 private:
  void Run();

  const std::string server_;
  std::string address_;
  int listener_ = -1;
  std::atomic<bool> stalled_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_RELAY_H_
