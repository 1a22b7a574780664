// SPDX-License-Identifier: Apache-2.0
//
// OwnLoopback: a loopback address of this process, for servers that are started again at the port
// that they had. On 127.0.0.1 another test's server may be given that port while it is free.

#ifndef VOXLOC_TESTS_SUPPORT_OWN_LOOPBACK_H_
#define VOXLOC_TESTS_SUPPORT_OWN_LOOPBACK_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace voxloc {

// 127.x.y.z of the process's number, which Linux keeps below 2^22. Never 127.0.*, nor a broadcast
// address.
[[nodiscard]] inline std::string OwnLoopback() {
  const int process = getpid();
  return absl::StrCat("127.", 1 + process / 62'500, ".", process / 250 % 250, ".",
                      1 + process % 250);
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_OWN_LOOPBACK_H_
