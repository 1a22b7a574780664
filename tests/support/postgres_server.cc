// SPDX-License-Identifier: Apache-2.0

#include "tests/support/postgres_server.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "tests/support/eventually.h"

namespace voxloc {
namespace {

namespace fs = std::filesystem;

// The folder of the newest version's programs; empty: there is none.
std::string ProgramsOf() {
  std::string newest;
  int newest_version = 0;
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const int number = std::atoi(version.path().filename().c_str());
    if (number > newest_version && fs::exists(version.path() / "bin/initdb", error)) {
      newest_version = number;
      newest = (version.path() / "bin").string();
    }
  }
  return newest;
}

// Where the test is root: who the server runs as.
const passwd* UserOf() {
  // Asked for once: what getpwnam() returns is overwritten by its next call, on any thread.
  static const passwd* const user = [] {
    const passwd* const postgres = ::getpwnam("postgres");
    return postgres != nullptr ? postgres : ::getpwnam("nobody");
  }();
  return ::getuid() == 0 ? user : nullptr;
}

// Of the socket's name; no port is listened on.
constexpr char kPort[] = "5432";

// The server's processes; its own children have groups of their own.
std::vector<pid_t> ProcessesOf(pid_t server) {
  std::vector<pid_t> processes = {server};
  const std::string id = std::to_string(server);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child = 0; children >> child;) processes.push_back(child);
  return processes;
}

}  // namespace

bool PostgresServer::Installed() {
  const char* setting = std::getenv("VOXLOC_TEST_POSTGRES");
  if (setting != nullptr && std::string(setting) == "off") return false;
  return !ProgramsOf().empty();
}

PostgresServer* PostgresServer::Shared() {
  static const std::unique_ptr<PostgresServer> server = [] {
    auto made = std::make_unique<PostgresServer>();
    if (!made->Start()) made.reset();
    return made;
  }();
  return server.get();
}

PostgresServer::PostgresServer() { made_ = Recreate(); }

PostgresServer::~PostgresServer() { Kill(); }

std::vector<std::string> PostgresServer::Command(const std::string& program) const {
  // The server ends with the test, however that ends.
  std::vector<std::string> command = {"/usr/bin/setpriv", "--pdeathsig", "KILL"};
  if (const passwd* const user = UserOf()) {
    command.insert(command.end(), {"--reuid", std::to_string(user->pw_uid), "--regid",
                                   std::to_string(user->pw_gid), "--clear-groups"});
  }
  command.push_back(ProgramsOf() + "/" + program);
  return command;
}

bool PostgresServer::Recreate() {
  std::error_code error;
  fs::remove_all(scratch_.Path("cluster"), error);
  if (const passwd* const user = UserOf()) {
    if (::chown(scratch_.Path("").c_str(), user->pw_uid, user->pw_gid) != 0) return false;
  }
  std::vector<std::string> init = Command("initdb");
  init.insert(init.end(), {"--pgdata", scratch_.Path("cluster"), "--username=postgres",
                           "--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync"});
  const ProcessResult made = RunProcess(init);
  if (made.exit_code != 0) {
    std::cerr << made.out << made.error << std::endl;
    return false;
  }
  scratch_.Write("cluster/pg_hba.conf", "local all guarded scram-sha-256\nlocal all all trust\n");
  // The roles and the database, without a running server.
  std::vector<std::string> single = {"/bin/sh", "-c", "exec \"$@\" <\"$0\"",
                                     scratch_.Write("roles.sql",
                                                    "CREATE ROLE voxloc LOGIN\n"
                                                    "CREATE ROLE guarded LOGIN PASSWORD 'secret' "
                                                    "IN ROLE voxloc\n"
                                                    "CREATE DATABASE voxloc OWNER voxloc\n")};
  const std::vector<std::string> server = Command("postgres");
  single.insert(single.end(), server.begin(), server.end());
  single.insert(single.end(), {"--single", "-D", scratch_.Path("cluster"), "postgres"});
  const ProcessResult roles = RunProcess(single);
  if (roles.exit_code != 0) std::cerr << roles.out << roles.error << std::endl;
  return roles.exit_code == 0;
}

bool PostgresServer::Start() {
  if (!made_) return false;
  std::vector<std::string> command = Command("postgres");
  // Small, since tests are: the kernel counts all of the shared memory.
  for (const std::string& setting :
       {std::string("listen_addresses="), std::string("port=") + kPort,
        "unix_socket_directories=" + scratch_.Path(""), std::string("shared_buffers=16MB"),
        std::string("max_connections=60")}) {
    command.insert(command.end(), {"-c", setting});
  }
  command.insert(command.end(), {"-D", scratch_.Path("cluster")});
  process_ = std::make_unique<ChildProcess>(command, scratch_.Path("postgres.log"));
  const bool answers =
      Eventually([this] { return !process_->running() || Sql("SELECT 1") == "1"; });
  if (answers && process_->running()) return true;
  std::ifstream log(scratch_.Path("postgres.log"));
  std::cerr << log.rdbuf() << std::endl;
  return false;
}

void PostgresServer::Stop() {
  if (process_ == nullptr) return;
  process_->Signal(SIGINT);
  process_->Wait();
  process_.reset();
}

void PostgresServer::Kill() {
  if (process_ == nullptr) return;
  Signal(SIGKILL);
  process_->Wait();
  process_.reset();
}

void PostgresServer::Signal(int signal) {
  if (process_ == nullptr || !process_->running()) return;
  for (const pid_t process : ProcessesOf(process_->pid())) ::kill(process, signal);
}

std::string PostgresServer::NewSchema() {
  const std::string name = "test_" + std::to_string(++schemas_);
  const ProcessResult made =
      Run("psql", {"--no-psqlrc", "--quiet", "--command", "CREATE SCHEMA " + name});
  return made.exit_code == 0 ? name : "";
}

std::string PostgresServer::UrlOf(const std::string& role, const std::string& schema) const {
  std::string directory = scratch_.Path("");
  for (size_t at = 0; (at = directory.find('/', at)) != std::string::npos; at += 3) {
    directory.replace(at, 1, "%2F");
  }
  std::string url = "postgresql://" + role + "@" + directory + ":" + kPort + "/voxloc";
  if (!schema.empty()) url += "?options=-csearch_path%3D" + schema;
  return url;
}

ProcessResult PostgresServer::Run(const std::string& program,
                                  const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = Command(program);
  command.insert(command.end(), {"--host", scratch_.Path(""), "--port", kPort, "--username",
                                 "voxloc", "--dbname", "voxloc"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProcess(command);
}

std::string PostgresServer::Sql(const std::string& statement) const {
  std::string out =
      Run("psql", {"--no-psqlrc", "--tuples-only", "--no-align", "--quiet", "--command", statement})
          .out;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace voxloc
