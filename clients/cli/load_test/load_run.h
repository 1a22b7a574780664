// SPDX-License-Identifier: Apache-2.0
//
// The streams of a load test, from the opening of their sessions to the last answer.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/load_test/load_drive.h"
#include "clients/cli/load_test/load_result.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/load_stream.h"
#include "clients/cpp/channel.h"

namespace voxloc::cli {

struct LoadPlan {
  client::ChannelOptions channel;
  double timeout_s = 10.0;  // for `open` and for each answer; 0: no limit
  LoadTiming timing;
  ClientFaults faults;
  std::vector<std::string> maps;
  v1::OpenSession open;  // but for the map, and the vehicle where that is empty: then one a stream
};

class LoadRun {
 public:
  // Opens the sessions. `drives` must outlive the run. Errors are those of the first session that
  // does not open.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LoadRun>> Open(
      const LoadPlan& plan, const std::vector<LoadDrive>& drives);

  // Runs from `start_ns` of RunClock::Monotonic_ns on, to the last answer. `on_progress` is called
  // about four times a second with the time of the run and the number of answers so far, and `stop`
  // as often: whether to end early.
  [[nodiscard]] LoadResult Run(
      int64_t start_ns, const std::function<void(int64_t time_ns, uint64_t answers)>& on_progress,
      const std::function<bool()>& stop = nullptr);

 private:
  explicit LoadRun(const LoadTiming& timing) : timing_(timing) {}

  LoadTiming timing_;
  LoadResult result_;
  std::vector<std::unique_ptr<LoadStream>> streams_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_
