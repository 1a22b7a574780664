#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one command of voxloc_bench on tiny data: bench_smoke_test.py VOXLOC_BENCH DRIVE COMMAND.

DRIVE is what `voxloc simulate` wrote. The command must end well, and its JSON must have all keys,
finite numbers, and figures that this data can have. `commands` checks that every command of
voxloc_bench is tried here. Exits with 77 where the command needs a GPU and there is none.
"""

import glob
import json
import math
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
TIMEOUT_S = 100
SUMMARY = ("mean", "p50", "p95", "p99", "max")


class Fault(Exception):
    """What is wrong with a result."""


def demand(condition, message):
    if not condition:
        raise Fault(message)


def number(value, low, high, name):
    """A finite number of [low, high]."""
    demand(isinstance(value, (int, float)) and not isinstance(value, bool), f"{name} is {value!r}")
    demand(math.isfinite(value) and low <= value <= high,
           f"{name} must be {low} to {high} (got {value})")


def keys(row, names, where):
    missing = set(names.split()) - set(row)
    demand(not missing, f"{where} lacks {', '.join(sorted(missing))}")


def summary(value, low, high, name):
    """A distribution: finite, ordered, in the range."""
    keys(value, " ".join(SUMMARY), name)
    for key in SUMMARY:
        number(value[key], low, high, f"{name}.{key}")
    demand(value["p50"] <= value["p95"] <= value["p99"] <= value["max"], f"{name} is not in order")
    # A mean of equal values may be a rounding over them.
    demand(value["mean"] <= value["max"] * (1 + 1e-12), f"the mean of {name} is over its maximum")


def time_ms(value, name):
    summary(value, 1e-6, 60e3, name)
    demand(value["p50"] > 0, f"{name} took no time")


def everything_finite(value, name="result", may_be_null=()):
    """JSON has no infinity: a number that is none was written as null."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in may_be_null:
                everything_finite(item, f"{name}.{key}", may_be_null)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            everything_finite(item, f"{name}[{i}]", may_be_null)
    else:
        demand(value is not None, f"{name} is not a number")
        if isinstance(value, float):
            demand(math.isfinite(value), f"{name} is {value}")


class Drive:
    def __init__(self, folder):
        self.folder = folder
        self.scans = len(glob.glob(f"{folder}/scans/*"))
        demand(self.scans >= 5, f"{folder} has {self.scans} scans")
        self.map = ["--map", f"{folder}/map"]
        self.data = [*self.map, "--scans", f"{folder}/scans", "--poses", f"{folder}/poses.txt"]
        self.thin = ["--points", "500", "--min-range", "1"]
        self.off = ["--perturb", "0.3,0.2,0.05,0,0,1"]
        self.set = ["--set", " ".join(["tiny", *self.data, *self.thin, *self.off])]


def pose_errors(row, scans, name):
    keys(row, "scans accepted lost translation_error_m rotation_error_deg body_error_m iterations "
         "evaluations", name)
    demand(row["scans"] == scans, f"{name} has {row['scans']} scans, not {scans}")
    # The reference's algorithm loses some starts in towns.
    number(row["lost"], 0, scans // 2 if name.startswith("autoware") else 0, f"{name}.lost")
    number(row["accepted"], scans, scans, f"{name}.accepted")
    summary(row["translation_error_m"], 0, 0.2, f"{name}.translation_error_m")
    summary(row["rotation_error_deg"], 0, 1, f"{name}.rotation_error_deg")
    for axis in "xyz":
        summary(row["body_error_m"][axis], 0, 0.2, f"{name}.body_error_m.{axis}")
    summary(row["iterations"], 1, 200, f"{name}.iterations")
    summary(row["evaluations"], 1, 1000, f"{name}.evaluations")


class Accuracy:
    @staticmethod
    def arguments(drive):
        return drive.set

    @staticmethod
    def check(result, drive):
        keys(result, "engine limit_distance_m limit_angle_deg results", "result")
        demand([row["profile"] for row in result["results"]] == ["autoware", "precise"], "profiles")
        for row in result["results"]:
            demand(row["set"] == "tiny", f"set {row['set']}")
            number(row["ms_per_scan"], 1e-6, 60e3, "ms_per_scan")
            pose_errors(row, drive.scans, row["profile"])


class AccuracyOfGicp:
    """In builds with PCL."""

    @staticmethod
    def arguments(drive):
        return [*drive.set, "--peer", "gicp"]

    @staticmethod
    def check(result, drive):
        demand(result["engine"] == "gicp", f"engine {result['engine']}")
        [row] = result["results"]
        keys(row, "set profile ms_per_scan scans lost translation_error_m rotation_error_deg "
             "body_error_m iterations", "result")
        demand((row["set"], row["profile"], row["scans"]) == ("tiny", "gicp", drive.scans), "row")
        number(row["ms_per_scan"], 1e-6, 60e3, "ms_per_scan")
        # Starts are 36 cm off.
        number(row["translation_error_m"]["p50"], 0, 0.1, "the median error")
        summary(row["iterations"], 1, 200, "iterations")


class AccuracyWithoutGicp(AccuracyOfGicp):
    refusal = "configure with -DVOXLOC_BENCH_PCL=ON, which needs PCL (libpcl-dev"


class Align:
    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, *drive.off, "--profile", "precise", "--repeat", "2",
                "--batch", "3"]

    @staticmethod
    def check(result, drive):
        keys(result, "engine device profile batch align_ms evaluation_ms build_ms cells "
             "cells_by_statistics iterations evaluations point_evaluations_per_s scans accepted "
             "translation_error_m rotation_error_deg results", "result")
        demand((result["engine"], result["profile"], result["batch"]) == ("cpu", "precise", 3),
               "engine, profile or batch")
        demand(result["scans"] == len(result["results"]) == drive.scans, "the number of scans")
        demand(result["accepted"] == drive.scans, f"{result['accepted']} accepted")
        time_ms(result["align_ms"], "align_ms")
        time_ms(result["evaluation_ms"], "evaluation_ms")
        number(result["build_ms"], 0.1, 60e3, "build_ms")
        demand(result["cells"] == result["cells_by_statistics"][0], "cells")
        for cells in result["cells_by_statistics"]:
            number(cells, 100, 1e6, "cells_by_statistics")
        number(result["point_evaluations_per_s"], 1e4, 1e11, "point_evaluations_per_s")
        summary(result["translation_error_m"], 0, 0.1, "translation_error_m")
        summary(result["rotation_error_deg"], 0, 0.5, "rotation_error_deg")
        for i, row in enumerate(result["results"]):
            name = f"results[{i}]"
            keys(row, "translation_error_m rotation_error_deg accepted position_m points pairs "
                 "align_ms iterations evaluations transform_probability nearest_voxel_likelihood "
                 "termination", name)
            number(row["points"], 400, 500, f"{name}.points")
            number(row["pairs"], 1, 500 * 27, f"{name}.pairs")
            number(row["nearest_voxel_likelihood"], 2.3, 6, f"{name}.nearest_voxel_likelihood")
            demand(row["evaluations"] >= row["iterations"] >= 1, f"{name}: evaluations")


class Basin:
    @staticmethod
    def arguments(drive):
        return [*drive.set, "--offsets", "0.3,60", "--angles", "1", "--stride", "2"]

    @staticmethod
    def check(result, drive):
        keys(result, "engine seed limit_distance_m limit_angle_deg results", "result")
        demand(len(result["results"]) == 4, f"{len(result['results'])} rows")
        for row in result["results"]:
            keys(row, "set profile offset_m angle_deg starts success accepted iterations", "a row")
            name = f"{row['profile']} from {row['offset_m']} m"
            demand(row["starts"] == (drive.scans + 1) // 2, f"{name}: {row['starts']} starts")
            # All from nearby; from beyond the next street hardly any.
            number(row["success"], *((0.99, 1) if row["offset_m"] < 1 else (0, 0.5)), name)


class Build:
    @staticmethod
    def arguments(_):
        return ["--synthetic", "20000", "--extent", "50", "--repeat", "3"]

    @staticmethod
    def check(result, _):
        keys(result, "engine device points tiles cells cell_size_m build_ms", "result")
        demand((result["points"], result["tiles"], result["cell_size_m"]) == (20000, 1, 2.0),
               "points, tiles or cell size")
        number(result["cells"], 300, 25 * 25 * 10, "cells")
        time_ms(result["build_ms"], "build_ms")


class BuildOfFiles:
    @staticmethod
    def arguments(drive):
        return [*drive.map, "--repeat", "1"]

    @staticmethod
    def check(result, _):
        number(result["points"], 1e4, 1e7, "points")
        number(result["tiles"], 1, 100, "tiles")
        number(result["cells"], 100, 1e6, "cells")
        time_ms(result["build_ms"], "build_ms")


class BuildExchange:
    @staticmethod
    def arguments(_):
        return ["--synthetic", "20000", "--extent", "50", "--repeat", "2", "--exchange"]

    @staticmethod
    def check(result, _):
        keys(result, "engine device points tiles bytes build_ms export_ms import_ms compose_ms",
             "result")
        demand((result["points"], result["tiles"]) == (20000, 1), "points or tiles")
        number(result["bytes"], 1e5, 1e7, "bytes")
        for name in "build_ms export_ms import_ms compose_ms".split():
            time_ms(result[name], name)


class BuildReplace:
    @staticmethod
    def arguments(_):
        return ["--replace", "--tiles-along-edge", "4", "--tile-points", "500",
                "--repeat", "2"]

    @staticmethod
    def check(result, _):
        keys(result, "engine device replace", "result")
        one, both = result["replace"]
        demand((one["profiles"], both["profiles"]) == (["autoware"], ["autoware", "precise"]),
               "profiles")
        demand(one["map_bytes"] < both["map_bytes"], "map_bytes")
        for row in (one, both):
            for name in "build_ms compose_ms replace_ms".split():
                time_ms(row[name], name)


class Coverage:
    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, *drive.off]

    @staticmethod
    def check(result, drive):
        keys(result, "profile alignments accepted error methods", "result")
        demand(result["alignments"] == result["accepted"] == drive.scans, "the number of alignments")
        methods = ["fixed", "laplace", "multi_ndt", "multi_ndt_score", "calibrated"]
        demand([method["name"] for method in result["methods"]] == methods, "methods")
        for method in result["methods"]:
            name = method["name"]
            demand(method["not_positive_definite"] == 0, f"{name}: not positive definite")
            for axis, percent in [("joint", method["joint_percent"]),
                                  *method["axis_percent"].items()]:
                for value in percent:
                    number(value, 0, 100, f"{name}.{axis}")
                demand(percent == sorted(percent), f"{name}.{axis} falls with sigma")
            for axis in ("x", "y", "z", "rx", "ry", "rz"):
                summary(method["sigma"][axis], 1e-6, 10, f"{name}.sigma.{axis}")
                summary(result["error"][axis], 0, 0.2, f"error.{axis}")


class CoverageOfATunnel:
    """Poses slide along it, and their covariance has to say so."""

    @staticmethod
    def arguments(drive):
        return [*drive.data, "--points", "800", "--min-range", "1", "--perturb",
                "0.5,0.2,0.05,0,0,1", "--profile", "precise", "--repeats", "3", "--seed", "5"]

    @staticmethod
    def check(result, drive):
        demand(result["alignments"] == 3 * drive.scans, "the number of alignments")
        number(result["accepted"], 8, 3 * drive.scans, "accepted")
        slid_m = max(result["error"][axis]["p50"] for axis in "xy")
        number(slid_m, 0.2, 5, "the median slide")
        calibrated = next(row for row in result["methods"] if row["name"] == "calibrated")
        number(calibrated["joint_percent"][2], 90, 100, "calibrated, inside 3 sigma")
        # A fixed covariance of 15 cm does not know.
        fixed = next(row for row in result["methods"] if row["name"] == "fixed")
        number(fixed["joint_percent"][2], 0, 80, "fixed, inside 3 sigma")
        number(calibrated["sigma"]["z"]["p50"], 0.01, 0.3, "sigma of the height")


class Estimate:
    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, *drive.off, "--repeat", "1"]

    @staticmethod
    def check(result, drive):
        keys(result, "engine device profile scans align_ms estimates", "result")
        demand(result["scans"] == drive.scans, "scans")
        time_ms(result["align_ms"], "align_ms")
        demand([row["name"] for row in result["estimates"]] ==
               ["fixed", "laplace", "multi_ndt", "multi_ndt_score", "calibrated",
                "fixed, confidence", "calibrated, confidence"], "estimates")
        for row in result["estimates"]:
            time_ms(row["estimate_ms"], row["name"])


class Gpu:
    engine = "cuda"

    @classmethod
    def arguments(cls, drive):
        return [*drive.data, *drive.thin, *drive.off, "--engine", cls.engine, "--no-cpu",
                "--seconds", "0.05", "--rows", "one scan of", "--rows", "build 100k", "--rows",
                "filter"]

    @classmethod
    def check(cls, result, _):
        keys(result, "data rows engines", "result")
        demand(list(result["engines"]) == [cls.engine], "engines")
        demand(len(result["rows"]) >= 4, f"{len(result['rows'])} rows")
        for row in result["rows"]:
            keys(row, f"name item {cls.engine}", "a row")
            measured = row[cls.engine]
            demand("error" not in measured, f"{row['name']}: {measured}")
            time_ms(measured["ms"], row["name"])
            number(measured["items_per_s"], 1, 1e12, row["name"])
            if "error_m" in measured:
                summary(measured["error_m"], 0, 0.5, row["name"])
        if cls.engine == "cuda":
            demand(len(result["floors"]) >= 3, "floors")
            for floor in result["floors"]:
                time_ms(floor["ms"], floor["name"])


class GpuRowsOnCpu(Gpu):
    engine = "cpu"


class InitialPose:
    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, "--particles", "60", "--startup", "20", "--batches", "20",
                "--sigma-xy", "1"]

    @staticmethod
    def check(result, drive):
        keys(result, "engine device profile searches particles startup_trials sigma_xy_m sigma_z_m "
             "sigma_tilt_deg methods", "result")
        demand((result["searches"], result["particles"]) == (drive.scans, 60), "searches")
        demand([row["method"] for row in result["methods"]] == ["random", "q=20"], "methods")
        for row in result["methods"]:
            name = row["method"]
            number(row["found"], 0.5, 1, f"{name}.found")
            number(row["listed"], row["found"], 1, f"{name}.listed")
            number(row["deceived"], 0, 1 - row["found"], f"{name}.deceived")
            number(row["ambiguous"], 0, 1, f"{name}.ambiguous")
            number(row["calls"], 1, 60, f"{name}.calls")
            number(row["evaluations"], 60, 60 * 200, f"{name}.evaluations")
            time_ms(row["search_ms"], f"{name}.search_ms")


class Protection:
    # The level where there is none.
    may_be_null = ("p50_m", "p95_m")

    @staticmethod
    def arguments(drive):
        # So few places leave directions weakly observed, which have a level by the guess alone.
        return [*drive.set, "--repeats", "4", "--guess-sigma", "0.3"]

    @staticmethod
    def check(result, drive):
        keys(result, "profile risk fault_probability sets", "result")
        [tried] = result["sets"]
        keys(tried, "aligned accepted faults_detected excluded horizontal vertical", "set")
        demand(tried["aligned"] == 4 * drive.scans, f"{tried['aligned']} scans were aligned")
        number(tried["accepted"], 0.9 * tried["aligned"], tried["aligned"], "accepted")
        for direction in ("horizontal", "vertical"):
            levels = tried[direction]
            number(levels["bounded"], 0.9 * tried["accepted"], tried["accepted"], "bounded")
            # At a risk of 1e-3; a second one of so few is not bad luck any more.
            number(levels["misleading"], 0, 1, "misleading")
            # The systematic part alone is 4 cm: 13 cm at this risk.
            number(levels["p50_m"], 0.1, 2.0, "p50_m")


class Quality:
    @staticmethod
    def arguments(drive):
        return [*drive.set, "--profile", "precise"]

    # Without wrong poses of a kind there is no area.
    may_be_null = ("confidence", "tp", "nvtl")

    @staticmethod
    def check(result, drive):
        keys(result, "profile alike kinds reliability gate sets", "result")
        kinds = {row["kind"]: row for row in result["kinds"]}
        keys(kinds, "all hard kidnapped shifted beside", "kinds")
        everything = kinds["all"]
        demand(everything["right"] >= drive.scans, f"{everything['right']} right poses")
        demand(everything["wrong"] >= 3 * drive.scans, f"{everything['wrong']} wrong poses")
        # The area of a coin is 0.5.
        for measure in ("tp", "nvtl"):
            number(everything[measure], 0.7, 1, measure)
        # A confidence of which a signal is broken falls below this on the hard kinds.
        number(kinds["hard"]["confidence"], 0.97, 1, "the area of the hard kinds")
        number(result["reliability"]["calibration_error"], 0, 0.2, "calibration_error")
        demand(sum(row["poses"] for row in result["reliability"]["bins"]) ==
               everything["right"] + everything["wrong"], "poses in the bins")
        for row in result["gate"]:
            number(row["refused_right"], 0, 0.1 if row["limit"] <= 0.5 else 1, "refused_right")
            number(row["accepted_wrong"], 0, 0.2, "accepted_wrong")
        demand([row["set"] for row in result["sets"]] == ["tiny"], "sets")
        # Of right poses in a town that has all that a confidence asks for.
        number(result["sets"][0]["p50"], 0.8, 1, "the median of right poses")


class Recovery:
    @staticmethod
    def arguments(drive):
        return [*drive.set, "--stride", "2", "--follow", "2", "--wrong-searches", "1"]

    # Of no pose there is no distribution.
    may_be_null = ("distance_m", "decision_scans")

    @staticmethod
    def check(result, _):
        for row in result["rows"]:
            for found in (row["right"], row["wrong"]):
                keys(found, "poses passing checked_scans agreeing_scans agreeing_share confirmed "
                     "passing_confirmed dropped distance_m decision_scans", "found")
                demand(found["checked_scans"] == 2 * found["poses"], "checked_scans")
                number(found["agreeing_scans"], 0, found["checked_scans"], "agreeing_scans")
            number(row["right"]["poses"], 1, 100, "right poses")


class Score:
    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, "--count", "100", "--repeat", "2"]

    @staticmethod
    def check(result, _):
        keys(result, "engine device poses points poses_per_s", "result")
        demand(result["poses"] == 100, "poses")
        number(result["points"], 400, 500, "points")
        keys(result["poses_per_s"], " ".join(SUMMARY), "poses_per_s")
        summary(result["poses_per_s"], 1, 1e9, "poses_per_s")


class Search:
    # Of a scan that was not found; the errors of those found are checked below.
    may_be_null = ("translation_error_m", "rotation_error_deg", "ambiguity_gap")

    @staticmethod
    def arguments(drive):
        return [*drive.data, *drive.thin, "--turn"]

    @staticmethod
    def check(result, drive):
        keys(result, "engine device profile scans build_ms first_search_ms search_ms right "
             "ambiguous wrong_and_not_ambiguous among_hypotheses translation_error_m "
             "rotation_error_deg results", "result")
        demand(result["scans"] == len(result["results"]) == drive.scans, "the number of scans")
        number(result["right"], 0.8 * drive.scans, drive.scans, "right")
        number(result["among_hypotheses"], result["right"], drive.scans, "among_hypotheses")
        number(result["wrong_and_not_ambiguous"], 0, drive.scans - result["right"],
               "wrong_and_not_ambiguous")
        number(result["first_search_ms"], 0.1, 60e3, "first_search_ms")
        time_ms(result["search_ms"], "search_ms")
        summary(result["translation_error_m"], 0, 0.5, "translation_error_m")


class Store:
    @staticmethod
    def arguments(_):
        return ["--directory", tempfile.gettempdir(), "--tiles", "50", "--points", "100",
                "--repeat", "3"]

    @staticmethod
    def check(result, _):
        keys(result, "tiles raw_mb stored_mb disk_mb upload_mb_per_s first_commit_ms commit_ms "
             "sync_ms manifest_ms open_ms threads read_mb_per_s backup_ms", "result")
        demand((result["tiles"], result["raw_mb"], result["threads"]) == (50, 0.06, 2), "the data")
        number(result["stored_mb"], 0.01, 0.07, "stored_mb")
        number(result["disk_mb"], result["stored_mb"], 10, "disk_mb")
        for name in ("upload_mb_per_s", "read_mb_per_s", "first_commit_ms", "open_ms", "backup_ms"):
            number(result[name], 1e-3, 1e6, name)
        for name in ("commit_ms", "sync_ms", "manifest_ms"):
            time_ms(result[name], name)


class StoreOfAMap:
    @staticmethod
    def arguments(drive):
        return [*drive.map, "--directory", tempfile.gettempdir(), "--tiles", "10", "--repeat", "1"]

    @staticmethod
    def check(result, _):
        demand(result["tiles"] == 10, "the number of tiles")
        number(result["raw_mb"], 0.1, 1e3, "raw_mb")


class MapFit:
    @staticmethod
    def arguments(_):
        return ["--towns", "1", "--first-seed", "3", "--passes-before", "0", "--passes", "1",
                "--size", "100", "--drive", "16", "--rings", "16"]

    @staticmethod
    def check(result, _):
        demand([row["change"] for row in result["rows"]] == ["removed", "built", "back", "forward"],
               "the changes")
        for row in result["rows"]:
            keys(row, "town change pass scans accepted worst_error_m sample_ms tiles place changed "
                 "unchanged", "row")
            demand((row["town"], row["pass"], row["scans"]) == (3, 1, 8), "the drive")
            number(row["accepted"], 4, 8, "accepted")
            number(row["tiles"], 5, 100, "tiles")
            number(row["place"], 0, row["tiles"], "place")
            number(row["changed"], 0, 1, "changed")
            number(row["unchanged"], 0, 1, "unchanged")
            number(row["sample_ms"], 1e-3, 60e3, "sample_ms")


class MapUpdate:
    @staticmethod
    def arguments(_):
        return ["--towns", "1", "--first-seed", "3", "--passes", "5", "--every", "4", "--size", "100",
                "--drive", "8", "--sensor", "spinning-16", "--sample-every", "1"]

    @staticmethod
    def check(result, _):
        demand([row["pass"] for row in result["rows"]] == [4, 5], "the passes")
        demand(result["rows"][0]["tiles"] == 0, "a proposal by four passes")
        for row in result["rows"]:
            keys(row, "town pass scans tiles unconfirmed_tiles dropped_passes new_points median_m p95_m "
                 "transient recalled ghosts_left seam_median_m seam_p95_m error_old_m error_new_m error_fresh_m scan_ms "
                 "votes_memory_bytes", "row")
            number(row["scans"], 4 * row["pass"], 8 * row["pass"], "scans")
            number(row["tiles"], 0, 100, "tiles")
            number(row["scan_ms"], 1e-3, 60e3, "scan_ms")
            for share in ("transient", "recalled", "ghosts_left"):
                number(row[share], 0, 1, share)


class MapExtension:
    @staticmethod
    def arguments(_):
        return ["--towns", "1", "--first-seed", "93", "--passes", "5"]

    @staticmethod
    def check(result, _):
        demand([row["town"] for row in result["rows"]] == [93], "the towns")
        for row in result["rows"]:
            keys(row, "town scans placed tiles unconfirmed_tiles new_points median_m p95_m transient "
                 "recalled seam_median_m seam_p95_m error_new_m error_fresh_m", "row")
            number(row["placed"], 1, row["scans"], "placed")
            number(row["tiles"], 1, 100, "tiles")
            number(row["median_m"], 0, 0.1, "median_m")
            for share in ("transient", "recalled"):
                number(row[share], 0, 1, share)


class Sweep:
    @staticmethod
    def arguments(drive):
        return ["--set", f"tiny --map {drive.folder}/map --scans {drive.folder}/scans --poses "
                f"{drive.folder}/poses_tum.txt --pose-format tum --points 1500 --min-range 1"]

    @staticmethod
    def check(result, _):
        rows = {row["case"]: row for row in result["rows"]}
        demand(len(rows) == 6, "the number of cases")
        for row in rows.values():
            keys(row, "set case aligned accepted error_m checked suspect farthest "
                 "unexplained_motion sigma", "row")
            number(row["accepted"], 0, row["aligned"], "accepted")
            number(row["suspect"], 0, row["checked"], "suspect")
        demand(rows["right"]["suspect"] == 0, "right times are suspected")
        number(rows["right"]["unexplained_motion"], -0.2, 0.2, "unexplained motion")
        number(rows["motion halved"]["unexplained_motion"], 0.2, 10, "unexplained motion")


class Takeover:
    @staticmethod
    def arguments(drive):
        return [*drive.data, "--engine", "cpu", "--at", "2"]

    @staticmethod
    def check(result, _):
        demand((result["from"], result["to"]) == ("cuda", "cpu"), "the engines")
        number(result["accepted_ms"], 0.1, 60e3, "accepted_ms")
        number(result["surrounded_ms"], result["accepted_ms"], 60e3, "surrounded_ms")
        number(result["whole_ms"], 0.1, 60e3, "whole_ms")
        demand(result["scans_lost"] == math.ceil(result["accepted_ms"] / 100), "scans_lost")
        demand(result["answered"] >= 1, "no scan was answered")


class RosCloud:
    @staticmethod
    def arguments(_):
        return ["--bytes", "48000", "--repeat", "5"]

    @staticmethod
    def check(result, _):
        rows = {row["name"]: row for row in result["rows"]}
        demand(len(rows) == 12, "the number of rows")
        for row in rows.values():
            keys(row, "name message_bytes points sent bytes cpu_ms send_cpu_ms", "row")
            number(row["message_bytes"], 47000, 48000, "message_bytes")
            number(row["sent"], 1, row["points"], "sent")
            number(row["bytes"], 6 * row["sent"], 48 * row["sent"] + 100, "bytes")
            time_ms(row["cpu_ms"], "cpu_ms")
            time_ms(row["send_cpu_ms"], "send_cpu_ms")
        demand(rows["step 32, packed"]["bytes"] < rows["step 32, as it is"]["bytes"], "packing saves bytes")
        latency = result["latency"]
        keys(latency, "bridge_ms round_trip_ms added_ms", "latency")
        time_ms(latency["bridge_ms"], "bridge_ms")
        time_ms(latency["round_trip_ms"], "round_trip_ms")


class RoundTrip:
    @staticmethod
    def arguments(_):
        return ["--bytes", "6000", "--repeat", "20"]

    @staticmethod
    def check(result, _):
        demand(result["bytes"] == 6000, "the bytes")
        demand(len(result["rows"]) == 4, "the number of rows")
        for row in result["rows"]:
            time_ms(row["round_trip_ms"], row["name"])


COMMANDS = {
    "accuracy": [Accuracy],
    "accuracy-of-gicp": [AccuracyOfGicp],
    "accuracy-without-gicp": [AccuracyWithoutGicp],
    "align": [Align],
    "basin": [Basin],
    "build": [Build, BuildOfFiles, BuildExchange, BuildReplace],
    "coverage": [Coverage],
    "coverage-of-a-tunnel": [CoverageOfATunnel],
    "estimate": [Estimate],
    "gpu": [Gpu],
    "gpu-rows-on-cpu": [GpuRowsOnCpu],
    "initial-pose": [InitialPose],
    "map-extension": [MapExtension],
    "map-fit": [MapFit],
    "map-update": [MapUpdate],
    "protection": [Protection],
    "quality": [Quality],
    "recovery": [Recovery],
    "ros-cloud": [RosCloud],
    "round-trip": [RoundTrip],
    "score": [Score],
    "search": [Search],
    "store": [Store, StoreOfAMap],
    "sweep": [Sweep],
    "takeover": [Takeover],
}


# Further cases of a command.
COMMAND_OF = {"accuracy-of-gicp": "accuracy", "accuracy-without-gicp": "accuracy",
              "gpu-rows-on-cpu": "gpu", "coverage-of-a-tunnel": "coverage"}


def has_gpu(error):
    """A GPU that the machine has and that does not work is no reason to skip."""
    return not ("is not in this build" in error or
                "no CUDA device" in error and not glob.glob("/dev/nvidia[0-9]*"))


def run(bench, name, case, drive):
    command = COMMAND_OF.get(name, name)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        line = [bench, command, *case.arguments(drive), "--json", file.name]
        done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if name == "gpu" and not has_gpu(done.stderr):
            print(done.stderr, end="")
            sys.exit(SKIPPED)
        print(done.stdout, end="")
        if hasattr(case, "refusal"):
            demand(done.returncode == 1 and case.refusal in done.stderr,
                   f"not refused, but exit status {done.returncode}: {done.stderr}")
            return
        demand(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
        demand(done.stdout.strip() != "", "nothing was printed")
        result = json.load(file)
    everything_finite(result, may_be_null=getattr(case, "may_be_null", ()))
    case.check(result, drive)


def check_commands(bench):
    text = subprocess.run([bench, "--help"], capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=True).stdout
    listed = re.findall(r"^  ([a-z][a-z-]*) ", text[text.index("Subcommands:"):], re.M)
    tried = sorted(set(COMMANDS) - set(COMMAND_OF))
    demand(sorted(listed) == tried, f"voxloc_bench has {listed}; tried are {tried}")
    status = subprocess.run([bench, "align", "--nonsense"], capture_output=True, text=True,
                            timeout=TIMEOUT_S, check=False).returncode
    demand(status != 0, "an unknown flag ends with status 0")


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in [*COMMANDS, "commands"]:
        sys.exit(f"usage: bench_smoke_test.py VOXLOC_BENCH DRIVE commands|{'|'.join(COMMANDS)}")
    bench, folder, command = sys.argv[1:]
    try:
        if command == "commands":
            check_commands(bench)
            return
        for case in COMMANDS[command]:
            run(bench, command, case, Drive(folder))
    except Fault as fault:
        sys.exit(f"voxloc_bench {command}: {fault}")


if __name__ == "__main__":
    main()
