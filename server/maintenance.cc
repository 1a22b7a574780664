// SPDX-License-Identifier: Apache-2.0

#include "server/maintenance.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

constexpr char kBackupHelp[] =
    "Copy all maps of a data directory to a new file, also while a server uses the directory";
constexpr char kBackupFooter[] =
    "The copy is one moment of the directory: all revisions that were committed before it. Ctrl-C "
    "and SIGTERM end it and leave no file.\n\n"
    "Example:\n"
    "  voxlocd backup --data-dir /var/lib/voxloc --to /backup/maps-monday.db";
constexpr char kRestoreHelp[] = "Put a backup in the place of a data directory's maps";
constexpr char kRestoreFooter[] =
    "No server may use the directory. What was there is kept beside it under another name. Ctrl-C "
    "and SIGTERM end it, as long as the backup is copied and checked, and leave the directory as "
    "it "
    "was.\n\n"
    "Example:\n"
    "  voxlocd restore --data-dir /var/lib/voxloc --from /backup/maps-monday.db";

// Shows each tenth of the way once, and ends it when `stop` says so.
class Progress {
 public:
  Progress(const char* done, const std::function<bool()>& stop) : done_(done), stop_(stop) {}

  bool operator()(double part) {
    const int percent = static_cast<int>(100.0 * part);
    if (percent >= shown_ + 10) {
      shown_ = percent / 10 * 10;
      std::cerr << done_ << " " << shown_ << " %" << std::endl;
    }
    return !stop_();
  }

 private:
  const char* const done_;
  const std::function<bool()>& stop_;
  int shown_ = 0;
};

absl::StatusOr<std::string> Backup(const std::string& directory, const std::string& path,
                                   const std::function<bool()>& stop) {
  Progress progress("backed up", stop);
  const absl::Status status =
      BackupMapStore(directory, path, [&progress](double part) { return progress(part); });
  if (!status.ok()) return status;
  return absl::StrCat("the maps of ", directory, " are backed up in ", path, "\n");
}

absl::StatusOr<std::string> Restore(const std::string& directory, const std::string& path,
                                    const std::function<bool()>& stop) {
  Progress progress("copied", stop);
  VOXLOC_ASSIGN_OR_RETURN(const auto kept, RestoreMapStore(path, directory, std::ref(progress)));
  return absl::StrCat("the maps of ", path, " are restored in ", directory,
                      kept.empty() ? "" : absl::StrCat("; what was there is kept as ", kept), "\n");
}

}  // namespace

absl::StatusOr<std::optional<std::string>> RunMaintenance(int argc, const char* const* argv,
                                                          const std::function<bool()>& stop) {
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
  return backup ? Backup(directory, file, stop) : Restore(directory, file, stop);
}

}  // namespace voxloc::server
