// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/session_metrics.h"

namespace voxloc::server {
namespace {

constexpr MetricName kConnections = {"voxloc_connections",
                                     "Open connections of gRPC's clients, counted once a second."};
constexpr MetricName kConnectionsRefused = {
    "voxloc_connections_refused_total",
    "Connections closed at once: connections.max_open are open (limit), or the process may open no "
    "more files (descriptors).",
    "reason"};
constexpr MetricName kActive = {"voxloc_sessions_active", "Open sessions."};
constexpr MetricName kRejected = {
    "voxloc_rejected_total",
    "Requests refused at a limit: tracking (sessions, unopened, queue_full), scoring (streams), "
    "searching (searches, recoveries), mapping (transactions), reading (streams)."};
constexpr MetricName kMapReadBytes = {
    "voxloc_map_read_bytes",
    "Bytes of maps that are held for clients of GetTiles and GetCells, at most max_reply_bytes or "
    "one tile."};
constexpr MetricName kReplyBytes = {"voxloc_reply_bytes",
                                    "Bytes of replies that wait for clients to take them."};
constexpr MetricName kPaused = {
    "voxloc_reads_paused_total",
    "Times that a stream whose replies wait was not read from: 64 of them wait (replies), or those "
    "of all streams have more than max_reply_bytes (bytes).",
    "reason"};
constexpr MetricName kStreamsTimedOut = {
    "voxloc_streams_timed_out_total",
    "Streams that a timeout ended: no first message (open), nothing more (idle), no reply taken "
    "(replies).",
    "reason"};

Counter Rejected(const Registrar& make, const char* work_class, const char* reason) {
  return make.MakeCounter(kRejected, {{"class", work_class}, {"reason", reason}});
}

}  // namespace

SessionGroup::SessionGroup(const Registrar& make)
    : connections(make.MakeGauge(kConnections)),
      connections_over_limit(make.CounterOf(kConnectionsRefused, "limit")),
      connections_without_descriptor(make.CounterOf(kConnectionsRefused, "descriptors")),
      sessions_active(make.MakeGauge(kActive)),
      rejected_sessions(Rejected(make, "tracking", "sessions")),
      rejected_scans(Rejected(make, "tracking", "queue_full")),
      rejected_unopened(Rejected(make, "tracking", "unopened")),
      rejected_scoring(Rejected(make, "scoring", "streams")),
      rejected_searches(Rejected(make, "searching", "searches")),
      rejected_recoveries(Rejected(make, "searching", "recoveries")),
      rejected_transactions(Rejected(make, "mapping", "transactions")),
      rejected_map_readers(Rejected(make, "reading", "streams")),
      map_read_bytes(make.MakeGauge(kMapReadBytes)),
      reply_bytes(make.MakeGauge(kReplyBytes)),
      paused_by_replies(make.CounterOf(kPaused, "replies")),
      paused_by_bytes(make.CounterOf(kPaused, "bytes")),
      timed_out_open(make.CounterOf(kStreamsTimedOut, "open")),
      timed_out_idle(make.CounterOf(kStreamsTimedOut, "idle")),
      timed_out_replies(make.CounterOf(kStreamsTimedOut, "replies")) {}

}  // namespace voxloc::server
