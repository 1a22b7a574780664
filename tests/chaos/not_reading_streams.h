// SPDX-License-Identifier: Apache-2.0
//
// Sessions that send scans and never read the answers.

#ifndef VOXLOC_TESTS_CHAOS_NOT_READING_STREAMS_H_
#define VOXLOC_TESTS_CHAOS_NOT_READING_STREAMS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clients/cli/load_test/load_schedule.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::chaos {

class NotReadingStreams {
 public:
  // Each sends `rate_hz` scans a second, as long as its connection takes them.
  NotReadingStreams(const std::string& address, const cli::LoadDrive& drive, size_t streams,
                    double rate_hz);
  // Cancels them.
  ~NotReadingStreams();
  NotReadingStreams(const NotReadingStreams&) = delete;
  NotReadingStreams& operator=(const NotReadingStreams&) = delete;

  [[nodiscard]] uint64_t sent() const { return sent_; }
  // Streams that the server has ended.
  [[nodiscard]] uint64_t ended() const { return ended_; }

 private:
  class Stream;
  void Run(double rate_hz);

  std::vector<v1::AlignScansRequest> scans_;
  std::vector<std::unique_ptr<v1::LocalizationService::Stub>> stubs_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<bool> running_{true};
  std::thread thread_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_NOT_READING_STREAMS_H_
