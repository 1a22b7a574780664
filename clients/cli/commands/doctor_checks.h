// SPDX-License-Identifier: Apache-2.0
//
// What `voxloc doctor` finds out.

#ifndef VOXLOC_CLIENTS_CLI_COMMANDS_DOCTOR_CHECKS_H_
#define VOXLOC_CLIENTS_CLI_COMMANDS_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>

namespace voxloc::cli {

enum class Finding { kOk, kWarning, kError };

struct Check {
  std::string name;
  Finding finding = Finding::kOk;
  std::string detail;
  std::string remedy;  // empty: nothing is to be done
};

// The server's clock, `server_ns`, against the client's before and after the call that asked for
// it: a warning where it is over 0.1 s off beyond half the call's time.
[[nodiscard]] Check ClockCheck(int64_t server_ns, int64_t before_ns, int64_t after_ns);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMANDS_DOCTOR_CHECKS_H_
