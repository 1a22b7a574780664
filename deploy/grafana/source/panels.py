# SPDX-License-Identifier: Apache-2.0
"""Panels, rows and dashboards as Grafana's JSON has them. A panel's height and width are in units of
Grafana's grid, of which a row has 24."""

COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _targets(queries, **more):
    return [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expression, "legendFormat": legend, **more}
            for i, (legend, expression) in enumerate(queries.items())]


def _panel(kind, title, description, targets, size, defaults=None, options=None, **more):
    return {"type": kind, "title": title, "description": description, "datasource": SOURCE, "size": size,
            "fieldConfig": {"defaults": defaults or {}, "overrides": more.pop("overrides", [])},
            "options": options or {}, "targets": targets, **more}


def _steps(*pairs):
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for color, value in pairs]}


def _stat(title, description, expression, defaults, width):
    return _panel("stat", title, description, _targets({"": expression}, instant=True), (width, 4), defaults,
                  {"colorMode": "background", "graphMode": "none", "textMode": "value",
                   "reduceOptions": {"calcs": ["lastNotNull"]}})


def verdict(title, description, expression, width=6, idle="nothing to judge"):
    """The answer to the dashboard's question: the expression is 1 (yes) or 0 (no)."""
    return _stat(title, description, expression, {
        "unit": "short", "noValue": idle, "color": {"mode": "thresholds"},
        "thresholds": _steps(("red", None), ("green", 1)),
        "mappings": [{"type": "value", "options": {"0": {"text": "no"}, "1": {"text": "yes"}}}]}, width)


def stat(title, description, expression, unit="short", most=None, least=None, width=3):
    """A number; red above `most`, or below `least`. Both are 0 or 1: objectives are divided by."""
    steps = [("blue", None)]
    if most is not None:
        # The smallest step is above it.
        steps = [("green", None), ("red", most + 1e-9)]
    if least is not None:
        steps = [("red", None), ("green", least)]
    return _stat(title, description, expression, {"unit": unit, "noValue": "-", "color": {"mode": "thresholds"},
                                                  "thresholds": _steps(*steps)}, width)


def lines(title, description, queries, unit="short", limit=None, stacked=False, least=0, size=(8, 8)):
    """Expressions over time, by legend. `limit`: a recorded limit, drawn as a dashed line. `least`: where the
    axis begins; None: at the values."""
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 30 if stacked else 8, "spanNulls": False,
              "stacking": {"mode": "normal" if stacked else "none", "group": "A"}}
    dashed = [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
              {"id": "custom.fillOpacity", "value": 0}, {"id": "custom.stacking", "value": {"mode": "none"}},
              {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}]
    overrides = []
    if limit:
        queries = {**queries, "limit": limit}
        overrides = [{"matcher": {"id": "byName", "options": "limit"}, "properties": dashed}]
    return _panel("timeseries", title, description, _targets(queries), size,
                  {"unit": unit, "min": least, "color": {"mode": "palette-classic"}, "custom": custom},
                  {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                   "tooltip": {"mode": "multi", "sort": "desc"}}, overrides=overrides)


def heatmap(title, description, expression, unit="s"):
    return _panel("heatmap", title, description,
                  _targets({"{{le}}": expression}, format="heatmap"), (8, 8), None,
                  {"calculate": False, "yAxis": {"unit": unit}, "cellGap": 1,
                   "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64}})


def table(title, description, queries, hidden=(), size=(24, 7)):
    """The newest value of each query, joined by the labels that they have in common."""
    names = {f"Value #{chr(ord('A') + i)}": name for i, name in enumerate(queries)}
    # A single query has no letter.
    names = names if len(names) > 1 else {"Value": next(iter(queries))}
    hide = {name: True for name in ("Time", "__name__", *hidden)}
    return _panel("table", title, description,
                  _targets(queries, format="table", instant=True), size,
                  {"custom": {"align": "auto"}}, {"showHeader": True},
                  transformations=[{"id": "merge", "options": {}},
                                   {"id": "organize", "options": {"excludeByName": hide, "renameByName": names}}])


def row(title, *panels):
    return title, panels


def _variable(name, label, query, **more):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "definition": query,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "includeAll": True, "multi": True,
            "current": {"text": "All", "value": "$__all"}, "options": [], **more}


def _variables(maps):
    servers = 'voxloc_build_info{job=~"$job", version=~"$version"}'
    variables = [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1,
         "current": {}, "options": []},
        _variable("job", "Job", "label_values(voxloc_build_info, job)", allValue=".+"),
        _variable("version", "Version", 'label_values(voxloc_build_info{job=~"$job"}, version)', allValue=".+"),
        # All are those of the chosen versions.
        _variable("instance", "Server", f"label_values({servers}, instance)"),
    ]
    if maps:
        revisions = 'voxloc_map_revision{job=~"$job", instance=~"$instance"}'
        variables.append(_variable("map", "Map", f"label_values({revisions}, map)", allValue=".+"))
    return variables


def _annotation(name, color, expression, title, text):
    return {"name": name, "datasource": SOURCE, "enable": True, "iconColor": color, "expr": expression,
            "titleFormat": title, "textFormat": text, "step": "60s"}


def _placed(rows):
    """Panels from left to right and from top to bottom, each row under its title."""
    placed, y = [], 0
    for title, panels in rows:
        placed.append({"id": len(placed) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y}})
        y, x, below = y + 1, 0, y + 1
        for panel in panels:
            width, height = panel["size"]
            if x + width > COLUMNS:
                x, y = 0, below
            placed.append({"id": len(placed) + 1, "gridPos": {"h": height, "w": width, "x": x, "y": y},
                           **{key: value for key, value in panel.items() if key != "size"}})
            x, below = x + width, max(below, y + height)
        y = below
    return placed


def dashboard(name, title, question, *rows, maps=False):
    return {
        "id": None, "uid": f"voxloc-{name}", "title": f"voxloc / {title}", "description": question,
        "tags": ["voxloc"], "schemaVersion": 39, "version": 1, "editable": True, "graphTooltip": 1, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
        "links": [{"title": "voxloc", "type": "dashboards", "tags": ["voxloc"], "includeVars": True,
                   "keepTime": True}],
        "annotations": {"list": [
            _annotation("Alerts", "red", 'ALERTS{alertstate="firing", alertname=~"Voxloc.*"}', "{{alertname}}",
                        "{{instance}} {{map}} {{reason}}"),
            _annotation("Map revisions", "blue",
                        'changes(voxloc_map_revision{job=~"$job", instance=~"$instance"}[1m]) > 0', "{{map}}",
                        "new revision at {{instance}}")]},
        "templating": {"list": _variables(maps)},
        "panels": _placed(rows),
    }
