// SPDX-License-Identifier: Apache-2.0
//
// Flags with one value, as commands add them: NAME TYPE, with a help text.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace voxloc::cli {

template <typename T>
CLI::Option* AddOption(CLI::App* command, const std::string& name, T& value,
                       const std::string& type, const std::string& help) {
  return command->add_option(name, value, help)->type_name(type);
}

// The help also shows what `value` is before the command line is read.
template <typename T>
CLI::Option* AddDefaulted(CLI::App* command, const std::string& name, T& value,
                          const std::string& type, const std::string& help) {
  return AddOption(command, name, value, type, help)->capture_default_str();
}

// The help shows neither a default nor a range: what is not given is left to the server, or not
// limited.
template <typename T>
CLI::Option* AddOptional(CLI::App* command, const std::string& name, T& value,
                         const std::string& type, const std::string& help) {
  return command->add_option(name, value, help)->option_text(type);
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_
