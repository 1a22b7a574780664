// SPDX-License-Identifier: Apache-2.0
//
// What the clients of a load test do that a server has to bear: sessions that are cancelled with
// scans on their way, and readers that are slow.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_CLIENT_FAULTS_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_CLIENT_FAULTS_H_

#include <cstddef>
#include <cstdint>

namespace voxloc::cli {

struct ClientFaults {
  // So many of the scans of each stream, 0 to 50, are cancelled: now and then it cancels its
  // session with what is on its way, at any time between a scan's sending and its reply, and opens
  // another one.
  double cancel_percent = 0.0;

  // The first streams take `read_delay_s` for each reply, until the run is over. Their times are
  // not counted.
  size_t slow_readers = 0;
  double read_delay_s = 0.1;

  uint64_t seed = 0;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_CLIENT_FAULTS_H_
