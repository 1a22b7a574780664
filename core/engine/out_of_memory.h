// SPDX-License-Identifier: Apache-2.0
//
// Turns a failed allocation into a status. Errors are values in this code base; std::bad_alloc from
// the standard containers is the one exception that has to be expected, and it is caught where an
// engine is entered.

#ifndef VOXLOC_CORE_ENGINE_OUT_OF_MEMORY_H_
#define VOXLOC_CORE_ENGINE_OUT_OF_MEMORY_H_

#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"

namespace voxloc {

// ResourceExhausted with the message from `describe`; without a message if that runs out of memory
// too.
template <typename Describe>
[[nodiscard]] absl::Status OutOfMemory(const Describe& describe) {
  try {
    return absl::ResourceExhaustedError(describe());
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// What `work` returns, a Status or a StatusOr; OutOfMemory(describe) where it throws
// std::bad_alloc, or std::length_error from a size that no container can have.
template <typename Work, typename Describe>
[[nodiscard]] auto CatchOutOfMemory(const Work& work, const Describe& describe)
    -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory(describe);
  } catch (const std::length_error&) {
    return OutOfMemory(describe);
  }
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_OUT_OF_MEMORY_H_
