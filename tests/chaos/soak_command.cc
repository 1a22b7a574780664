// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "tests/chaos/chaos_options.h"
#include "tests/chaos/soak.h"

namespace voxloc::chaos {

Command AddSoakCommand(CLI::App& program) {
  auto options = std::make_shared<SoakOptions>();
  CLI::App* const app = program.add_subcommand(
      "soak",
      "Keeps a server under a mixed load, and judges whether what it occupies grows.\n\n"
      "The load: sessions that come, go and are cancelled, unary scans, commits, rollbacks and\n"
      "deletions of maps, searches, scoring, bad input, scrapes. Samples: resident memory, open\n"
      "descriptors, threads, series of /metrics, memory used on the device. Growth is the slope "
      "of\n"
      "Theil and Sen (the median over all pairs of samples) after --warm-up, times the judged "
      "time.\n"
      "Allowed are 5 % or 16 MiB of memory, 1 % or 16 MiB of the device's, 8 descriptors, 8 "
      "threads,\n16 series. Every call must be answered as it should be, too.");
  AddServerFlags(*app, options->server, options->points);
  app->add_option("--duration", options->duration_s, "seconds, 2 to 1000000")
      ->check(CLI::Range(2.0, 1e6))
      ->capture_default_str();
  app->add_option("--sample", options->sample_s, "seconds between two samples, 0.1 to 3600")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app->add_option("--warm-up", options->warm_up_s, "seconds whose samples are not judged")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--csv", options->csv, "write the samples to FILE")->type_name("FILE");
  return {app, [options] { return RunSoak(*options); }};
}

}  // namespace voxloc::chaos
