// SPDX-License-Identifier: Apache-2.0

#include "server/observe/engine_devices.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::server {

std::vector<EngineInfo> DevicesOf(const Engine& engine, const std::vector<uint32_t>& ordinals) {
  EngineInfo info = engine.Info();
  std::vector<EngineInfo> devices = std::move(info.parts);
  if (devices.empty()) {
    info.healthy = engine.Health().ok();
    info.parts.clear();
    devices.push_back(std::move(info));
  }
  for (size_t i = 0; i < devices.size() && i < ordinals.size(); ++i) {
    absl::StrAppend(&devices[i].name, ":", ordinals[i]);
  }
  return devices;
}

}  // namespace voxloc::server
