// SPDX-License-Identifier: Apache-2.0
//
// How much a page of a list has.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_PAGE_SIZE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_PAGE_SIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace voxloc::server {

// What `page_size` asks for; 0 is the default. InvalidArgument: more than `most`.
[[nodiscard]] inline absl::StatusOr<size_t> PageSize(uint32_t asked, size_t by_default,
                                                     size_t most) {
  if (asked > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size must be at most ", most, " (got ", asked, ")"));
  }
  return asked == 0 ? by_default : asked;
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_PAGE_SIZE_H_
