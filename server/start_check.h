// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a server could start with a configuration on this machine (--check-config),
// without starting, creating or changing anything. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_START_CHECK_H_
#define VOXLOC_SERVER_START_CHECK_H_

#include "server/config/config.h"
#include "server/config/config_input.h"

namespace voxloc::server {

// Adds what is wrong with a configuration beyond its single values: settings that contradict each
// other, and the files that it names.
void CheckConfig(const Config& config, ConfigErrors& errors);

// Adds what CheckConfig does not see: addresses that are not this machine's, folders and files that
// this user cannot make, read or write, a database of another program or of a newer version, and an
// engine that this build or this machine does not have. Not: what is in use at the moment, as by
// the server that the configuration is of, and what a database on another machine says.
void CheckStart(const Config& config, ConfigErrors& errors);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_START_CHECK_H_
