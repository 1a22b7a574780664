// SPDX-License-Identifier: Apache-2.0
//
// The load of the scenarios: the small town of the server's tests as a map, and scans of it from
// known poses.

#ifndef VOXLOC_TESTS_CHAOS_TOWN_LOAD_H_
#define VOXLOC_TESTS_CHAOS_TOWN_LOAD_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "clients/cli/load_test/load_schedule.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::chaos {

constexpr char kTown[] = "town";

// Makes the town a map of the server, where it is not there yet.
[[nodiscard]] absl::Status LoadTown(const std::string& address);

// Sixteen scans of about `points` points, with guesses 0.2 m and half a degree off.
[[nodiscard]] cli::LoadDrive TownDrive(size_t points);

// A scan of the drive with its guess.
[[nodiscard]] v1::Scan ScanOf(const cli::LoadDrive& drive, size_t index);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_TOWN_LOAD_H_
