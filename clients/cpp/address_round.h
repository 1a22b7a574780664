// SPDX-License-Identifier: Apache-2.0
//
// The addresses of a channel, each tried once, from the one that calls go to on. A plain value for
// one thread. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_ADDRESS_ROUND_H_
#define VOXLOC_CLIENTS_CPP_ADDRESS_ROUND_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "clients/cpp/channel_impl.h"

namespace voxloc::client {

class AddressRound {
 public:
  explicit AddressRound(const Channel& channel);

  // To be tried now. Lives as long as the channel.
  [[nodiscard]] const Endpoint& endpoint() const { return impl_->endpoints[index()]; }

  // The endpoint refused, or could not be reached: on to the next. False: each was tried, and
  // Refusal says how.
  [[nodiscard]] bool Next(absl::Status refusal);

  // What the endpoints said, in one message. The code and the details are those of the last that
  // answered, or of the last if none did.
  [[nodiscard]] absl::Status Refusal() const;

  // The shortest time that they asked for, seconds; 0 where one did not.
  [[nodiscard]] double RetryAfter_s() const;

 private:
  [[nodiscard]] size_t index() const {
    return (begin_ + refusals_.size()) % impl_->endpoints.size();
  }

  const Channel::Impl* impl_;
  size_t begin_;
  std::vector<absl::Status> refusals_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ADDRESS_ROUND_H_
