# SPDX-License-Identifier: Apache-2.0
"""Is the service within its objectives, and how much of the error budget is left?"""

from panels import dashboard, heatmap, lines, row, stat, verdict
from queries import (burned, by_version, limit, of, quantile, rate, rates, share, summed)

WINDOWS = {"5 min": "5m", "1 h": "1h", "6 h": "6h", "3 d": "3d"}
ANSWERS = "voxloc_align_result_total"
REFUSED = 'status=~"OVERLOADED|ENGINE_FAULT"'

DASHBOARD = dashboard(
    "service", "Service", "Is the service within its objectives, and how much of the error budget is left?",
    row("Objectives",
        verdict("Within the objectives",
                "Yes: in the last hour no more answers were slow or refused than the objectives allow. No: a burn rate to the right "
                "is above 1; docs/alerts.md#voxlocscansslow and docs/alerts.md#voxlocscansrefused say what to do.",
                f"({burned('slow', '1h')} <= bool 1) * ({burned('refused', '1h')} <= bool 1)", idle="no answers"),
        stat("Latency budget left", "Of 30 days: 1 minus the share of slow answers over what the objective allows. Below 0 the "
             "objective is missed: stop changes that are not repairs. Needs 30 days of data (--storage.tsdb.retention.time).",
             f"1 - {burned('slow', '30d')}", "percentunit", least=0),
        stat("Availability budget left", "Of 30 days: 1 minus the share of refused scans over what the objective allows. As beside.",
             f"1 - {burned('refused', '30d')}", "percentunit", least=0),
        stat("Latency burn (1 h)", "How many times the allowed share of slow answers the last hour had: above 1 the budget does not "
             "last its 30 days. docs/alerts.md#voxlocscansslow.", burned("slow", "1h"), most=1),
        stat("Availability burn (1 h)", "How many times the allowed share of refused scans the last hour had. "
             "docs/alerts.md#voxlocscansrefused.", burned("refused", "1h"), most=1),
        stat("p99 in the server", "From the receipt of a scan to the hand-over of its reply, where one in a hundred takes longer.",
             quantile(0.99, "voxloc_scan_duration_seconds"), "s"),
        stat("Answers", "Replies to scans a second, of whatever verdict.", rates(ANSWERS), "reqps")),
    row("Error budgets",
        lines("Burn rate: slow answers", "Over four windows; the alerts of docs/alerts.md#voxlocscansslow ask two of them at once, "
              "above 14.4 and 6 for pages and above 1 for tickets. A short window alone is a moment that has passed.",
              {name: burned("slow", window) for name, window in WINDOWS.items()}, size=(12, 8)),
        lines("Burn rate: refused scans", "The same of scans answered OVERLOADED or ENGINE_FAULT: "
              "docs/alerts.md#voxlocscansrefused.",
              {name: burned("refused", window) for name, window in WINDOWS.items()}, size=(12, 8)),
        lines("Answers a second", "By verdict. OVERLOADED is load, ENGINE_FAULT the engine; verdicts of poses are in the dashboard "
              "Quality.", {"{{status}}": rates(ANSWERS, "status")}, "reqps", stacked=True),
        lines("Slow answers, by version", "Share of answers that miss the objective of the latency (0.1 s), by the version of the "
              "server. A new version above the old one: take it back (docs/upgrades.md).",
              {"{{version}}": share(by_version(of("instance:voxloc_scans_slow:rate5m")),
                                    by_version(of("instance:voxloc_scans_answered:rate5m")), "version")},
              "percentunit", "objective:voxloc_scans_slow:ratio"),
        lines("Refused scans, by version", "Share of answers that miss the objective of the availability, by version.",
              {"{{version}}": share(by_version(of("instance:voxloc_scans_refused:rate5m")),
                                    by_version(of("instance:voxloc_scans_answered:rate5m")), "version")},
              "percentunit", "objective:voxloc_scans_refused:ratio")),
    row("Latency",
        lines("Time in the server", "From the receipt of a scan to the hand-over of its reply. The dashboard Engine shows the parts.",
              {f"p{q}": quantile(q / 100, "voxloc_scan_duration_seconds") for q in (50, 95, 99)}, "s"),
        heatmap("Distribution of the time in the server", "Two bands are two kinds of scans or servers: choose a server above.",
                f"sum by (le) (increase({of('voxloc_scan_duration_seconds_bucket')}[$__rate_interval]))"),
        lines("Time in the server (p99), by server", "One server above the others: its engine (docs/alerts.md#voxlocenginefallback) "
              "or its share of the vehicles.",
              {"{{instance}}": quantile(0.99, "voxloc_scan_duration_seconds", "instance")}, "s"),
        lines("Age of poses", "From the stamp of an accepted scan to the hand-over of its reply. What the server's own time does not "
              "explain is the vehicle, the network, or a clock: docs/alerts.md#voxlocposesold.",
              {f"p{q}": quantile(q / 100, "voxloc_pose_age_seconds") for q in (50, 95, 99)}, "s",
              "limit:voxloc_pose_age_seconds:p99"),
        lines("Poses whose age is unknown", "Accepted scans whose stamps lie outside the 10 s before their replies, a second: "
              "recordings, or clocks that are set wrong.", {"{{instance}}": rates("voxloc_pose_age_unknown_total", "instance")},
              "reqps"),
        lines("Time of calls (p99)", "RPCs other than streams of scans, by method. Long map updates are normal; long look-ups are a "
              "database that answers late (docs/alerts.md#voxlocstoreunreachable).",
              {"{{method}}": quantile(0.99, "voxloc_rpc_duration_seconds", "method", 'method!="AlignScans"')}, "s")),
    row("Scans and calls that were not served",
        lines("Scans not aligned", "Share of the scans, by server; above the limit VoxlocScansDropped fires: "
              "docs/alerts.md#voxlocscansdropped.",
              {"{{instance}}": share(of("instance:voxloc_scans_dropped:rate5m"), of("instance:voxloc_scans_received:rate5m"),
                                     "instance")}, "percentunit", "limit:voxloc_scans_dropped:ratio"),
        lines("Scans not aligned, by reason", "superseded and queue_full are load; stale and deadline are scans that come too late; "
              "invalid is a client that sends wrong scans.", {"{{reason}}": rates("voxloc_scans_dropped_total", "reason")}, "reqps"),
        lines("Refused at a limit", "By the class of work and the limit; docs/operations.md#limits has the settings, "
              "docs/alerts.md#voxlocrejects what to do.",
              {"{{class}} {{reason}}": rates("voxloc_rejected_total", "class, reason")}, "reqps"),
        lines("Calls by code", "RPCs that ended otherwise than OK. UNAVAILABLE is a drain or a database; UNAUTHENTICATED and "
              "PERMISSION_DENIED are credentials: docs/errors.md.",
              {"{{method}} {{code}}": rates("voxloc_rpc_handled_total", "method, code", 'code!="OK"') + " > 0"}, "reqps"),
        lines("Access denied", "Checks that a call did not pass, by what was wrong: docs/alerts.md#voxlocaccessdenied.",
              {"{{reason}}": rates("voxloc_access_denied_total", "reason")}, "reqps"),
        lines("Clients that do not keep up", "Streams that a timeout ended, by its kind; replies are clients that do not read: "
              "docs/alerts.md#voxlocclientsslow.", {"{{reason}}": rates("voxloc_streams_timed_out_total", "reason")}, "reqps"),
        lines("Replies that wait for clients", "Bytes. Where they grow, streams are not read from any more: "
              "docs/alerts.md#voxlocclientsslow.", {"{{instance}}": summed(of("voxloc_reply_bytes"), "instance")}, "bytes"),
        lines("Connections", "Open ones, and those closed at once since there were too many, a second: docs/operations.md.",
              {"{{instance}} open": of("voxloc_connections"),
               "{{reason}} refused": rates("voxloc_connections_refused_total", "reason")}),
        lines("Received and sent", "Bytes of messages a second, without framing: what the network carries.",
              {"received": summed(rate("voxloc_rpc_received_bytes_total")), "sent": summed(rate("voxloc_rpc_sent_bytes_total"))},
              "Bps"),
        lines("Certificate", "Time until the server's certificate ends: docs/alerts.md#voxloccertificateends.",
              {"{{instance}}": f"({of('voxloc_tls_certificate_expiry_timestamp_seconds')} > 0) - time()"}, "s"),
        lines("Spans", "Spans of sampled traces a second, by what became of them: docs/alerts.md#voxlocspanslost.",
              {"{{outcome}}": rates("voxloc_spans_total", "outcome")}, "reqps"),
        lines("Log lines left out", "Lines whose event came too often, a second: the log of that server has a flood.",
              {"{{instance}}": rates("voxloc_log_lines_left_out_total", "instance")}, "reqps")))
