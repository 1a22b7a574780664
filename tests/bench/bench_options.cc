// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/bench_options.h"

#include <chrono>
#include <fstream>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/cloud/io/file_bytes.h"
#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/profile_set.h"
#include "core/engine/profile_text.h"
#include "core/engine/replica/replicated_engine.h"
#include "core/status/try.h"

#if defined(VOXLOC_HAVE_CUDA)
#include "cuda/cuda_engine.h"
#endif

namespace voxloc::bench {

void AddEngineFlags(CLI::App& app, EngineOptions& options) {
  app.add_option("--engine", options.engine, "Measure this engine: cpu or cuda")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Set the number of threads of the CPU engine; 0: one per processor")
      ->capture_default_str();
  app.add_option("--device", options.devices,
                 "Use these devices for the CUDA engine, numbered by the driver, like 0,1")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag(
      "--no-clusters", options.no_clusters,
      "Align without thread-block clusters, as on devices of compute capability below 9.0");
}

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(const EngineOptions& options) {
  if (options.engine == "cpu") return MakeCpuEngine({options.threads});
#if defined(VOXLOC_HAVE_CUDA)
  if (options.engine == "cuda") {
    std::vector<std::unique_ptr<Engine>> engines;
    for (const int device : options.devices) {
      CudaEngineOptions cuda;
      cuda.device = device;
      cuda.use_clusters = !options.no_clusters;
      auto engine = MakeCudaEngine(cuda);
      if (!engine.ok()) return engine.status();
      engines.push_back(*std::move(engine));
    }
    return MakeReplicatedEngine(std::move(engines));
  }
  constexpr char kEngines[] = "cpu, cuda";
#else
  constexpr char kEngines[] = "cpu";
#endif
  return absl::UnimplementedError(
      absl::StrCat("--engine=", options.engine, " is not in this build; there is: ", kEngines));
}

absl::StatusOr<Profile> ProfileOf(const std::string& name) {
  absl::string_view base = name;
  const bool observed = absl::ConsumeSuffix(&base, "+observed");
  absl::StatusOr<Profile> profile;
  if (absl::EndsWith(base, ".yaml")) {
    VOXLOC_ASSIGN_OR_RETURN(const FileBytes text,
                            ReadFileBytes(std::string(base), kMaxProfileBytes));
    profile = ParseProfile(text.view(), base);
  } else {
    profile = ProfileSet().Find(base);
  }
  if (!profile.ok() || !observed) return profile;
  Profile along = AlongObservedDirections(*std::move(profile));
  along.name = name;
  return along;
}

absl::StatusOr<std::vector<Profile>> ProfilesOf(const std::vector<std::string>& names) {
  std::vector<Profile> profiles;
  for (const std::string& name : names) {
    absl::StatusOr<Profile> profile = ProfileOf(name);
    if (!profile.ok()) return profile.status();
    profiles.push_back(*std::move(profile));
  }
  return profiles;
}

void AddProfilesFlag(CLI::App& app, std::vector<std::string>& profiles) {
  app.add_option("--profiles", profiles,
                 "Compare these profiles, by name or as FILE.yaml; the suffix +observed moves "
                 "along observed "
                 "directions only")
      ->delimiter(',')
      ->capture_default_str();
}

void AddRepeatFlag(CLI::App& app, size_t& repeat, const std::string& meaning) {
  app.add_option("--repeat", repeat, meaning)
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

void AddJsonFlag(CLI::App& app, std::string& json) {
  app.add_option("--json", json, "Write all figures as JSON to this file; -: standard output");
}

void AddProfileFlag(CLI::App& app, std::string& profile) {
  app.add_option(
         "--profile", profile,
         "autoware, precise or FILE.yaml; +observed behind it moves along observed directions "
         "only")
      ->capture_default_str();
}

nlohmann::json ToJson(const Summary& summary) {
  return {{"mean", summary.mean},
          {"p50", summary.p50},
          {"p95", summary.p95},
          {"p99", summary.p99},
          {"max", summary.max}};
}

absl::Status WriteJson(const std::string& path, const nlohmann::json& json) {
  if (path.empty()) return absl::OkStatus();
  const std::string text = json.dump(2) + "\n";
  if (path == "-") {
    std::cout << text;
    return absl::OkStatus();
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double TimeMs(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return 1e3 * SecondsSince(start);
}

}  // namespace voxloc::bench
