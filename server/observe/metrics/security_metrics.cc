// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/security_metrics.h"

namespace voxloc::server {
namespace {

constexpr MetricName kDenied = {"voxloc_access_denied_total",
                                "Checks that a call did not pass, by what was wrong.", "reason"};
constexpr MetricName kReloads = {"voxloc_security_reloads_total",
                                 "Times that the access file or the files of TLS were read."};
constexpr MetricName kExpiry = {
    "voxloc_tls_certificate_expiry_timestamp_seconds",
    "When the server's certificate ends, since the Unix epoch; 0: no TLS."};
constexpr MetricName kAuditFailures = {"voxloc_audit_failures_total",
                                       "Lines that could not be written to the audit log's file."};

Counter Reloads(const Registrar& make, const char* file, const char* outcome) {
  return make.MakeCounter(kReloads, {{"file", file}, {"outcome", outcome}});
}

}  // namespace

SecurityGroup::SecurityGroup(const Registrar& make)
    : denied_missing(make.CounterOf(kDenied, "missing_credentials")),
      denied_unknown(make.CounterOf(kDenied, "unknown_credentials")),
      denied_expired(make.CounterOf(kDenied, "expired_credentials")),
      denied_role(make.CounterOf(kDenied, "role")),
      denied_map(make.CounterOf(kDenied, "map")),
      denied_vehicle(make.CounterOf(kDenied, "vehicle")),
      access_reloads_ok(Reloads(make, "access", "ok")),
      access_reloads_failed(Reloads(make, "access", "failed")),
      tls_reloads_ok(Reloads(make, "tls", "ok")),
      tls_reloads_failed(Reloads(make, "tls", "failed")),
      tls_expiry_s(make.MakeGauge(kExpiry)),
      audit_failures(make.MakeCounter(kAuditFailures)) {}

}  // namespace voxloc::server
