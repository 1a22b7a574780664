# SPDX-License-Identifier: Apache-2.0
"""Draws a dashboard as SVG from what a Prometheus answers, in the places that Grafana would give its panels."""

import html
import math

COLUMN, ROW = 50, 26  # pixels of a unit of Grafana's grid
COLORS = ("#3274d9", "#56a64b", "#e0b400", "#a352cc", "#e55400", "#37a2a2", "#8f3bb8", "#5a6b7b")
UNITS = {"percentunit": (100, " %"), "s": (1, " s"), "bytes": (1e-6, " MB"), "Bps": (1e-6, " MB/s"), "reqps": (1, "/s"),
         "hertz": (1e-6, " MHz"), "watt": (1, " W"), "celsius": (1, " °C"), "percent": (1, " %")}
MAX_SERIES, POINTS = 8, 80


def shown(value, unit):
    factor, suffix = UNITS.get(unit, (1, ""))
    value *= factor
    return f"{value:,.0f}{suffix}" if abs(value) >= 1000 else f"{value:.3g}{suffix}"


def text(x, y, content, size=11, color="#1f2430", anchor="start"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" text-anchor="{anchor}">'
            f"{html.escape(content)}</text>")


def finite(series):
    """Times and values, thinned."""
    values = [(time, float(value)) for time, value in series["values"] if math.isfinite(float(value))]
    return values[::max(1, len(values) // POINTS)]


def draw_stat(panel, box, series):
    x, y, width, height = box
    defaults = panel["fieldConfig"]["defaults"]
    values = finite(series[0]) if series else []
    if not values:
        return [text(x + width / 2, y + height / 2 + 14, defaults["noValue"], 20, "#5a6b7b", "middle")]
    value = values[-1][1]
    color = [step["color"] for step in defaults["thresholds"]["steps"] if step["value"] is None or value >= step["value"]][-1]
    words = defaults.get("mappings", [{"options": {}}])[0]["options"].get(f"{value:.0f}", {})
    fill = {"red": "#d44a3a", "green": "#3f8f46", "blue": "#3274d9"}[color]
    return [f'<rect x="{x + 4:.0f}" y="{y + 24:.0f}" width="{width - 8:.0f}" height="{height - 30:.0f}" rx="3" fill="{fill}"/>',
            text(x + width / 2, y + height / 2 + 18, words.get("text", shown(value, defaults["unit"])), 22, "#fff", "middle")]


def draw_lines(panel, box, series, span):
    x, y, width, height = box[0] + 8, box[1] + 26, box[2] - 16, box[3] - 62
    unit = panel["fieldConfig"]["defaults"].get("unit", "")
    def highest(named):
        return max(value for _, value in named[1])

    kept = sorted((one for one in series if one[1]), key=highest, reverse=True)[:MAX_SERIES]
    top = max(map(highest, kept), default=0) or 1
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#f7f8fa"/>', text(x, y + 10, shown(top, unit), 9, "#5a6b7b")]
    legend = x
    for i, (name, values) in enumerate(kept):
        limit = name == "limit"
        color = "#d44a3a" if limit else COLORS[i % len(COLORS)]
        points = " ".join(f"{x + width * (time - span[0]) / (span[1] - span[0]):.0f},"
                          f"{y + height * (1 - max(value, 0) / top):.0f}" for time, value in values)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.3" '
                     f'stroke-dasharray="{"5 4" if limit else "none"}"/>')
        if legend < x + width - 60:
            parts.append(text(legend, y + height + 14, name, 9, color))
            legend += 6 * len(name) + 14
    return parts


def draw_table(panel, box, series):
    """A row for each server, map or else series, as Grafana merges them by their labels."""
    rows = {}
    hidden = panel["transformations"][-1]["options"]["excludeByName"]
    for name, one in series:
        labels = {label: value for label, value in one["metric"].items() if label not in hidden and value}
        key = labels.get("map") or (labels.get("instance") if len(panel["targets"]) > 1 else str(labels))
        cells = rows.setdefault(key, {})
        cells |= labels
        if name and "Value" not in hidden:
            cells[name] = f"{name} {shown(float(one['values'][-1][1]), '')}"
    return [text(box[0] + 10, box[1] + 40 + 15 * i, "  ·  ".join(row.values()), 10)
            for i, (_, row) in enumerate(sorted(rows.items())[:11])]


def draw_panel(panel, box, answer, span):
    """`answer(expression)`: the series of a query over the time from span[0] to span[1]."""
    series = [(target.get("legendFormat", ""), one) for target in panel["targets"] for one in answer(target["expr"])]
    if panel["type"] == "stat":
        return draw_stat(panel, box, [one for _, one in series])
    if panel["type"] == "table":
        at_end = [(name, one) for name, one in series if one["values"][-1][0] > span[1] - 5]
        return draw_table(panel, box, at_end)
    if panel["type"] != "timeseries":
        return [text(box[0] + 10, box[1] + 40, f"({panel['type']}, not drawn)", 10, "#5a6b7b")]
    named = []
    for legend, one in series:
        for label, value in one["metric"].items():
            legend = legend.replace(f"{{{{{label}}}}}", value)
        named.append((legend, finite(one)))
    return draw_lines(panel, box, named, span)


def draw_dashboard(dashboard, answer, span, rows):
    """The first `rows` rows of a dashboard."""
    titles = [panel["gridPos"]["y"] for panel in dashboard["panels"] if panel["type"] == "row"]
    panels = [panel for panel in dashboard["panels"] if rows >= len(titles) or panel["gridPos"]["y"] < titles[rows]]
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) * ROW + 36
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * COLUMN} {height}" font-family="sans-serif">',
             f'<rect width="{24 * COLUMN}" height="{height}" fill="#eceef2"/>',
             text(10, 22, dashboard["title"] + ": " + dashboard["description"], 14)]
    for panel in panels:
        place = panel["gridPos"]
        x, y = place["x"] * COLUMN + 2, place["y"] * ROW + 34
        box = (x, y, place["w"] * COLUMN - 4, place["h"] * ROW - 4)
        if panel["type"] == "row":
            parts.append(text(x + 6, y + 17, panel["title"], 13))
            continue
        parts += [f'<rect x="{x}" y="{y}" width="{box[2]}" height="{box[3]}" rx="3" fill="#fff"/>',
                  text(x + 8, y + 16, panel["title"], 11), *draw_panel(panel, box, answer, span)]
    return "\n".join([*parts, "</svg>"]) + "\n"
