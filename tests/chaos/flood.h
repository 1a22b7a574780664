// SPDX-License-Identifier: Apache-2.0
//
// Open-loop clients: scans are sent on schedule, on streams and as unary calls, whatever the server
// does, and every answer is counted. Scans that the connection does not accept in time are late or
// not sent; due and sent show it.

#ifndef VOXLOC_TESTS_CHAOS_FLOOD_H_
#define VOXLOC_TESTS_CHAOS_FLOOD_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::chaos {

struct FloodCounts {
  uint64_t due = 0;
  uint64_t sent = 0;
  uint64_t aligned = 0;     // accepted
  uint64_t superseded = 0;  // by a newer scan of the same stream
  uint64_t refused = 0;     // OVERLOADED, RESOURCE_EXHAUSTED, UNAVAILABLE
  uint64_t deadline = 0;    // of the call
  uint64_t other = 0;
  uint64_t duplicated = 0;  // second answers of a scan

  [[nodiscard]] uint64_t answered() const {
    return aligned + superseded + refused + deadline + other;
  }
  void Add(const FloodCounts& more);
  [[nodiscard]] cli::Json ToJson() const;
};

// Scans on streams that ask for as many waiting scans as the server grants. A thread writes and a
// thread reads each stream.
class StreamFlood {
 public:
  // The drive must outlive the flood. Sends `rate_hz` scans a second over all streams.
  StreamFlood(const std::string& address, const cli::LoadDrive& drive, size_t streams,
              double rate_hz);
  ~StreamFlood();
  StreamFlood(const StreamFlood&) = delete;
  StreamFlood& operator=(const StreamFlood&) = delete;

  void StopSending() { sending_ = false; }
  // Stops sending, receives the remaining answers, and returns the counts.
  [[nodiscard]] FloodCounts Finish();

 private:
  struct Stream;
  const cli::LoadDrive& drive_;
  std::atomic<bool> sending_{true};
  std::vector<std::unique_ptr<Stream>> streams_;
};

// Unary calls, each with a deadline of its own.
class UnaryFlood {
 public:
  UnaryFlood(const std::string& address, const cli::LoadDrive& drive, double rate_hz);
  ~UnaryFlood();
  UnaryFlood(const UnaryFlood&) = delete;
  UnaryFlood& operator=(const UnaryFlood&) = delete;

  void StopSending() { sending_ = false; }
  [[nodiscard]] FloodCounts Finish();

 private:
  struct Call;
  void Send(double rate_hz);
  void Start(const v1::AlignScanRequest& request, v1::LocalizationService::Stub& stub);
  void OnCallDone(const v1::AlignmentResult& result, const grpc::Status& status);
  void Stop();

  std::vector<v1::AlignScanRequest> requests_;
  std::vector<std::unique_ptr<v1::LocalizationService::Stub>> stubs_;
  std::atomic<bool> sending_{true};
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t open_ = 0;
  FloodCounts counts_;
  std::thread thread_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_FLOOD_H_
