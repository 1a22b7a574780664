// SPDX-License-Identifier: Apache-2.0
//
// The question whether to do what is hard to take back.

#ifndef VOXLOC_CLIENTS_CLI_CONFIRMATION_H_
#define VOXLOC_CLIENTS_CLI_CONFIRMATION_H_

#include <istream>
#include <ostream>
#include <string>

namespace voxloc::cli {

enum class Confirmation { kYes, kNo, kNobodyToAsk };

// `yes`: the answer was given by a flag. Otherwise asks on `err` and reads a line of `in`, where
// `terminal` says that a person sits there: yes is "y" or "yes".
[[nodiscard]] Confirmation Confirm(const std::string& question, bool yes, bool terminal,
                                   std::istream& in, std::ostream& err);

// On standard input and standard error.
[[nodiscard]] Confirmation ConfirmOnTerminal(const std::string& question, bool yes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CONFIRMATION_H_
