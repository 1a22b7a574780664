// SPDX-License-Identifier: Apache-2.0
//
// A library for LD_PRELOAD: sends its process the signal VOXLOC_TEST_SIGNAL before main.

#include <unistd.h>

#include <csignal>
#include <cstdlib>

__attribute__((constructor)) static void SendSignal() {
  if (const char* const number = std::getenv("VOXLOC_TEST_SIGNAL"); number != nullptr) {
    kill(getpid(), std::atoi(number));
  }
}
