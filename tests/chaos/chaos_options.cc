// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/chaos_options.h"

namespace voxloc::chaos {

void AddServerFlags(CLI::App& app, ServerOptions& server, size_t& points) {
  app.add_option("--gpu", server.gpu,
                 "engine of the servers: none: the CPU engine; made-up: engines of the processors "
                 "that pass for two GPUs and can fail; cuda: the first GPU, which a kernel that "
                 "traps can end")
      ->check(CLI::IsMember({"none", "made-up", "cuda"}))
      ->capture_default_str();
  app.add_option("--threads", server.threads,
                 "threads of the engine of each server; 0: one per usable processor")
      ->capture_default_str();
  app.add_option("--points", points, "points of each scan, 100 to 10000")
      ->check(CLI::Range(size_t{100}, size_t{10'000}))
      ->capture_default_str();
  app.add_option("--set", server.settings,
                 "a flag for the servers as voxlocd has it, such as limits.max-sessions=2000; can "
                 "be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace voxloc::chaos
