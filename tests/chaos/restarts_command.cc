// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "tests/chaos/chaos_options.h"
#include "tests/chaos/restarts.h"

namespace voxloc::chaos {

Command AddRestartsCommand(CLI::App& program) {
  auto options = std::make_shared<RestartsOptions>();
  options->server.gpu = "made-up";
  CLI::App* const app = program.add_subcommand(
      "restarts",
      "Restarts two servers in turn under vehicles that drive on, and counts every scan.\n\n"
      "Each stream is a session of the client library with both addresses and one scan on its "
      "way.\n"
      "A scan is sent when its session has taken it. It then has one result:\n"
      "  answered    a server's reply other than SUPERSEDED\n"
      "  superseded  a server's reply: a newer scan of the session was there\n"
      "  given up    by the session, which lost its server and had a newer scan; 0 without "
      "--kills\n"
      "  cancelled   the client cancelled its session while it waited for the result\n"
      "A scan without a result within --timeout is lost, and a second result is duplicated: both "
      "must\nbe 0.");
  AddServerFlags(*app, options->server, options->points);
  app->add_option("--scans", options->scans, "send at least so many scans, 1 or more")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--streams", options->streams, "vehicles, 1 to 1000")
      ->check(CLI::Range(size_t{1}, size_t{1000}))
      ->capture_default_str();
  app->add_option("--cancelled", options->cancelled, "share of the scans to cancel, 0 to 0.5")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app->add_option("--restarts", options->restarts, "restarts, of both servers together, 0 to 1000")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app->add_option("--kills", options->kills,
                  "of the restarts, so many by SIGKILL; the others drain the server by SIGTERM")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_flag("--engine-fault", options->engine_fault,
                "let the GPU of the server in use fail, half-way; the CPU engine takes over");
  app->add_option("--timeout", options->timeout_s, "seconds within which a scan has its result")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--seed", options->seed, "seed of the times of cancellation")
      ->capture_default_str();
  return {app, [options] { return RunRestarts(*options); }};
}

}  // namespace voxloc::chaos
