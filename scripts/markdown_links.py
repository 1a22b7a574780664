# SPDX-License-Identifier: Apache-2.0
"""Links and headings of Markdown documents, as GitHub and scripts/build-docs understand them."""

import re

FENCE = re.compile(r"^( *)(`{3,}|~{3,})")
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")


def prose(text):
    """(number, line) of the lines of a document that are not in fenced blocks, from 1."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence is None and found:
            fence = found.group(2)
        elif fence is not None:
            if found and found.group(2).startswith(fence) and not line.strip("`~ "):
                fence = None
        else:
            yield number, line


def links(text):
    """(number of the line, target) of each inline link and image."""
    for number, line in prose(text):
        # Code in backticks has no links; its length stays.
        plain = CODE.sub(lambda code: "x" * len(code.group()), line)
        for found in LINK.finditer(plain):
            yield number, found.group(1)


def with_targets(text, change):
    """The document with `change(target)` in the place of each link's target."""
    lines = text.split("\n")
    for number, line in prose(text):
        plain = CODE.sub(lambda code: "x" * len(code.group()), line)
        for found in reversed(list(LINK.finditer(plain))):
            begin, end = found.span(1)
            line = line[:begin] + change(found.group(1)) + line[end:]
        lines[number - 1] = line
    return "\n".join(lines)


def slug(heading):
    """GitHub's anchor of a heading: lower case, hyphens for blanks, without punctuation."""
    text = re.sub(r"\]\([^)]*\)", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    """The anchors of a document's headings; of equal ones, all but the first have a number."""
    seen = {}
    for _, line in prose(text):
        found = re.match(r"#{1,6} +(.*?)\s*#*$", line)
        if not found:
            continue
        name = slug(found.group(1))
        count = seen.get(name, 0)
        seen[name] = count + 1
        yield name if count == 0 else f"{name}-{count}"
