// SPDX-License-Identifier: Apache-2.0

#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/server_builder_option.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/http/http_listener.h"
#include "core/status/try.h"
#include "server/config/host_resources.h"
#include "server/config/settings.h"
#include "server/lifecycle/active_calls.h"
#include "server/lifecycle/allocator.h"
#include "server/lifecycle/engine_watch.h"
#include "server/lifecycle/probe_pages.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store_upkeep.h"
#include "server/network/connection_listener.h"
#include "server/observe/logging.h"
#include "server/observe/metrics/exporter.h"
#include "server/observe/version.h"
#include "server/rpc/services.h"
#include "server/runtime.h"
#include "server/security/tls.h"
#include "server/start_check.h"

namespace voxloc::server {
namespace {

std::string WithPort(const std::string& address, int port) {
  const size_t colon = address.rfind(':');
  return absl::StrCat(address.substr(0, colon), ":", port);
}

// Linking gRPC's reflection library adds the plugin to every server of the process.
class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    const auto is_reflection = [](const std::unique_ptr<grpc::ServerBuilderPlugin>& plugin) {
      return dynamic_cast<grpc::reflection::ProtoServerReflectionPlugin*>(plugin.get()) != nullptr;
    };
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(), is_reflection), plugins->end());
  }
};

absl::StatusOr<std::unique_ptr<MapStore>> OpenSharedStore(const StoreConnection& connection,
                                                          const MapStoreOptions& options) {
  PostgresOptions database;
  database.url = connection.url;
  database.connect_timeout = absl::Seconds(connection.connect_timeout_s);
  database.request_timeout = absl::Seconds(connection.request_timeout_s);
  database.max_readers = connection.max_readers;
  auto store = OpenPostgresMapStore(database, options);
  if (store.ok()) return store;
  return absl::Status(store.status().code(), absl::StrCat("store.url: ", store.status().message()));
}

absl::StatusOr<std::unique_ptr<MapStore>> OpenStore(const Config& config) {
  MapStoreOptions options;
  options.retained_revisions = config.kept_revisions;
  options.max_unreferenced_bytes = config.limits.max_unreferenced_bytes;
  options.max_staged_revisions = config.limits.max_staged_revisions;
  options.max_tile_fits = config.limits.max_tile_fits;
  if (!config.store.url.empty()) return OpenSharedStore(config.store, options);
  if (config.data_dir.empty()) return MakeMemoryMapStore(options);
  auto store = OpenSqliteMapStore(config.data_dir, options);
  if (store.ok() || absl::StrContains(store.status().message(), config.data_dir)) return store;
  // The store's errors, which clients see too, do not name its folder.
  return absl::Status(store.status().code(),
                      absl::StrCat(config.data_dir, ": ", store.status().message()));
}

// Where the maps are in a database, the folder has the caches of one server alone. Null: the store
// has the lock, or there is no folder.
absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDataDir(const Config& config) {
  if (config.store.url.empty() || config.data_dir.empty()) return nullptr;
  return DirectoryLock::Acquire(config.data_dir);
}

MetricsSample Sample(const Runtime& runtime) {
  std::vector<ServedMap> maps;
  for (const MapView& view : runtime.maps.List()) {
    const MapSnapshot& map = *view.snapshot;
    maps.push_back({map.name, map.revision, map.committed_unix_ns});
  }
  return {runtime.metrics,
          *runtime.engine,
          runtime.engine_devices,
          runtime.started_unix_ns,
          std::move(maps),
          runtime.readiness->state(),
          runtime.readiness->Check().ok(),
          runtime.drain.sessions_notified(),
          runtime.drain.Progress().remaining_s};
}

absl::Status StartCancelledError() {
  return absl::CancelledError("the server was stopped while it was starting");
}

class RunningServer final : public Server {
 public:
  // `given`: as the sources have it, with zeros for what follows from the machine.
  RunningServer(EffectiveConfig given, const EffectiveConfig& resolved, const HostResources& host,
                EngineChoice choice, std::unique_ptr<DirectoryLock> data_dir_lock,
                std::unique_ptr<MapStore> store, std::function<void()> end)
      : unresolved_(std::move(given)),
        data_dir_lock_(std::move(data_dir_lock)),
        runtime_(resolved, host, std::move(choice), std::move(store)),
        end_(std::move(end)) {}

  ~RunningServer() override { Shutdown(); }

  absl::Status Begin(const StopRequested& stopping) {
    const Config& config = runtime_.config;
    VOXLOC_TRY(CheckAddress("listen", config.listen));
    VOXLOC_TRY(StartSecurity());
    readiness_entry_ = runtime_.timeouts.Add(runtime_.readiness, TimeoutWatch::Clock::now());
    VOXLOC_TRY(StartHttp());
    for (const std::string& finding : runtime_.map_store->damage()) {
      Log(LogLevel::kError, "store_damaged", {{"finding", finding}});
    }
    VOXLOC_TRY(runtime_.last_poses.Load(*runtime_.map_store));
    // Not fatal: it is collected again.
    if (absl::Status status = runtime_.tile_fits.Load(*runtime_.map_store); !status.ok()) {
      Log(LogLevel::kWarn, "tile_fits_not_loaded", {{"error", status.ToString()}});
    }
    VOXLOC_ASSIGN_OR_RETURN(const auto maps, runtime_.library.Register());
    if (stopping && stopping()) return StartCancelledError();
    // Before the first request: what changes a map comes after it in the queue.
    VOXLOC_TRY(StartLoading(maps));
    VOXLOC_TRY(StartGrpc());
    runtime_.readiness->Begin(maps);
    StartBackgroundTasks();
    LogStart();
    if (config.ready_file.empty()) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(
        ready_file_,
        ReadyFile::Write(config.ready_file, address_, metrics_address_, runtime_.engine->name()));
    return absl::OkStatus();
  }

  void Drain() override {
    if (grpc_server_ == nullptr) return;
    ready_file_.reset();
    runtime_.drain.BeginForShutdown("the server is stopping");
    runtime_.drain.Await();
    Shutdown();
    Log(LogLevel::kInfo, "stopped", {});
  }

  void Reload(const absl::StatusOr<CommandLine>& command_line) override {
    if (runtime_.lifecycle.draining()) {
      Log(LogLevel::kWarn, "reload_ignored", {{"detail", "the server drains"}});
      return;
    }
    if (!command_line.ok()) {
      for (const absl::string_view error : absl::StrSplit(command_line.status().message(), '\n')) {
        Log(LogLevel::kError, "reload_refused", {{"error", error}});
      }
      return;
    }
    const std::vector<ConfigChange> changes =
        ApplyReloadable(*command_line, Settings(), unresolved_);
    EffectiveConfig resolved = unresolved_;
    ResolveDefaults(runtime_.host, resolved);
    EffectiveConfig live_config = *runtime_.live_config.Snapshot();
    // The changes that it returns follow from `changes`.
    static_cast<void>(ApplyReloadable(resolved, Settings(), live_config));
    runtime_.Reload(std::move(live_config));
    SetLogLevel(LogLevelOf(unresolved_.config.log_level));
    for (const ConfigChange& change : changes) {
      Log(change.applied ? LogLevel::kInfo : LogLevel::kWarn,
          change.applied ? "setting_changed" : "restart_needed",
          {{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
    for (const auto& [part, reload] : reloads_) {
      if (const absl::Status status = reload(); !status.ok()) {
        Log(LogLevel::kError, "part_not_reloaded", {{"part", part}, {"error", status.message()}});
      }
    }
    Log(LogLevel::kInfo, "reloaded", {{"changes", changes.size()}});
  }

  void OnReload(std::string part, std::function<absl::Status()> reload) override {
    reloads_.emplace_back(std::move(part), std::move(reload));
  }

  absl::Status ReloadSecurity() override {
    absl::Status status;
    if (tls_files_ != nullptr) status.Update(tls_files_->Reload());
    status.Update(runtime_.access->Reload());
    return status;
  }

  const std::string& address() const override { return address_; }
  const std::string& metrics_address() const override { return metrics_address_; }

 private:
  // Probes and scrapes are answered from here on: nothing is ready yet.
  absl::Status StartHttp() {
    const std::string& listen = runtime_.config.metrics_listen;
    if (listen == "off") return absl::OkStatus();
    const auto metrics = [this] { return MetricsText(Sample(runtime_)); };
    auto http = HttpListener::Start(listen, MakeProbePages(*runtime_.readiness, metrics));
    if (!http.ok()) {
      return {http.status().code(), absl::StrCat("cannot serve metrics and probes: metrics_listen ",
                                                 http.status().message())};
    }
    http_ = *std::move(http);
    metrics_address_ = WithPort(listen, http_->port());
    return absl::OkStatus();
  }

  // What protects the port, and who may do what. Before anything is served.
  absl::Status StartSecurity() {
    const Config& config = runtime_.config;
    VOXLOC_TRY(runtime_.audit.Open());
    credentials_ = grpc::InsecureServerCredentials();
    if (!config.tls.certificate.empty()) {
      tls_files_ = std::make_shared<TlsFiles>(config.tls, runtime_.metrics);
      credentials_ = MakeTlsCredentials(tls_files_);
    }
    VOXLOC_TRY(ReloadSecurity());
    OnReload("security", [this] { return ReloadSecurity(); });
    const auto now = TimeoutWatch::Clock::now();
    file_entries_.push_back(runtime_.file_watch.Add(runtime_.access, now));
    if (tls_files_ != nullptr) file_entries_.push_back(runtime_.file_watch.Add(tls_files_, now));
    return absl::OkStatus();
  }

  absl::Status StartGrpc() {
    const Config& config = runtime_.config;
    const bool open = tls_files_ == nullptr && !runtime_.access->asks_for_credentials();
    grpc::ServerBuilder builder;
    if (config.reflection == "false" || (config.reflection == "auto" && !open)) {
      builder.SetOption(std::make_unique<WithoutReflection>());
    }
    ConfigureTransport(config, builder);
    VOXLOC_ASSIGN_OR_RETURN(auto listener, ConnectionListener::Bind(config.listen));
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials_);
    services_.push_back(MakeLocalizationService(runtime_));
    services_.push_back(MakeMapService(runtime_));
    services_.push_back(MakeAdminService(runtime_));
    services_.push_back(MakeHealthService(runtime_));
    for (const auto& service : services_) builder.RegisterService(service.get());
    grpc_server_ = builder.BuildAndStart();
    if (grpc_server_ == nullptr) return absl::InternalError("gRPC cannot be started");
    connections_ = std::move(listener);
    connections_->Start(std::move(acceptor), config.connections.max_open, runtime_.metrics);
    address_ = WithPort(config.listen, connections_->port());
    return absl::OkStatus();
  }

  // Maps are loaded while the server answers, beginning where vehicles were last; on demand, none
  // until it is asked for.
  absl::Status StartLoading(const std::vector<std::string>& maps) {
    const bool on_demand = runtime_.config.residency.idle_timeout_s > 0.0;
    for (const std::string& map : maps) {
      VOXLOC_ASSIGN_OR_RETURN(const auto poses, runtime_.map_store->ListLastPoses(map));
      for (const LastPose& pose : poses) {
        if (on_demand) break;
        runtime_.places.Record(map, {pose.map_T_base.translation.head<2>(), Eigen::Vector2d::Zero(),
                                     PlacesInUse::Clock::now()});
      }
      if (!runtime_.mapping.Post([this, map] { runtime_.library.Load(map); })) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the store has ", maps.size(), " maps, too many to load at once"));
      }
    }
    return absl::OkStatus();
  }

  // Periodic work in the background.
  void StartBackgroundTasks() {
    runtime_.metrics.store_connected.Set(1.0);
    if (runtime_.map_store->shared()) {
      follower_ = std::make_unique<StoreFollower>(
          StoreFollower::Parts{runtime_.library, runtime_.mapping, runtime_.metrics,
                               absl::Seconds(runtime_.config.store.poll_period_s)});
    }
    const auto watch = [this](const std::shared_ptr<TimeoutWatch::Watched>& part) {
      background_tasks_.push_back(part);
      background_entries_.push_back(runtime_.timeouts.Add(part, TimeoutWatch::Clock::now()));
    };
    watch(std::make_shared<StoreUpkeep>(*runtime_.map_store, runtime_.last_poses,
                                        runtime_.tile_fits, runtime_.mapping, runtime_.metrics));
    watch(runtime_.residency);
    const bool restart = runtime_.config.on_engine_failure == "restart";
    watch(std::make_shared<EngineWatch>(
        *runtime_.engine, runtime_.metrics, restart ? end_ : [] {}));
    watch(std::make_shared<MemoryTrim>(
        runtime_.calls, [this] { return runtime_.mapping.Post(ReturnFreedMemory); }));
  }

  void LogStart() const {
    const EngineInfo info = runtime_.engine->Info();
    Log(LogLevel::kInfo, "serving",
        {{"listen", address_},
         {"metrics", metrics_address_.empty() ? "off" : metrics_address_},
         {"engine", info.name},
         {"device", info.device},
         {"threads", info.threads},
         {"version", kVersion}});
    const HostResources& host = runtime_.host;
    Log(LogLevel::kInfo, "host_resources",
        {{"processors", host.processors},
         {"processors_from", host.processors_from},
         {"memory_bytes", host.memory_bytes},
         {"memory_from", host.memory_from},
         {"max_map_memory_bytes", runtime_.max_map_memory_bytes.load()}});
    if (!runtime_.map_store->durable()) {
      Log(LogLevel::kWarn, "maps_not_kept",
          {{"detail",
            runtime_.map_store->shared()
                ? "the database of the maps has `fsync` switched off: a power cut loses maps"
                : "maps are kept in memory alone; data_dir or store.url makes them survive "
                  "a restart"}});
    }
  }

  // The order in which a server ends, drained or not, with all calls cancelled that are still open.
  void Shutdown() {
    ready_file_.reset();
    if (grpc_server_ == nullptr) {  // it has ended, or its start has failed while maps are loaded
      runtime_.mapping.Stop();
      return;
    }
    // Nothing new begins.
    background_entries_.clear();
    follower_.reset();
    connections_->Stop();
    grpc_server_->Shutdown(std::chrono::system_clock::now());
    // The queues end, that of maps after those that post to it.
    runtime_.scheduler.Stop();
    runtime_.searching.Stop();
    runtime_.reading.Stop();
    runtime_.scoring.Stop();
    runtime_.fit_sampler.Stop();
    runtime_.captures.Stop();
    runtime_.map_update.Stop();
    runtime_.mapping.Stop();
    // Save what they have collected.
    if (const absl::Status status = runtime_.last_poses.Save(*runtime_.map_store); !status.ok()) {
      Log(LogLevel::kWarn, "poses_not_saved", {{"error", status.ToString()}});
    }
    if (const absl::Status status = runtime_.tile_fits.Save(*runtime_.map_store); !status.ok()) {
      Log(LogLevel::kWarn, "tile_fits_not_saved", {{"error", status.ToString()}});
    }
    // Probes are answered until all calls have ended.
    grpc_server_.reset();
    readiness_entry_.reset();
    http_.reset();
    runtime_.timeouts.Stop();  // it may own the last reference to a call
  }

  EffectiveConfig unresolved_;
  const std::unique_ptr<DirectoryLock> data_dir_lock_;
  Runtime runtime_;
  const std::function<void()> end_;
  std::vector<std::pair<std::string, std::function<absl::Status()>>> reloads_;
  std::unique_ptr<StoreFollower> follower_;  // null: no other server writes the store
  std::vector<std::shared_ptr<TimeoutWatch::Watched>> background_tasks_;
  std::vector<std::unique_ptr<TimeoutWatch::Entry>> background_entries_;
  std::shared_ptr<TlsFiles> tls_files_;  // null: no TLS
  std::vector<std::unique_ptr<TimeoutWatch::Entry>> file_entries_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<TimeoutWatch::Entry> readiness_entry_;
  std::unique_ptr<HttpListener> http_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> grpc_server_;
  std::unique_ptr<ConnectionListener> connections_;  // of grpc_server_
  std::unique_ptr<ReadyFile> ready_file_;
  std::string address_;
  std::string metrics_address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const CommandLine& command_line,
                                                      std::function<void()> end,
                                                      const StopRequested& stopping) {
  return Start(command_line, EngineChoice(), std::move(end), stopping);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const CommandLine& command_line,
                                                      EngineChoice choice,
                                                      std::function<void()> end,
                                                      const StopRequested& stopping) {
  SetLogLevel(LogLevelOf(command_line.config.log_level));
  ConfigErrors errors;
  CheckConfig(command_line.config, errors);
  VOXLOC_TRY(errors.Status());
  const HostResources host = DetectHostResources();
  EffectiveConfig resolved = command_line;
  ResolveDefaults(host, resolved);
  if (choice.engine == nullptr) {
    VOXLOC_ASSIGN_OR_RETURN(choice, MakeEngine(resolved.config));
    if (stopping && stopping()) return StartCancelledError();
    VOXLOC_TRY(WarmUp(*choice.engine));
  }
  if (stopping && stopping()) return StartCancelledError();
  VOXLOC_ASSIGN_OR_RETURN(auto data_dir_lock, LockDataDir(resolved.config));
  VOXLOC_ASSIGN_OR_RETURN(auto store, OpenStore(resolved.config));
  auto server =
      std::make_unique<RunningServer>(command_line, resolved, host, std::move(choice),
                                      std::move(data_dir_lock), std::move(store), std::move(end));
  VOXLOC_TRY(server->Begin(stopping));
  return server;
}

}  // namespace voxloc::server
