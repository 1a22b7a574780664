// SPDX-License-Identifier: Apache-2.0
//
// A library for LD_PRELOAD: sends its process a signal, of the number in VOXLOC_TEST_SIGNAL, before
// main, as whoever starts the process may do.

#include <unistd.h>

#include <csignal>
#include <cstdlib>

__attribute__((constructor)) static void SendSignal() {
  if (const char* const number = std::getenv("VOXLOC_TEST_SIGNAL"); number != nullptr) {
    kill(getpid(), std::atoi(number));
  }
}
