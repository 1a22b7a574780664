# SPDX-License-Identifier: Apache-2.0
"""Which map is stale, differs between servers, or has a staged revision that is worse?"""

from panels import dashboard, lines, row, stat, table, verdict
from queries import MAPS, limit, of, quantile, rate, rates, rejected_share, share, summed

REVISION = of("voxloc_map_revision", MAPS)
DIFFERING = f"sum(max by (job, map) ({REVISION}) != bool min by (job, map) ({REVISION}))"
STAGED = rejected_share("map", MAPS, 'revision="staged"')
ACTIVE = rejected_share("map", MAPS, 'revision="active"')
EXCESS = f"({STAGED}) - ({ACTIVE})"
WORSE = f"sum({EXCESS} > bool {limit('limit:voxloc_canary_rejected:excess_ratio')}) or vector(0)"
DAMAGED = summed(of("voxloc_map_tiles_damaged_total"))
BEHIND = f"time() - ({of('voxloc_store_followed_timestamp_seconds')} > 0)"

DASHBOARD = dashboard(
    "maps", "Maps", "Which map is stale, differs between servers, or has a staged revision that is worse?",
    row("Revisions",
        verdict("Maps are in order",
                "Yes: all servers have the same revisions, no tile is damaged, and no staged revision has more poses rejected than "
                "the active one. No: a number to the right is not 0.",
                f"({DIFFERING} == bool 0) * ({DAMAGED} == bool 0) * (({WORSE}) == bool 0)", idle="no maps"),
        stat("Maps that differ", "Maps of which servers have different active revisions. A moment of an update is normal; "
             "docs/alerts.md#voxlocrevisionsdiffer.", DIFFERING, most=0),
        stat("Worse canaries", "Maps whose staged revision has more poses rejected than the active one, by more than the limit. "
             "docs/alerts.md#voxloccanaryworse.", WORSE, most=0),
        stat("Damaged tiles", "Tiles left out since their content is damaged or missing. docs/alerts.md#voxloctilesdamaged.",
             DAMAGED, most=0),
        stat("Oldest revision", "Time since the oldest active revision was committed. Old is not wrong: compare with Rejected poses, "
             "by map and with `voxloc map info --worst 20`.", f"max({of('voxloc_map_age_seconds', MAPS)})", "s"),
        stat("Servers behind", "Servers that share a database and have not found their maps to be its maps for longer than the limit. "
             "docs/alerts.md#voxlocstorenotfollowed.",
             f"count(({BEHIND}) > {limit('limit:voxloc_store_behind_seconds:max')}) or vector(0)", most=0),
        stat("Databases away", "Servers that cannot reach the database of the maps: nothing can be written there. "
             "docs/alerts.md#voxlocstoreunreachable.", f"sum({of('voxloc_store_connected')} == bool 0)", most=0)),
    row("Maps",
        table("Maps and their poses", "For each map: the newest active revision, by how many revisions servers differ, its age, the "
              "rejected share of all poses, and how much more the staged revision has rejected than the active one. Sort by the "
              "last two: they say which map to look at first.",
              {"revision": f"max by (map) ({REVISION})",
               "differs by": f"max by (map) ({REVISION}) - min by (map) ({REVISION})",
               "age, s": f"max by (map) ({of('voxloc_map_age_seconds', MAPS)})",
               "rejected": rejected_share("map", MAPS), "staged, more rejected": EXCESS}),
        lines("Staged, more rejected than active", "How much more of its poses the staged revision of each map has rejected. Above the "
              "limit for 10 minutes VoxlocCanaryWorse fires: docs/alerts.md#voxloccanaryworse. Below 0 it is better: activate it.",
              {"{{map}}": EXCESS}, "percentunit", "limit:voxloc_canary_rejected:excess_ratio", least=None),
        lines("Scans on staged revisions", "A second. Without scans nothing can be concluded: name more vehicles with `voxloc map "
              "canary`.", {"{{map}} {{outcome}}": rates("voxloc_map_results_total", "map, outcome", MAPS, 'revision="staged"')},
              "reqps"),
        lines("Rejected poses, by map", "Share of the aligned scans. A map that rises over days has aged: `voxloc map propose` makes "
              "new tiles from drives.", {"{{map}}": rejected_share("map", MAPS)}, "percentunit",
              "limit:voxloc_poses_rejected:ratio"),
        lines("Revision, by server", "The active revision of each map. Servers on different steps: "
              "docs/alerts.md#voxlocrevisionsdiffer.", {"{{map}} at {{instance}}": REVISION}),
        lines("Revisions behind the newest", "Of each map at each server, the newest being that of all servers.",
              {"{{map}} at {{instance}}": 'max by (job, map) (voxloc_map_revision{job=~"$job", map=~"$map"}) - on (job, map) '
                                          f"group_right () {REVISION}"}),
        lines("Age of the revision", "Time since the active revision was committed.",
              {"{{map}} at {{instance}}": of("voxloc_map_age_seconds", MAPS)}, "s"),
        lines("Commits", "Revisions published, a minute.",
              {"{{instance}}": f"60 * {rates('voxloc_map_commits_total', 'instance')}"}),
        lines("From commit to use", "Time from a commit to the use of the new revision. Minutes are large maps: docs/sizing.md.",
              {"p50": quantile(0.5, "voxloc_map_swap_seconds"), "p99": quantile(0.99, "voxloc_map_swap_seconds")}, "s"),
        lines("Loading at a start", "Time to load a map until requests could use it: how long a restart keeps a server away.",
              {"p50": quantile(0.5, "voxloc_map_load_seconds"), "p99": quantile(0.99, "voxloc_map_load_seconds")}, "s")),
    row("Tiles and memory",
        lines("Scans near missing tiles", "Share of the scans, by server; above the limit VoxlocTilesMissing fires: "
              "docs/alerts.md#voxloctilesmissing.",
              {"{{instance}}": share(rate("voxloc_scans_near_missing_tiles_total"), rate("voxloc_scans_received_total"), "instance")},
              "percentunit", "limit:voxloc_scans_near_missing_tiles:ratio"),
        lines("Tiles brought to memory and taken out", "A second. Both at once, always: the maps do not fit (max_map_memory_bytes).",
              {"{{instance}} loaded": rates("voxloc_map_tiles_loaded_total", "instance"),
               "{{instance}} evicted": rates("voxloc_map_tiles_evicted_total", "instance")}),
        lines("Tiles in memory", "Share of the tiles of all maps. Below 1 maps are there in part, around the vehicles.",
              {"{{instance}}": share(of("voxloc_map_tiles_resident"), of("voxloc_map_tiles"), "instance")}, "percentunit"),
        lines("Memory of maps", "Where the engine keeps them; max_map_memory_bytes bounds it.",
              {"{{instance}} {{memory}}": summed(of("voxloc_map_bytes"), "instance, memory")}, "bytes"),
        lines("Maps, tiles, points and cells", "What there is, over the servers.",
              {name: summed(of(f"voxloc_{metric}")) for name, metric in
               {"maps": "maps", "tiles": "map_tiles", "points": "map_points", "cells": "map_voxels"}.items()}),
        lines("Tiles with a known fit", "Tiles that scans of vehicles were compared with; `voxloc map info --worst 20` lists those that "
              "seem to have changed.", {"{{instance}}": of("voxloc_tile_fits")}),
        lines("Scans compared with tiles", "By outcome, a second. Only dropped: the servers have no time left for it.",
              {"{{outcome}}": rates("voxloc_tile_fit_samples_total", "outcome")}, "reqps"),
        lines("Scans kept for map updates", "Bytes on the disk; map_update.max_bytes bounds them. `voxloc map propose` makes new tiles of "
              "them (docs/maps.md#scans-for-map-updates).",
              {"{{instance}}": of("voxloc_capture_bytes", 'purpose="map_update"')}, "bytes"),
        lines("Cache of moments", "Tiles at the cache, by outcome, a second. Many not_kept or damaged: look after the disk.",
              {"{{outcome}}": rates("voxloc_moments_total", "outcome")}),
        lines("Size of the cache of moments", "Bytes of cell moments; max_moments_bytes bounds them.",
              {"{{instance}}": of("voxloc_moments_bytes")}, "bytes")),
    row("Store",
        lines("Size of the store", "The database, its content, and what no revision holds and will be freed.",
              {"{{instance}} database": of("voxloc_store_bytes"), "{{instance}} content": of("voxloc_store_content_bytes"),
               "{{instance}} unreferenced": of("voxloc_store_unreferenced_bytes")}, "bytes"),
        lines("Map updates that fail", "By code, a second: RESOURCE_EXHAUSTED a full disk, INTERNAL a failed sync, DATA_LOSS damage. "
              "docs/alerts.md#voxlocstorefull.",
              {"{{code}}": rates("voxloc_rpc_handled_total", "code", 'method="UpdateMapTiles"', 'code!="OK"') + " > 0"}, "reqps"),
        lines("Database answers", "1: the database of the maps answers the server, or the server keeps its maps itself. 0: maps are "
              "served as they are, and nothing can be written. docs/alerts.md#voxlocstoreunreachable.",
              {"{{instance}}": of("voxloc_store_connected")}),
        lines("Behind the database", "Time since each server last found its maps to be those of the database. "
              "docs/alerts.md#voxlocstorenotfollowed.", {"{{instance}}": BEHIND}, "s", "limit:voxloc_store_behind_seconds:max"),
        lines("Time to follow", "From noticing that another server has changed maps to serving what it made of them.",
              {"p50": quantile(0.5, "voxloc_map_follow_seconds"), "p99": quantile(0.99, "voxloc_map_follow_seconds")}, "s"),
        lines("Losses of the database", "Times a minute that it has ceased to answer. docs/alerts.md#voxlocstoreflaps.",
              {"{{instance}}": f"60 * {rates('voxloc_store_connections_lost_total', 'instance')}"})),
    maps=True)
