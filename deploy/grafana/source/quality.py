# SPDX-License-Identifier: Apache-2.0
"""Can the poses be believed, and if not, on which map, by which version and why?"""

from panels import dashboard, lines, row, stat, verdict
from queries import (ALIGNED, MAPS, by_version, limit, of, quantile, rate, rates, rejected_share, share, summed,
                     verdict_share)

STATUSES = "instance_status:voxloc_align_result:rate5m"
SEARCHES = "voxloc_searches_total"
REJECTED, DEGENERATE = "limit:voxloc_poses_rejected:ratio", "limit:voxloc_poses_degenerate:ratio"

DASHBOARD = dashboard(
    "quality", "Quality", "Can the poses be believed, and if not, on which map, by which version and why?",
    row("Poses",
        verdict("Poses can be believed",
                "Yes: neither rejected nor degenerate poses are above their limits. No: the panels below show on which map and with "
                "which verdict; docs/alerts.md#voxlocposesunsure, docs/alerts.md#voxlocdegenerate.",
                f"({rejected_share()} <= bool {limit(REJECTED)}) * ({verdict_share('DEGENERATE')} <= bool {limit(DEGENERATE)})",
                idle="no poses"),
        stat("Accepted", "Share of the aligned scans whose pose is accepted.",
             share(rate("voxloc_map_results_total", MAPS, 'outcome="accepted"'),
                   rate("voxloc_map_results_total", MAPS, ALIGNED)), "percentunit"),
        stat("Rejected, of the limit", "Rejected poses over their limit: above 1 VoxlocPosesUnsure fires after 10 minutes. "
             "docs/alerts.md#voxlocposesunsure.", f"{rejected_share('', MAPS)} / {limit(REJECTED)}", most=1),
        stat("Degenerate, of the limit", "Poses with a direction that the scan does not observe, over their limit. "
             "docs/alerts.md#voxlocdegenerate.", f"{verdict_share('DEGENERATE')} / {limit(DEGENERATE)}", most=1),
        stat("Worst map", "Rejected share of the map that has most; Rejected poses, by map says which one. Read it before any map is "
             "activated.", f"max({rejected_share('map', MAPS)})", "percentunit"),
        stat("Median confidence", "Half of the scans have less. It falls before poses are rejected: look at the map's fit "
             "(`voxloc map info --worst 20`).", quantile(0.5, "voxloc_align_confidence")),
        stat("Suspect sweeps", "Accepted scans a second whose times, stamps or motion do not fit their points; the log event "
             "suspect_sweeps names the sessions. docs/alerts.md#voxlocsweepssuspect.", rates("voxloc_suspect_sweeps_total"),
             "reqps", most=0)),
    row("Where poses are rejected",
        lines("Rejected poses, by map", "Share of the aligned scans. One map above the others: it is out of date, or its vehicles "
              "leave it. docs/alerts.md#voxlocposesunsure.", {"{{map}}": rejected_share("map", MAPS)}, "percentunit", REJECTED),
        lines("Rejected poses, by revision", "The active revision of each map and a staged one that vehicles try. staged above "
              "active: withdraw it. docs/alerts.md#voxloccanaryworse.",
              {"{{map}} {{revision}}": rejected_share("map, revision", MAPS)}, "percentunit", REJECTED),
        lines("Rejected poses, by version", "By the version of the server. A new version above the old one with the same maps: take "
              "it back (docs/upgrades.md).",
              {"{{version}}": share(by_version(summed(of("instance_map:voxloc_map_results:rate5m", 'outcome="rejected"'),
                                                      "job, instance")),
                                    by_version(summed(of("instance_map:voxloc_map_results:rate5m"), "job, instance")),
                                    "version")}, "percentunit", REJECTED),
        lines("Scans, by map and outcome", "Replies to scans. not_aligned are scans without a guess, outside of the map, or refused.",
              {"{{map}} {{revision}} {{outcome}}": rates("voxloc_map_results_total", "map, revision, outcome", MAPS) + " > 0"},
              "reqps", stacked=True),
        lines("Verdicts", "Share of each in the aligned scans. OUT_OF_MAP: the map ends there. NOT_CONVERGED and LOW_SCORE: vehicles "
              "are lost, or the place has changed. LOW_OVERLAP: others hide it. docs/errors.md.",
              {"{{status}}": f"{summed(of(STATUSES), 'status')} / on () group_left () ({summed(of(STATUSES))} > 0)"},
              "percentunit", stacked=True),
        lines("Degenerate poses, by server", "Share of the poses with a direction that scan and map do not observe, as along a tunnel. "
              "Vehicles need odometry there. docs/alerts.md#voxlocdegenerate.",
              {"{{instance}}": share(of(STATUSES, 'status="DEGENERATE"'), of(STATUSES), "instance")}, "percentunit",
              DEGENERATE)),
    row("How good poses are",
        lines("Confidence", "The lower end: a tenth, and a hundredth, of the scans are below. A lower end that falls slowly is a map "
              "that ages.", {"lowest hundredth": quantile(0.01, "voxloc_align_confidence"),
                             "lowest tenth": quantile(0.1, "voxloc_align_confidence"),
                             "median": quantile(0.5, "voxloc_align_confidence")}),
        lines("Confidence (lowest tenth), by server", "One server below the others with the same maps: its vehicles, or its version.",
              {"{{instance}}": quantile(0.1, "voxloc_align_confidence", "instance")}),
        lines("Score", "Nearest voxel transformation likelihood; Autoware accepts above 2.3 by default. It depends on map and sensor: "
              "compare with yesterday.", {"lowest tenth": quantile(0.1, "voxloc_align_score"),
                                          "median": quantile(0.5, "voxloc_align_score")}),
        lines("Matched points", "Share of a scan's points that have a map cell near them. Where it falls, the surroundings have "
              "changed or are hidden.", {"lowest tenth": quantile(0.1, "voxloc_align_inlier_ratio"),
                                         "median": quantile(0.5, "voxloc_align_inlier_ratio")}, "percentunit"),
        lines("Newton steps", "Steps of a scan. More of them are worse guesses: odometry, or vehicles that are lost.",
              {"p50": quantile(0.5, "voxloc_align_iterations"), "p99": quantile(0.99, "voxloc_align_iterations")}),
        lines("Suspect sweeps, by server", "A second. docs/alerts.md#voxlocsweepssuspect.",
              {"{{instance}}": rates("voxloc_suspect_sweeps_total", "instance")}, "reqps")),
    row("Lost vehicles and initial poses",
        lines("Searches that fail", "Share of the searches for an initial pose that find nothing reliable; above the limit "
              "VoxlocSearchesFail fires. docs/alerts.md#voxlocsearchesfail.",
              {"failed": share(rate(SEARCHES, 'found=~"nothing|unreliable"'), rate(SEARCHES))}, "percentunit",
              "limit:voxloc_searches_failed:ratio"),
        lines("Searches for an initial pose", "By what they found, a second. ambiguous: the place repeats itself; give a prior.",
              {"{{found}}": rates(SEARCHES, "found")}, "reqps"),
        lines("Time of searches", "From the receipt of a search to its result; those that their timeout ended are at its border.",
              {"p50": quantile(0.5, "voxloc_search_duration_seconds"), "p95": quantile(0.95, "voxloc_search_duration_seconds")},
              "s"),
        lines("Searches for lost vehicles", "found and failed are searches; confirmed and dropped what later scans decided. Many "
              "dropped: the place repeats itself.", {"{{outcome}}": rates("voxloc_recoveries_total", "outcome")}, "reqps"),
        lines("Captures", "Scans that went badly, a second: written to the disk, or left out and why. `voxloc admin captures` lists "
              "them, and they can be aligned again (docs/operations.md#captures).",
              {"written": rates("voxloc_captures_written_total", "", 'purpose="bad_scan"'),
               "{{reason}}": rates("voxloc_captures_dropped_total", "reason", 'purpose="bad_scan"')},
              "reqps"),
        lines("Captures on the disk", "How many there are to look at.", {"{{instance}}": of("voxloc_captures_kept", 'purpose="bad_scan"')})),
    maps=True)
