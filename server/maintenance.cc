// SPDX-License-Identifier: Apache-2.0

#include "server/maintenance.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

constexpr char kBackupHelp[] =
    "Copy all maps of a data directory to a new file, also while a server uses the directory";
constexpr char kBackupFooter[] =
    "The copy is one moment of the directory: all revisions that were committed before it.\n\n"
    "Example:\n"
    "  voxlocd backup --data-dir /var/lib/voxloc --to /backup/maps-monday.db";
constexpr char kRestoreHelp[] = "Put a backup in the place of a data directory's maps";
constexpr char kRestoreFooter[] =
    "No server may use the directory. What was there is kept beside it under another name.\n\n"
    "Example:\n"
    "  voxlocd restore --data-dir /var/lib/voxloc --from /backup/maps-monday.db";

absl::StatusOr<std::string> Backup(const std::string& directory, const std::string& path) {
  int shown = 0;
  const auto progress = [&shown](double part) {
    const int percent = static_cast<int>(100.0 * part);
    if (percent >= shown + 10) {
      std::cerr << "backed up " << percent << " %" << std::endl;
      shown = percent;
    }
    return true;
  };
  if (absl::Status status = BackupMapStore(directory, path, progress); !status.ok()) return status;
  return absl::StrCat("the maps of ", directory, " are backed up in ", path, "\n");
}

absl::StatusOr<std::string> Restore(const std::string& directory, const std::string& path) {
  const auto kept = RestoreMapStore(path, directory);
  if (!kept.ok()) return kept.status();
  return absl::StrCat("the maps of ", path, " are restored in ", directory,
                      kept->empty() ? "" : absl::StrCat("; what was there is kept as ", *kept),
                      "\n");
}

}  // namespace

absl::StatusOr<std::optional<std::string>> RunMaintenance(int argc, const char* const* argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command != "backup" && command != "restore") return std::nullopt;
  const bool backup = command == "backup";
  CLI::App app(backup ? kBackupHelp : kRestoreHelp, absl::StrCat("voxlocd ", command));
  app.footer(backup ? kBackupFooter : kRestoreFooter);
  std::string directory;
  std::string file;
  app.add_option("--data-dir", directory, "The data directory of a server")
      ->type_name("DIR")
      ->required();
  app.add_option(backup ? "--to" : "--from", file,
                 backup ? "Write this file, which must not exist" : "Read this file")
      ->type_name("FILE")
      ->required();
  try {
    app.parse(argc - 1, const_cast<char**>(argv + 1));
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exception
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), ". See voxlocd ", command, " --help"));
  }
  auto text = backup ? Backup(directory, file) : Restore(directory, file);
  if (!text.ok()) return text.status();
  return *std::move(text);
}

}  // namespace voxloc::server
