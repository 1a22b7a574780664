# SPDX-License-Identifier: Apache-2.0
"""Is the fleet localized, and by which servers?"""

from panels import dashboard, lines, row, stat, table, verdict
from queries import by_version, limit, mean, of, quantile, rates, rejected_share, summed

# Of all servers of the job, also those that never answered and are no choice of a variable.
KNOWN = 'up{job=~"$job"} and on (job) last_over_time(voxloc_build_info{job=~"$job"}[1d])'
READY = f'(sum(voxloc_server_ready{{job=~"$job"}}) or vector(0)) / count({KNOWN})'
LOCALIZED = f"{summed(of('voxloc_sessions_localized'))} / ({summed(of('voxloc_sessions_active'))} > 0)"

DASHBOARD = dashboard(
    "fleet", "Fleet", "Is the fleet localized? The first row answers; the others show which vehicles' servers are not.",
    row("Localization of the fleet",
        verdict("Fleet localized",
                "Yes: no more vehicles are without an accepted pose than the limit of rejected poses allows, and every server is "
                "ready. No: look at the numbers to the right. Few servers ready: docs/alerts.md#voxlocnotready. All ready and "
                "vehicles not localized: see the dashboard Quality and docs/alerts.md#voxlocposesunsure.",
                f"({LOCALIZED} >= bool 1 - {limit('limit:voxloc_poses_rejected:ratio')}) * (({READY}) >= bool 1)",
                idle="no vehicles"),
        stat("Vehicles", "Open sessions. A sudden fall with all servers ready is the network or a client's release; a rise beyond "
             "limits.max_sessions is refused: docs/alerts.md#voxlocrejects.", summed(of("voxloc_sessions_active"))),
        stat("Not localized", "Sessions whose last answer has no accepted pose, or that have no answer yet. `voxloc fleet` names "
             "them; docs/alerts.md#voxlocposesunsure says why poses are rejected.",
             f"{summed(of('voxloc_sessions_active'))} - {summed(of('voxloc_sessions_localized'))}"),
        stat("Localized", "Share of the open sessions whose last answer has an accepted pose. See Fleet localized.", LOCALIZED,
             "percentunit"),
        stat("Servers ready", "Share of the servers that Prometheus knows which say at /readyz that they are ready: green is all "
             "of them. docs/alerts.md#voxlocnotready.", READY, "percentunit", least=1),
        stat("Pages", "Firing alerts that somebody has to act on now; the table below names them. docs/alerts.md.",
             'count(ALERTS{alertstate="firing", alertname=~"Voxloc.*", severity="page"}) or vector(0)', most=0),
        stat("Tickets", "Firing alerts that somebody has to act on within days. docs/alerts.md.",
             'count(ALERTS{alertstate="firing", alertname=~"Voxloc.*", severity="ticket"}) or vector(0)', most=0)),
    row("Alerts and servers",
        table("Firing alerts", "What fires now. docs/alerts.md has a section for each by its name: what it means, and what to do.",
              {"firing": 'ALERTS{alertstate="firing", alertname=~"Voxloc.*"}'}, hidden=("alertstate", "job", "Value"), size=(12, 8)),
        table("Servers", "Version, engine, readiness and vehicles of each server. A server without a row does not answer: "
              "docs/alerts.md#voxlocdown. Two versions at once are an upgrade that has not ended: docs/upgrades.md.",
              {"": f"max by (instance, version, git, engine, gpu) ({of('voxloc_build_info')})",
               "ready": f"max by (instance) ({of('voxloc_server_ready')})",
               "vehicles": summed(of("voxloc_sessions_active"), "instance"),
               "localized": summed(of("voxloc_sessions_localized"), "instance")},
              hidden=("Value #A",), size=(12, 8))),
    row("Vehicles",
        lines("Vehicles and localized vehicles", "The gap between the lines are vehicles without an accepted pose. A gap at one "
              "moment on all servers is a map or a sensor; a gap that stays at one server is that server.",
              {"vehicles": summed(of("voxloc_sessions_active")), "localized": summed(of("voxloc_sessions_localized"))}),
        lines("Not localized, by server", "Where the gap is. One server alone: compare its version and its maps with the others; "
              "docs/alerts.md#voxlocrevisionsdiffer.",
              {"{{instance}}": f"{of('voxloc_sessions_active')} - {of('voxloc_sessions_localized')}"}),
        lines("Rejected poses, by server", "Share of the aligned scans whose pose is not accepted; above the limit "
              "VoxlocPosesUnsure fires: docs/alerts.md#voxlocposesunsure.", {"{{instance}}": rejected_share("instance")},
              "percentunit", "limit:voxloc_poses_rejected:ratio"),
        lines("Vehicles, by server", "How sessions spread. One server with far more than the others: the balancer does not choose "
              "by streams (deploy/README.md, Routing).", {"{{instance}}": summed(of("voxloc_sessions_active"), "instance")},
              stacked=True),
        lines("Vehicles, by version", "How far an upgrade has come; the panels by version of Service and Quality compare them.",
              {"{{version}}": summed(by_version(of("voxloc_sessions_active")), "version")}, stacked=True),
        lines("Scans, by server", "Scans received a second. Less than the vehicles times their rate is lost before the server.",
              {"{{instance}}": rates("voxloc_scans_received_total", "instance")}, "reqps"),
        lines("Age of poses (p99), by server", "From the stamp of an accepted scan to the hand-over of its reply. Above the limit "
              "VoxlocPosesOld fires; a constant offset is a clock: docs/alerts.md#voxlocposesold.",
              {"{{instance}}": quantile(0.99, "voxloc_pose_age_seconds", "instance")}, "s",
              "limit:voxloc_pose_age_seconds:p99"),
        lines("Recoveries of lost vehicles", "Searches for lost vehicles, and what later scans decided on what they found. Many "
              "failed: vehicles are off the map, or the map is old. Many dropped: the place repeats itself.",
              {"{{outcome}}": rates("voxloc_recoveries_total", "outcome")}, "reqps"),
        lines("Length of a stream", "Mean time of the streams of AlignScans that ended. Short streams are clients that reconnect: "
              "see Calls by code of the dashboard Service.",
              {"mean": mean("voxloc_rpc_duration_seconds", "", 'method="AlignScans"')}, "s")),
    row("Servers over time",
        lines("Ready", "1: ready. Gaps are servers that do not answer: docs/alerts.md#voxlocdown.",
              {"{{instance}}": of("voxloc_server_ready")}),
        lines("Restarts", "Starts of the process in 30 minutes; more than two fire VoxlocRestarts: docs/alerts.md#voxlocrestarts.",
              {"{{instance}}": f"changes({of('process_start_time_seconds')}[30m])"}),
        lines("Drains", "Seconds until a drain ends the remaining streams. A server that stays at 0 and is not ready has been "
              "drained: docs/alerts.md#voxlocdrainedstays.", {"{{instance}}": of("voxloc_drain_remaining_seconds")}, "s")))
