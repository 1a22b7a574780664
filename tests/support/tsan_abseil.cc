// SPDX-License-Identifier: Apache-2.0
//
// Lets ThreadSanitizer see the locks of an abseil that was not compiled with it, such as the
// distribution's: these definitions replace those of the shared library, report acquire and release
// to the sanitizer, and call the library's. Linked into ThreadSanitizer's builds only.
//
// Threads that unlock also evaluate the condition of an Await, after their reported release, so
// reads inside the library are ignored.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

class IgnoredReads {
 public:
  IgnoredReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  IgnoredReads(const IgnoredReads&) = delete;
  IgnoredReads& operator=(const IgnoredReads&) = delete;
  ~IgnoredReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

// The library's function of the same mangled name as `ours`.
void* Original(void* ours) {
  Dl_info info{};
  void* original = nullptr;
  if (dladdr(ours, &info) != 0 && info.dli_sname != nullptr) {
    original = dlsym(RTLD_NEXT, info.dli_sname);
  }
  if (original == nullptr) std::abort();
  return original;
}

// A member function called as the plain function that it is to the linker.
template <typename Result, typename Object, typename... Arguments>
Result Call(void* function, Object* object, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Object*, Arguments...)>(function)(object, arguments...);
}

// The code of a member function that is not virtual: the first word of a pointer to it in the
// Itanium C++ ABI (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#member-function-pointers).
template <typename Member>
void* AddressOf(Member member) {
  void* address = nullptr;
  static_assert(sizeof(member) == 2 * sizeof(address));
  std::memcpy(&address, &member, sizeof(address));
  return address;
}

}  // namespace

#define VOXLOC_ORIGINAL(type, member)                                       \
  ([]() {                                                                   \
    static void* const original = Original(AddressOf(type(&absl::member))); \
    return original;                                                        \
  }())

using LockFunction = void (absl::Mutex::*)();
using AwaitFunction = void (absl::Mutex::*)(const absl::Condition&);
using AwaitTimeoutFunction = bool (absl::Mutex::*)(const absl::Condition&, absl::Duration);
using WaitFunction = void (absl::CondVar::*)(absl::Mutex*);
using WaitDeadlineFunction = bool (absl::CondVar::*)(absl::Mutex*, absl::Time);
using WaitTimeoutFunction = bool (absl::CondVar::*)(absl::Mutex*, absl::Duration);
using NotifyFunction = void (absl::Notification::*)();
using AwaitNotifiedFunction = void (absl::Notification::*)() const;
using DecrementFunction = bool (absl::BlockingCounter::*)();
using AwaitCounterFunction = void (absl::BlockingCounter::*)();

void absl::Mutex::Lock() {
  const IgnoredReads ignored;
  Call<void>(VOXLOC_ORIGINAL(LockFunction, Mutex::Lock), this);
  __tsan_acquire(this);
}

void absl::Mutex::Unlock() {
  const IgnoredReads ignored;
  __tsan_release(this);
  Call<void>(VOXLOC_ORIGINAL(LockFunction, Mutex::Unlock), this);
}

void absl::Mutex::ReaderLock() {
  const IgnoredReads ignored;
  Call<void>(VOXLOC_ORIGINAL(LockFunction, Mutex::ReaderLock), this);
  __tsan_acquire(this);
}

void absl::Mutex::ReaderUnlock() {
  const IgnoredReads ignored;
  __tsan_release(this);
  Call<void>(VOXLOC_ORIGINAL(LockFunction, Mutex::ReaderUnlock), this);
}

void absl::Mutex::Await(const absl::Condition& condition) {
  const IgnoredReads ignored;
  __tsan_release(this);
  Call<void>(VOXLOC_ORIGINAL(AwaitFunction, Mutex::Await), this, &condition);
  __tsan_acquire(this);
}

bool absl::Mutex::AwaitWithTimeout(const absl::Condition& condition, absl::Duration timeout) {
  const IgnoredReads ignored;
  __tsan_release(this);
  const bool held = Call<bool>(VOXLOC_ORIGINAL(AwaitTimeoutFunction, Mutex::AwaitWithTimeout), this,
                               &condition, timeout);
  __tsan_acquire(this);
  return held;
}

void absl::CondVar::Wait(absl::Mutex* mutex) {
  const IgnoredReads ignored;
  __tsan_release(mutex);
  Call<void>(VOXLOC_ORIGINAL(WaitFunction, CondVar::Wait), this, mutex);
  __tsan_acquire(mutex);
}

bool absl::CondVar::WaitWithDeadline(absl::Mutex* mutex, absl::Time deadline) {
  const IgnoredReads ignored;
  __tsan_release(mutex);
  const bool timed_out = Call<bool>(
      VOXLOC_ORIGINAL(WaitDeadlineFunction, CondVar::WaitWithDeadline), this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

bool absl::CondVar::WaitWithTimeout(absl::Mutex* mutex, absl::Duration timeout) {
  const IgnoredReads ignored;
  __tsan_release(mutex);
  const bool timed_out = Call<bool>(VOXLOC_ORIGINAL(WaitTimeoutFunction, CondVar::WaitWithTimeout),
                                    this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

void absl::Notification::Notify() {
  const IgnoredReads ignored;
  __tsan_release(this);
  Call<void>(VOXLOC_ORIGINAL(NotifyFunction, Notification::Notify), this);
}

void absl::Notification::WaitForNotification() const {
  const IgnoredReads ignored;
  Call<void>(VOXLOC_ORIGINAL(AwaitNotifiedFunction, Notification::WaitForNotification), this);
  __tsan_acquire(const_cast<absl::Notification*>(this));
}

bool absl::BlockingCounter::DecrementCount() {
  const IgnoredReads ignored;
  __tsan_release(this);
  const bool last =
      Call<bool>(VOXLOC_ORIGINAL(DecrementFunction, BlockingCounter::DecrementCount), this);
  if (last) __tsan_acquire(this);
  return last;
}

void absl::BlockingCounter::Wait() {
  const IgnoredReads ignored;
  Call<void>(VOXLOC_ORIGINAL(AwaitCounterFunction, BlockingCounter::Wait), this);
  __tsan_acquire(this);
}
