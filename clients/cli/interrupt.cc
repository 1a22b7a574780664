// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/interrupt.h"

#include <atomic>

namespace voxloc::cli {
namespace {

std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set by a handler of signals");

void NoteInterrupt(int /*signal*/) { interrupt_requested = true; }

}  // namespace

Interrupt::Interrupt() {
  interrupt_requested = false;
  struct sigaction action = {};
  action.sa_handler = &NoteInterrupt;
  // Once; and calls of the system go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    if (sigaction(signal, &action, &before) == 0) before_.emplace_back(signal, before);
  }
}

Interrupt::~Interrupt() {
  for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
}

bool Interrupt::Requested() { return interrupt_requested; }

}  // namespace voxloc::cli
