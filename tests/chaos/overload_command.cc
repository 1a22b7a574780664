// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "tests/chaos/chaos_options.h"
#include "tests/chaos/overload.h"

namespace voxloc::chaos {

Command AddOverloadCommand(CLI::App& program) {
  auto options = std::make_shared<OverloadOptions>();
  CLI::App* const app = program.add_subcommand(
      "overload",
      "Offers a server several times what it can align, and measures what it still aligns.\n\n"
      "First its capacity is found, in closed loop: the scans accepted per second. Then half of "
      "the\n"
      "load comes from sessions, where the newest scan wins at the client and the server, a "
      "quarter\n"
      "from streams and a quarter from unary calls, which drop nothing at the client. A vehicle "
      "with\n"
      "--probe-rate drives before, during and after: the recovery is the time from the end of the\n"
      "flood until its p99 over one second is at most twice the quiet one, with every scan "
      "aligned.\n"
      "Without --server-processors the generator runs on the same processors, which it takes from\n"
      "the server: generator_limited says that it could not send enough or was late, and\n"
      "generator_processors how many processors it used.");
  AddServerFlags(*app, options->server, options->points);
  app->add_option("--server-processors", options->server_processors,
                  "keep the server on so many processors and the generator on the others; 0: both "
                  "share all")
      ->capture_default_str();
  app->add_option("--factor", options->factor, "offer so many times the capacity, 1 to 100")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  app->add_option("--duration", options->duration_s, "seconds of the overload, 1 to 86400")
      ->check(CLI::Range(1.0, 86'400.0))
      ->capture_default_str();
  app->add_option("--capacity-seconds", options->capacity_s, "seconds of finding the capacity")
      ->check(CLI::Range(0.2, 600.0))
      ->capture_default_str();
  app->add_option("--quiet", options->quiet_s, "seconds before and after the overload, 1 or more")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app->add_option("--streams", options->streams, "sessions, 4 to 250")
      ->check(CLI::Range(size_t{4}, size_t{250}))
      ->capture_default_str();
  app->add_option("--probe-rate", options->probe_hz, "scans per second of the vehicle, 1 to 1000")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  app->add_option("--least-throughput", options->min_throughput,
                  "demand so much of the capacity under overload, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--most-recovery", options->max_recovery_s,
                  "demand the quiet latency within so many seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return {app, [options] { return RunOverload(*options); }};
}

}  // namespace voxloc::chaos
