// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "tests/chaos/chaos_options.h"
#include "tests/chaos/idle_connections.h"

namespace voxloc::chaos {

Command AddIdleConnectionsCommand(CLI::App& program) {
  auto options = std::make_shared<IdleConnectionsOptions>();
  CLI::App* const app = program.add_subcommand(
      "idle-connections",
      "Drives one vehicle while thousands of connections say nothing or read nothing.\n\n"
      "Of the silent ones a third sends no byte, a third the preface of HTTP/2 alone, and a third\n"
      "opens a session's stream and sends no message. The result has the vehicle's p50 and p99\n"
      "before, during and after, and what the server did: descriptors, memory, refusals, "
      "timeouts,\n"
      "connections that it ended. Needs as many open files as there are connections (ulimit -Hn).");
  AddServerFlags(*app, options->server, options->points);
  app->add_option("--silent", options->silent, "connections that say nothing, 0 to 100000")
      ->check(CLI::Range(size_t{0}, size_t{100'000}))
      ->capture_default_str();
  app->add_option("--not-reading", options->not_reading,
                  "streams that send scans and never read, 0 to 100000")
      ->check(CLI::Range(size_t{0}, size_t{100'000}))
      ->capture_default_str();
  app->add_option("--not-reading-rate", options->not_reading_hz, "scans per second of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--seconds", options->seconds, "of each part: before, during, after")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--rate", options->rate_hz, "scans per second of the vehicle, 1 to 1000")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  app->add_option("--most-p99-factor", options->max_p99_factor,
                  "demand a p99 of at most so many times the quiet one; 0: no demand")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return {app, [options] { return RunIdleConnections(*options); }};
}

}  // namespace voxloc::chaos
