#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the confidence of core/estimate/quality/confidence.cc.

Usage: tests/bench/fit_confidence.py DUMP...

DUMP is what `voxloc_bench quality --dump` wrote of data sets for choosing (tests/bench/scenes), of
both profiles. The model is a logistic regression with a small ridge penalty, fitted by Newton's
method: one for answers under cells smaller than 1 m, one for all others. Right and wrong poses
weigh the same in total, so the confidence is the probability of a pose of which one half is right.

Prints the constants, and how good the confidence is on scenes that were left out of the fit, all
data sets of a scene at a time. Nothing but the standard library is needed.
"""

import csv
import math
import sys

# Of each standardised coefficient squared, beside a mean log likelihood. Chosen as small as it
# keeps the fits of the cross-validation finite.
RIDGE = 1e-3
FINE_CELLS_M = 1.0
FOLDS = 4
BINS = 10
HARD = ("tracking", "half occluded", "beside", "wrong storey")


def read(paths):
    """The judged rows of all dumps, and the names of the terms."""
    rows = []
    names = None
    for path in paths:
        with open(path, encoding="utf-8") as file:
            reader = csv.DictReader(file)
            found = [name for name in reader.fieldnames if name.startswith("term_")]
            if names not in (None, found):
                sys.exit(f"{path} has other terms than the dumps before it")
            names = found
            for row in reader:
                if row["truth"] not in ("right", "wrong"):
                    continue
                rows.append({
                    "right": row["truth"] == "right",
                    "hard": row["kind"] in HARD,
                    "scene": row["set"].split("-")[1] if "-" in row["set"] else row["set"],
                    "fine": float(row["answer_cell_size_m"]) < FINE_CELLS_M,
                    "nvtl": float(row["nvtl"]),
                    "tp": float(row["tp"]),
                    "terms": [float(row[name]) for name in names],
                })
    if not rows:
        sys.exit("no judged poses in the dumps")
    return rows, [name[len("term_"):] for name in names]


def solve(matrix, right_side):
    """Gaussian elimination with pivots."""
    size = len(right_side)
    rows = [matrix[i][:] + [right_side[i]] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            for column in range(i, size + 1):
                rows[k][column] -= factor * rows[i][column]
    solution = [0.0] * size
    for i in range(size - 1, -1, -1):
        rest = sum(rows[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (rows[i][size] - rest) / rows[i][i]
    return solution


def logistic(value):
    return 1.0 / (1.0 + math.exp(-min(30.0, max(-30.0, value))))


def probability(model, terms):
    return logistic(model[0] + sum(c * t for c, t in zip(model[1:], terms)))


def fit(rows):
    """Bias, then one coefficient a term."""
    size = len(rows[0]["terms"])
    rights = sum(row["right"] for row in rows)
    weights = [0.5 / (rights if row["right"] else len(rows) - rights) for row in rows]
    mean = [sum(w * row["terms"][k] for w, row in zip(weights, rows)) for k in range(size)]
    spread = [math.sqrt(sum(w * (row["terms"][k] - mean[k]) ** 2
                            for w, row in zip(weights, rows))) or 1.0 for k in range(size)]
    points = [[1.0] + [(t - m) / s for t, m, s in zip(row["terms"], mean, spread)] for row in rows]
    model = [0.0] * (size + 1)
    for _ in range(50):
        gradient = [0.0] + [-RIDGE * c for c in model[1:]]
        hessian = [[RIDGE if i == j > 0 else 0.0 for j in range(size + 1)]
                   for i in range(size + 1)]
        for point, row, weight in zip(points, rows, weights):
            p = logistic(sum(c * z for c, z in zip(model, point)))
            error = weight * (row["right"] - p)
            curvature = weight * p * (1.0 - p)
            for i, z in enumerate(point):
                gradient[i] += error * z
                bent = curvature * z
                line = hessian[i]
                for j in range(i, size + 1):
                    line[j] += bent * point[j]
        for i in range(size + 1):
            for j in range(i):
                hessian[i][j] = hessian[j][i]
        step = solve(hessian, gradient)
        model = [c + s for c, s in zip(model, step)]
        if max(map(abs, step)) < 1e-8:
            break
    scaled = [c / s for c, s in zip(model[1:], spread)]
    return [model[0] - sum(c * m for c, m in zip(scaled, mean))] + scaled


def area(values):
    """Under the ROC curve, of (value, right)."""
    values = sorted(values)
    total = right = wrong = 0.0
    begin = 0
    while begin < len(values):
        end = begin
        while end < len(values) and values[end][0] == values[begin][0]:
            end += 1
        equal = sum(1 for _, is_right in values[begin:end] if is_right)
        total += equal * (wrong + 0.5 * (end - begin - equal))
        right += equal
        wrong += end - begin - equal
        begin = end
    return total / (right * wrong) if right and wrong else math.nan


def calibration_error(values):
    """As tests/bench/classification.h has it."""
    rights = sum(1 for _, is_right in values if is_right)
    bins = [[0.0, 0.0] for _ in range(BINS)]
    for value, is_right in values:
        weight = 0.5 / (rights if is_right else len(values) - rights)
        place = bins[min(BINS - 1, int(value * BINS))]
        place[0] += weight * value
        place[1] += weight * is_right
    return sum(abs(value - right) for value, right in bins)


def report(name, rows, values):
    hard = [(value, row["right"]) for value, row in zip(values, rows) if row["hard"]]
    print(f"{name:24} area {area(list(zip(values, (row['right'] for row in rows)))):.4f}   "
          f"hard {area(hard):.4f}   calibration error "
          f"{calibration_error([(v, row['right']) for v, row in zip(values, rows)]):.3f}")


def cross_validated(rows):
    scenes = sorted({row["scene"] for row in rows})
    values = [0.0] * len(rows)
    for fold in range(FOLDS):
        left_out = set(scenes[fold::FOLDS])
        rest = [row for row in rows if row["scene"] not in left_out]
        if len({row["right"] for row in rest}) < 2:
            sys.exit("each scene that is left out must leave right and wrong poses of others")
        model = fit(rest)
        for i, row in enumerate(rows):
            if row["scene"] in left_out:
                values[i] = probability(model, row["terms"])
    return values


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    rows, names = read(sys.argv[1:])
    for fine in (True, False):
        part = [row for row in rows if row["fine"] == fine]
        if not part:
            continue
        print(f"// {'Fine' if fine else 'Coarse'}: {sum(row['right'] for row in part)} right poses, "
              f"{sum(not row['right'] for row in part)} wrong ones.")
        model = fit(part)
        for name, coefficient in zip(["bias"] + names, model):
            print(f"    {coefficient:8.3f},  // {name}")
        report("scenes left out", part, cross_validated(part))
        report("scenes of the fit", part, [probability(model, row["terms"]) for row in part])
        for name in ("tp", "nvtl"):
            hard = [(row[name], row["right"]) for row in part if row["hard"]]
            print(f"{name:24} area {area([(row[name], row['right']) for row in part]):.4f}   "
                  f"hard {area(hard):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
