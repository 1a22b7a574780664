# SPDX-License-Identifier: Apache-2.0
"""The dashboards of deploy/grafana as Python values, and the queries in them."""

import json


def load_dashboards(source):
    """All dashboards of the checkout `source`, by file name."""
    return load_folder(source / "deploy/grafana/dashboards")


def load_folder(folder):
    return {path.name: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.json"))}


def panels_of(dashboard):
    """The panels that show something, without the rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries_of(dashboard):
    """Every PromQL expression of the dashboard, with the place that it comes from."""
    for panel in panels_of(dashboard):
        for target in panel["targets"]:
            yield f"{dashboard['title']}: {panel['title']}", target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        yield f"{dashboard['title']}: annotation {annotation['name']}", annotation["expr"]
