// SPDX-License-Identifier: Apache-2.0
//
// Names threads for debuggers and `top -H`.

#ifndef VOXLOC_SERVER_SCHEDULING_THREAD_NAME_H_
#define VOXLOC_SERVER_SCHEDULING_THREAD_NAME_H_

#include <pthread.h>

#include <string>

namespace voxloc::server {

// Names the calling thread; Linux keeps 15 characters.
inline void NameThisThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_THREAD_NAME_H_
