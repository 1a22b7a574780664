// SPDX-License-Identifier: Apache-2.0
//
// The metrics of who is let in, and of the files that say so. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SECURITY_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SECURITY_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct SecurityGroup {
  explicit SecurityGroup(const Registrar& make);

  Counter denied_missing;  // calls without credentials
  Counter denied_unknown;  // with credentials that the server does not know
  Counter denied_expired;
  Counter denied_role;
  Counter denied_map;
  Counter denied_vehicle;
  Counter access_reloads_ok;
  Counter access_reloads_failed;
  Counter tls_reloads_ok;
  Counter tls_reloads_failed;
  Gauge tls_expiry_s;      // since the Unix epoch
  Counter audit_failures;  // lines that were not written to their file
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SECURITY_METRICS_H_
