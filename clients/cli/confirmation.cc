// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/confirmation.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/ascii.h"

namespace voxloc::cli {

Answer Confirm(const std::string& question, bool yes, bool terminal, std::istream& in,
               std::ostream& err) {
  if (yes) return Answer::kYes;
  if (!terminal) return Answer::kNobodyToAsk;
  err << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(in, line);
  line = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  return line == "y" || line == "yes" ? Answer::kYes : Answer::kNo;
}

Answer ConfirmOnTerminal(const std::string& question, bool yes) {
  return Confirm(question, yes, isatty(STDIN_FILENO) != 0, std::cin, std::cerr);
}

}  // namespace voxloc::cli
