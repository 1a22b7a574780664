// SPDX-License-Identifier: Apache-2.0
//
// The token that goes with each call, given as text or as a file. No message shows a token.
// Thread-safe. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_BEARER_TOKEN_H_
#define VOXLOC_CLIENTS_CPP_BEARER_TOKEN_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc::client {

class BearerToken {
 public:
  // No token.
  BearerToken() = default;

  // At most one of both may be set; none: no token. InvalidArgument: both, or a token that cannot
  // be sent; otherwise the error of the file, which it names.
  [[nodiscard]] static absl::StatusOr<BearerToken> Create(const std::string& token,
                                                          const std::string& file);

  [[nodiscard]] bool empty() const { return state_ == nullptr; }

  // Of a file: as it is now, or the last good one where it holds none at the moment, as while it is
  // being replaced. A token that is too old, the server refuses with its reason. Empty: no token.
  [[nodiscard]] std::string Value() const;

 private:
  struct State {
    std::string file;  // empty: the token never changes
    std::mutex mutex;
    std::string last;
  };

  std::shared_ptr<State> state_;  // null: no token
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_BEARER_TOKEN_H_
