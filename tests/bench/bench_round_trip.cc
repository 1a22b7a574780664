// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench round-trip`: the lower bound of a round trip through the service. Scans go to a
// server of the same gRPC, with the transport of voxlocd, that answers each with an empty result,
// at once or after some time, and does nothing else.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/config/config.h"
#include "server/network/connection_listener.h"
#include "tests/bench/bench_options.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::bench {
namespace {

struct RoundTripFlags {
  size_t bytes = 18'432;
  size_t repeat = 2000;
  double answer_after_ms = 0.0;
  std::string json;
};

// Answers each scan. While it waits it keeps a processor busy, as the wait for a GPU does.
class AnsweringStream
    : public grpc::ServerBidiReactor<v1::AlignScansRequest, v1::AlignScansResponse> {
 public:
  explicit AnsweringStream(absl::Duration busy) : busy_(busy) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    const absl::Time until = absl::Now() + busy_;
    while (absl::Now() < until) continue;
    response_.mutable_result()->set_sequence(request_.scan().sequence());
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const absl::Duration busy_;
  v1::AlignScansRequest request_;
  v1::AlignScansResponse response_;
};

class AnsweringService : public v1::LocalizationService::CallbackService {
 public:
  explicit AnsweringService(absl::Duration busy) : busy_(busy) {}

  grpc::ServerBidiReactor<v1::AlignScansRequest, v1::AlignScansResponse>* AlignScans(
      grpc::CallbackServerContext* /*context*/) override {
    return new AnsweringStream(busy_);
  }

 private:
  const absl::Duration busy_;
};

using Stream = grpc::ClientReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>;

// One thread writes and reads.
std::vector<double> RoundTripsOneThread(Stream& stream, v1::AlignScansRequest request,
                                        size_t repeat) {
  std::vector<double> ms;
  v1::AlignScansResponse response;
  for (size_t i = 0; i < repeat; ++i) {
    request.mutable_scan()->set_sequence(i);
    bool ok = false;
    ms.push_back(TimeMs([&] { ok = stream.Write(request) && stream.Read(&response); }));
    if (!ok) break;
  }
  return ms;
}

// As a session has it: one thread reads all the time, another writes and waits for it.
std::vector<double> RoundTripsTwoThreads(Stream& stream, v1::AlignScansRequest request,
                                         size_t repeat) {
  absl::Mutex mutex;
  size_t answered = 0;
  std::thread reader([&] {
    v1::AlignScansResponse response;
    for (size_t i = 0; i < repeat && stream.Read(&response); ++i) {
      const absl::MutexLock lock(&mutex);
      ++answered;
    }
  });
  std::vector<double> ms;
  for (size_t i = 0; i < repeat; ++i) {
    request.mutable_scan()->set_sequence(i);
    bool ok = false;
    ms.push_back(TimeMs([&] {
      ok = stream.Write(request);
      const auto is_answered = [&] { return !ok || answered > i; };
      const absl::MutexLock lock(&mutex);
      mutex.Await(absl::Condition(&is_answered));
    }));
    if (!ok) break;
  }
  reader.join();
  return ms;
}

absl::Status RunRoundTrip(const RoundTripFlags& flags) {
  struct Row {
    const char* name;
    std::string address;
    std::vector<double> (*ask)(Stream&, v1::AlignScansRequest, size_t);
  };
  const std::string socket = absl::StrCat("unix:/tmp/voxloc-round-trip-", getpid());
  const std::vector<Row> rows = {{"loopback", "127.0.0.1:0", RoundTripsOneThread},
                                 {"loopback, two threads", "127.0.0.1:0", RoundTripsTwoThreads},
                                 {"Unix socket", socket, RoundTripsOneThread},
                                 {"Unix socket, two threads", socket, RoundTripsTwoThreads}};
  nlohmann::json json = nlohmann::json::array();
  for (const Row& row : rows) {
    AnsweringService service(absl::Milliseconds(flags.answer_after_ms));
    grpc::ServerBuilder builder;
    server::ConfigureTransport(server::Config(), builder);
    int port = 0;
    builder.AddListeningPort(row.address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (server == nullptr)
      return absl::UnavailableError(absl::StrCat("no server at ", row.address));
    const std::string target = row.address == socket ? socket : absl::StrCat("127.0.0.1:", port);
    const auto stub = v1::LocalizationService::NewStub(
        grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = stub->AlignScans(&context);
    v1::AlignScansRequest request;
    request.mutable_scan()->add_clouds()->mutable_cloud()->set_data(std::string(flags.bytes, 'x'));
    // The first ones open the connection and its windows.
    constexpr size_t kWarmUp = 50;
    if (RoundTripsOneThread(*stream, request, kWarmUp).size() < kWarmUp) {
      return absl::UnavailableError(absl::StrCat("no answer from ", target));
    }
    const std::vector<double> ms = row.ask(*stream, request, flags.repeat);
    if (ms.size() < flags.repeat) {
      return absl::UnavailableError(absl::StrCat("the connection to ", target, " broke"));
    }
    stream->WritesDone();
    static_cast<void>(stream->Finish());
    server->Shutdown();
    const Summary summary = Summarize(ms);
    std::printf("%-26s p50 %.3f  p95 %.3f  p99 %.3f ms\n", row.name, summary.p50, summary.p95,
                summary.p99);
    json.push_back({{"name", row.name}, {"round_trip_ms", ToJson(summary)}});
  }
  return WriteJson(
      flags.json,
      {{"bytes", flags.bytes}, {"answer_after_ms", flags.answer_after_ms}, {"rows", json}});
}

}  // namespace

Command AddRoundTripCommand(CLI::App& program) {
  auto flags = std::make_shared<RoundTripFlags>();
  CLI::App* app = program.add_subcommand(
      "round-trip", "Time a scan's way to a gRPC server that does nothing else, and back");
  app->add_option("--bytes", flags->bytes, "Bytes of a scan's points")
      ->check(CLI::Range(1, 16'000'000))
      ->capture_default_str();
  app->add_option(
         "--answer-after", flags->answer_after_ms,
         "Milliseconds that the server computes before it answers; they are part of the times")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  AddRepeatFlag(*app, flags->repeat, "Round trips of each row");
  AddJsonFlag(*app, flags->json);
  return {app, [flags] { return RunRoundTrip(*flags); }};
}

}  // namespace voxloc::bench
