// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/confirmation.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/ascii.h"

namespace voxloc::cli {

Confirmation Confirm(const std::string& question, bool yes, bool terminal, std::istream& in,
                     std::ostream& err) {
  if (yes) return Confirmation::kYes;
  if (!terminal) return Confirmation::kNobodyToAsk;
  err << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(in, line);
  line = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  return line == "y" || line == "yes" ? Confirmation::kYes : Confirmation::kNo;
}

Confirmation ConfirmOnTerminal(const std::string& question, bool yes) {
  return Confirm(question, yes, isatty(STDIN_FILENO) != 0, std::cin, std::cerr);
}

}  // namespace voxloc::cli
