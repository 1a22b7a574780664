// SPDX-License-Identifier: Apache-2.0
//
// `voxlocd backup` and `voxlocd restore` as programs, interrupted by SIGINT and SIGTERM.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "server/maps/store/sqlite_map_store.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/support/eventually.h"
#include "tests/support/random_numbers.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

namespace fs = std::filesystem;

// A pipe that a program writes its outputs to. Nothing more goes into it until it is emptied, so
// that the program waits at its first line of progress.
class FullPipe {
 public:
  explicit FullPipe(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    file_ = open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::array<char, 4096> nothing{};
    for (ssize_t written = 1; written > 0;) written = write(file_, nothing.data(), nothing.size());
    EXPECT_EQ(errno, EAGAIN);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  ~FullPipe() { close(file_); }

  [[nodiscard]] const std::string& path() const { return path_; }

  // What has been written; empty: nothing since it was emptied before.
  std::string Drain() {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t bytes = 1; bytes > 0;) {
      bytes = read(file_, some.data(), some.size());
      for (ssize_t i = 0; i < bytes; ++i) {
        if (some[static_cast<size_t>(i)] != '\0') text += some[static_cast<size_t>(i)];
      }
    }
    return text;
  }

 private:
  const std::string path_;
  int file_ = -1;
};

std::set<std::string> FilesOf(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::string BytesOf(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

class MaintenanceTest : public ::testing::Test {
 protected:
  MaintenanceTest() {
    auto store = server::OpenSqliteMapStore(data(), {});
    EXPECT_TRUE(store.ok()) << store.status();
    RandomNumbers random(1);
    std::string content(size_t{8} << 20, '\0');  // beyond a step of the copy, as it does not shrink
    for (char& c : content) c = static_cast<char>(static_cast<int>(random.Uniform(-128.0, 128.0)));
    auto upload = (*store)->Upload();
    EXPECT_TRUE(upload.ok() && (*upload)->Append(content).ok() && (*upload)->Finish().ok());
  }

  [[nodiscard]] std::string data() const { return folder_.Path("data"); }
  [[nodiscard]] static std::vector<std::string> Command(const std::string& command,
                                                        const std::string& data,
                                                        const std::string& file) {
    return {ProgramPath(VOXLOC_VOXLOCD), command, "--data-dir=" + data,
            (command == "backup" ? "--to=" : "--from=") + file};
  }

  // Runs the command, and sends the signal when it is on its way: once this file is there. Returns
  // its exit code; what it wrote goes to `text`.
  int RequestShutdown(const std::vector<std::string>& command, const std::string& trigger_file,
                      int signal, std::string* text) {
    FullPipe output(folder_.Path("output-" + std::to_string(++runs_)));
    ChildProcess process(command, output.path());
    EXPECT_TRUE(Eventually([&] { return fs::exists(trigger_file); })) << trigger_file;
    process.Signal(signal);
    EXPECT_TRUE(Eventually([&] {
      *text += output.Drain();
      return !process.running();
    }));
    *text += output.Drain();
    return process.Wait();
  }

  ScratchDir folder_;
  int runs_ = 0;
};

TEST_F(MaintenanceTest, ABackupThatIsEndedLeavesNoFileAndTheMapsWhole) {
  const std::string database = BytesOf(data() + "/maps.db");
  const std::string backups = folder_.Path("backups/one.db");
  const std::string folder = fs::path(backups).parent_path();
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    std::string text;
    EXPECT_EQ(
        RequestShutdown(Command("backup", data(), backups), backups + ".partial", signal, &text),
        code)
        << text;
    EXPECT_NE(text.find("backed up "), std::string::npos) << text;
    EXPECT_NE(text.find("the backup was ended"), std::string::npos) << text;
    EXPECT_TRUE(FilesOf(folder).empty());
    EXPECT_TRUE(BytesOf(data() + "/maps.db") == database);
  }
  const ProcessResult whole = RunProcess(Command("backup", data(), backups));
  EXPECT_EQ(whole.exit_code, 0) << whole.error;
  EXPECT_NE(whole.error.find("backed up 100 %"), std::string::npos) << whole.error;
  EXPECT_EQ(FilesOf(folder), std::set<std::string>{"one.db"});
}

TEST_F(MaintenanceTest, ARestoreThatIsEndedLeavesTheDirectoryAsItWas) {
  const std::string backup = folder_.Path("one.db");
  ASSERT_EQ(RunProcess(Command("backup", data(), backup)).exit_code, 0);
  // Over other maps.
  const std::string target = folder_.Path("target");
  {
    auto other = server::OpenSqliteMapStore(target, {});
    ASSERT_TRUE(other.ok()) << other.status();
  }
  const std::string before = BytesOf(target + "/maps.db");
  const std::set<std::string> files = FilesOf(target);
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    std::string text;
    EXPECT_EQ(RequestShutdown(Command("restore", target, backup), target + "/maps.db.restored",
                              signal, &text),
              code)
        << text;
    EXPECT_NE(text.find("the restore was ended"), std::string::npos) << text;
    EXPECT_EQ(FilesOf(target), files);
    EXPECT_TRUE(BytesOf(target + "/maps.db") == before);
  }
  EXPECT_TRUE(server::OpenSqliteMapStore(target, {}).ok());
  const ProcessResult whole = RunProcess(Command("restore", target, backup));
  EXPECT_EQ(whole.exit_code, 0) << whole.error;
  EXPECT_NE(whole.error.find("copied 100 %"), std::string::npos) << whole.error;
  EXPECT_FALSE(BytesOf(target + "/maps.db") == before);
}

}  // namespace
}  // namespace voxloc
