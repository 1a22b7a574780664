// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench gpu`: everything that an engine does, on a device and, in the same run, on the CPU
// engine with one thread and with all. Every row is printed when it is done; a row that fails is
// reported, and the others go on.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/parallel/processors.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/gpu_floors.h"
#include "tests/bench/gpu_row.h"

namespace voxloc::bench {
namespace {

struct GpuFlags {
  EngineOptions engine;
  GpuDataOptions data;
  double seconds = 2.0;
  double cpu_seconds = 0.5;
  bool no_cpu = false;
  bool packed = false;
  std::vector<std::string> rows;
  std::string json;
};

struct NamedEngine {
  std::string name;
  std::unique_ptr<Engine> engine;
  Budget budget;
};

absl::StatusOr<std::vector<NamedEngine>> MakeEngines(const GpuFlags& options) {
  std::vector<NamedEngine> engines;
  const auto add = [&](const std::string& name, const EngineOptions& engine, double seconds) {
    auto made = MakeEngine(engine);
    if (!made.ok()) return made.status();
    Budget budget;
    budget.seconds = seconds;
    engines.push_back({name, *std::move(made), budget});
    return absl::OkStatus();
  };
  if (absl::Status status = add(options.engine.engine, options.engine, options.seconds);
      !status.ok()) {
    return status;
  }
  if (options.no_cpu) return engines;
  EngineOptions cpu;
  cpu.engine = "cpu";
  for (const size_t threads : {size_t{1}, size_t{0}}) {
    cpu.threads = threads;
    if (options.engine.engine == "cpu" && options.engine.threads == threads) continue;  // measured
    const std::string name = threads == 1 ? "cpu, 1 thread" : "cpu, all threads";
    if (absl::Status status = add(name, cpu, options.cpu_seconds); !status.ok()) return status;
  }
  return engines;
}

std::string Milliseconds(double ms) {
  return ms < 1.0 ? absl::StrFormat("%.1f us", ms * 1e3) : absl::StrFormat("%.2f ms", ms);
}

void PrintMeasured(const std::string& engine, const Row& row, const Measured& measured) {
  std::printf("  %-17s p50 %10s  p99 %10s  of %4zu  %10.4g %s/s", engine.c_str(),
              Milliseconds(measured.ms.p50).c_str(), Milliseconds(measured.ms.p99).c_str(),
              measured.ms.count, measured.items_per_s, row.item.c_str());
  if (measured.point_evaluations_per_s > 0.0) {
    std::printf("  %.3g point evaluations/s", measured.point_evaluations_per_s);
  }
  if (measured.error_m.count > 0) {
    std::printf("  %.2f iterations  error p50 %.2f mm, max %.1f mm", measured.iterations_per_item,
                measured.error_m.p50 * 1e3, measured.error_m.max * 1e3);
  }
  if (measured.device_times) {
    std::printf("  up %s, kernel %s, down %s",
                Milliseconds(1e3 * measured.device_times->upload_s).c_str(),
                Milliseconds(1e3 * measured.device_times->kernel_s).c_str(),
                Milliseconds(1e3 * measured.device_times->download_s).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

nlohmann::json PrintFloors(int device) {
  const auto floors = MeasureFloors(device);
  nlohmann::json json = nlohmann::json::array();
  if (!floors.ok()) {
    std::printf("floors: %s\n", std::string(floors.status().message()).c_str());
    return json;
  }
  std::printf("floors, each with its synchronisation\n");
  for (const Floor& floor : *floors) {
    const double gb_per_s = floor.bytes / (floor.ms.p50 * 1e-3) * 1e-9;
    std::printf("  %-28s p50 %10s  p99 %10s", floor.name.c_str(),
                Milliseconds(floor.ms.p50).c_str(), Milliseconds(floor.ms.p99).c_str());
    if (floor.bytes > 0.0) std::printf("  %.1f GB/s", gb_per_s);
    std::printf("\n");
    json.push_back({{"name", floor.name}, {"ms", ToJson(floor.ms)}});
    if (floor.bytes > 0.0) json.back()["gb_per_s"] = gb_per_s;
  }
  return json;
}

// The row on every engine; false where one failed.
bool RunRow(const Row& row, std::vector<NamedEngine>& engines, nlohmann::json& rows) {
  std::printf("%s\n", row.name.c_str());
  std::fflush(stdout);
  nlohmann::json json = {{"name", row.name}, {"item", row.item}};
  bool ok = true;
  double device_ms = 0.0;
  for (NamedEngine& engine : engines) {
    if (row.on_device_only && &engine != &engines.front()) continue;
    const auto measured = Measure(row, *engine.engine, engine.budget);
    if (!measured.ok()) {
      std::cerr << "  " << engine.name << ": " << measured.status() << std::endl;
      json[engine.name] = {{"error", measured.status().ToString()}};
      ok = false;
      continue;
    }
    PrintMeasured(engine.name, row, *measured);
    json[engine.name] = ToJson(*measured);
    if (&engine == &engines.front()) device_ms = measured->ms.p50;
    if (device_ms > 0.0) json[engine.name]["times_as_long"] = measured->ms.p50 / device_ms;
  }
  rows.push_back(std::move(json));
  return ok;
}

absl::Status RunGpu(const GpuFlags& options) {
  auto engines = MakeEngines(options);
  if (!engines.ok()) return engines.status();
  auto data = LoadGpuData(options.data);
  if (!data.ok()) return data.status();

  nlohmann::json json = {{"data", data->source}, {"rows", nlohmann::json::array()}};
  for (const NamedEngine& engine : *engines) {
    std::printf("%-18s %s\n", engine.name.c_str(), engine.engine->Info().device.c_str());
    json["engines"][engine.name] = engine.engine->Info().device;
  }
  if (options.engine.engine == "cuda") json["floors"] = PrintFloors(options.engine.devices[0]);

  std::vector<Row> rows =
      AlignRows(*data, options.packed ? std::make_shared<ThreadPool>(UsableProcessors()) : nullptr);
  for (Row& row : TrackingRows(*data)) rows.push_back(std::move(row));
  for (Row& row : ScoreRows(*data)) rows.push_back(std::move(row));
  for (Row& row : BuildRows()) rows.push_back(std::move(row));
  for (Row& row : FilterRows()) rows.push_back(std::move(row));
  for (Row& row : EigenRows()) rows.push_back(std::move(row));
  const auto is_selected = [&](const Row& row) {
    return options.rows.empty() ||
           std::any_of(options.rows.begin(), options.rows.end(),
                       [&](const auto& part) { return absl::StrContains(row.name, part); });
  };
  size_t failed = 0;
  for (const Row& row : rows) {
    if (!is_selected(row)) continue;
    failed += RunRow(row, *engines, json["rows"]) ? 0 : 1;
    // After every row, so that a crash loses no results.
    if (options.json != "-") {
      if (absl::Status status = WriteJson(options.json, json); !status.ok()) return status;
    }
  }
  if (options.json == "-") return WriteJson(options.json, json);
  if (failed > 0) return absl::InternalError(absl::StrCat(failed, " rows failed; see above"));
  return absl::OkStatus();
}

}  // namespace

Command AddGpuCommand(CLI::App& program) {
  auto options = std::make_shared<GpuFlags>();
  options->engine.engine = "cuda";
  CLI::App* app = program.add_subcommand(
      "gpu", "Measure every operation of a CUDA engine and of the CPU engine");
  AddEngineFlags(*app, options->engine);
  AddGpuDataFlags(*app, options->data);
  app->add_option("--seconds", options->seconds,
                  "Measure each row for this time after warming up, s")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option(
         "--cpu-seconds", options->cpu_seconds,
         "Measure each row on each CPU engine for this time, s; a longer call is made once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_flag("--no-cpu", options->no_cpu, "Do not measure the CPU engines");
  app->add_flag("--packed", options->packed,
                "Pack the jobs of an alignment call by all threads first, within its time, as a "
                "server does");
  app->add_option("--rows", options->rows,
                  "Measure only rows whose name contains one of these words");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunGpu(*options); }};
}

}  // namespace voxloc::bench
