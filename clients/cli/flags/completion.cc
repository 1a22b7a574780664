// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/completion.h"

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "clients/cli/flags/contexts.h"

namespace voxloc::cli {
namespace {

constexpr char kFiles[] = ":files\n";

// Words of a shell, apart from blanks, for the script that reads CompletionText.
constexpr char kBash[] = R"(_voxloc() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ':files' ]]; then
      while IFS= read -r line; do COMPREPLY+=("$line"); done \
        < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
      compopt -o filenames 2>/dev/null
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _voxloc voxloc
)";

constexpr char kZsh[] = R"(#compdef voxloc
_voxloc() {
  local line
  local -a found
  local files=
  while IFS= read -r line; do
    if [[ $line == ':files' ]]; then
      files=1
    else
      found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#found} )) && _describe voxloc found
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _voxloc ]]; then _voxloc "$@"; else compdef _voxloc voxloc; fi
)";

constexpr char kFish[] = R"(function __voxloc_complete
  set -l words (commandline -opc)
  for line in ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$line" = ':files'
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c voxloc -f -a '(__voxloc_complete)'
)";

constexpr std::array<std::pair<const char*, const char*>, 3> kScripts = {
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

std::string CandidateLine(absl::string_view word, absl::string_view help) {
  return absl::StrCat(word, "\t", help.substr(0, help.find('\n')), "\n");
}

// The words of a check against a list, which CLI11 describes as "{a,b}".
std::vector<std::string> ListedValues(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (close == std::string::npos) return {};
  return absl::StrSplit(type.substr(open + 1, close - open - 1), ',', absl::SkipEmpty());
}

// What the value of the option can be, behind `before`, which is typed already.
std::string ValueLines(const CLI::Option& option, const std::string& before,
                       const std::string& typed) {
  const std::string type = option.get_type_name();
  std::vector<std::string> values = ListedValues(option);
  if (absl::StartsWith(type, kContextType)) values = ContextNames();
  std::string lines;
  for (const std::string& value : values) {
    if (absl::StartsWith(value, typed)) absl::StrAppend(&lines, CandidateLine(before + value, ""));
  }
  const bool named = option.nonpositional();
  for (const char* path : {"FILE", "DIR", "PATH"}) {
    if (absl::StartsWith(type, path)) return lines + kFiles;
  }
  // Arguments without a flag are paths, but for those of a list.
  return !named && values.empty() && !absl::StartsWith(type, kContextType) ? lines + kFiles : lines;
}

const CLI::App* SubcommandOf(const CLI::App& command, const std::string& name) {
  const auto subs =
      command.get_subcommands([&name](const CLI::App* sub) { return sub->get_name() == name; });
  return subs.empty() ? nullptr : subs.front();
}

const CLI::Option* FlagOf(const CLI::App& command, const std::string& word) {
  return word.size() > 1 && word[0] == '-'
             ? command.get_option_no_throw(word.substr(0, word.find('=')))
             : nullptr;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

}  // namespace

std::string CompletionText(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  const CLI::Option* awaiting = nullptr;
  size_t arguments = 0;  // without a flag
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    // bash makes three words of --flag=value and of host:port.
    if (word == "=") continue;
    if (word == ":") {
      ++i;
      continue;
    }
    if (std::exchange(awaiting, nullptr) != nullptr) continue;
    if (const CLI::Option* flag = FlagOf(*command, word); flag != nullptr) {
      if (TakesValue(*flag) && !absl::StrContains(word, '=')) awaiting = flag;
    } else if (const CLI::App* sub = SubcommandOf(*command, word); sub != nullptr) {
      command = sub;
    } else if (!absl::StartsWith(word, "-")) {
      ++arguments;
    }
  }
  const std::string typed = words.empty() || words.back() == "=" ? "" : words.back();
  if (awaiting != nullptr) return ValueLines(*awaiting, "", typed);
  const size_t equals = typed.find('=');
  if (const CLI::Option* flag = FlagOf(*command, typed);
      flag != nullptr && equals != std::string::npos) {
    return ValueLines(*flag, typed.substr(0, equals + 1), typed.substr(equals + 1));
  }
  std::string lines;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
    if (absl::StartsWith(sub->get_name(), typed)) {
      absl::StrAppend(&lines, CandidateLine(sub->get_name(), sub->get_description()));
    }
  }
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_positional()) {
      if (arguments > 0 && option->get_items_expected_max() == 1) {
        --arguments;
      } else if (!absl::StartsWith(typed, "-") && arguments == 0) {
        absl::StrAppend(&lines, ValueLines(*option, "", typed));
        break;
      }
    }
  }
  if (!absl::StartsWith(typed, "-")) return lines;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (absl::StartsWith("--" + name, typed)) {
        absl::StrAppend(&lines, CandidateLine("--" + name, option->get_description()));
      }
    }
  }
  return lines;
}

std::vector<std::string> CompletionShells() {
  std::vector<std::string> names;
  for (const auto& [shell, script] : kScripts) names.emplace_back(shell);
  return names;
}

std::string CompletionScript(const std::string& shell) {
  for (const auto& [name, script] : kScripts) {
    if (name == shell) return script;
  }
  return "";
}

}  // namespace voxloc::cli
