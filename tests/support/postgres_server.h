// SPDX-License-Identifier: Apache-2.0
//
// PostgresServer: a real PostgreSQL in a temporary folder. Uses the programs of the distribution,
// which refuse to run as root: a test that runs as root starts them as the user postgres or nobody.
// A test that uses it compiles postgres_server.cc and tests/e2e/child_process.cc.

#ifndef VOXLOC_TESTS_SUPPORT_POSTGRES_SERVER_H_
#define VOXLOC_TESTS_SUPPORT_POSTGRES_SERVER_H_

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/child_process.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {

class PostgresServer {
 public:
  // Why there is none; a test that needs it is skipped with this.
  static constexpr char kMissingReason[] =
      "PostgreSQL's server is not installed (scripts/install-dependencies --ci), or is left to "
      "scripts/nightly (VOXLOC_TEST_POSTGRES=off)";
  [[nodiscard]] static bool Installed();

  // A running server for the whole program; null and a failed test if it cannot be started. A test
  // that stops it must start it again.
  [[nodiscard]] static PostgresServer* Shared();

  // A cluster with the role voxloc (no password), its database voxloc, and the role guarded (the
  // same rights, password "secret"). Not running.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Waits until it answers; false on timeout.
  [[nodiscard]] bool Start();
  // Regular shutdown: the connections of clients are closed.
  void Stop();
  // As a power cut: all of its processes at once.
  void Kill();
  // As a network that swallows packets: nothing is answered, and no connection is closed.
  void Freeze() { Signal(SIGSTOP); }
  void Thaw() { Signal(SIGCONT); }
  // Deletes the cluster and makes a new, empty one. Not running before and after.
  [[nodiscard]] bool Recreate();

  // Creates a new schema and returns its name; empty on failure.
  [[nodiscard]] std::string NewSchema();
  // Through a socket in its folder, since a free TCP port may be taken before it listens there.
  // Each schema is a store of its own.
  [[nodiscard]] std::string Url(const std::string& schema = "") const {
    return UrlOf("voxloc", schema);
  }
  // Of the role whose password is asked for.
  [[nodiscard]] std::string GuardedUrl(const std::string& schema = "") const {
    return UrlOf("guarded", schema);
  }

  // Runs psql, as the role voxloc; its output, without the last end of line.
  [[nodiscard]] std::string Sql(const std::string& statement) const;
  // Runs one of PostgreSQL's programs with these arguments, on the database voxloc.
  [[nodiscard]] ProcessResult Run(const std::string& program,
                                  const std::vector<std::string>& arguments) const;

  // A folder that its user can write to.
  [[nodiscard]] std::string Path(const std::string& name) const { return scratch_.Path(name); }

 private:
  [[nodiscard]] std::string UrlOf(const std::string& role, const std::string& schema) const;
  [[nodiscard]] std::vector<std::string> Command(const std::string& program) const;
  void Signal(int signal);

  ScratchDir scratch_;
  bool made_ = false;
  int schemas_ = 0;
  std::unique_ptr<ChildProcess> process_;  // null: it is stopped
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_POSTGRES_SERVER_H_
