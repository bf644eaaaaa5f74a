"""Writes docs/reference/scenario.md from schema/scenario.schema.json: one section per table, one heading per key.

`--renew` writes the page. Without it the exit code is 1 when the page is not what the schema gives.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schema/scenario.schema.json"
PAGE = ROOT / "docs/reference/scenario.md"

Node = dict[str, Any]

_HEAD = """# Scenario reference

Every key of a scenario file. `python python/tools/reference.py --renew` generates this page from
`schema/scenario.schema.json`. [Scenario file](../models/scenario.md) explains how the keys work together, what profiles
set, and how a file is checked.

Each table of the file is a section. Its keys follow, each with its type, its meaning and its default. Where the value
of a key is a table, its type links to the section of that table.
"""

#: The end of the description of every control's parameters; the defaults say it here.
_OF_EVERY_CONTROL = re.compile(r"As a scenario writes it; [^.]*profile's value\.")

#: Units of quantities, by the format that the schema names.
_QUANTITIES = {
    "duration": 'duration with a unit, such as `"10 ms"`',
    "rate": 'rate with a unit, such as `"1.5 Mbit/s"`',
    "size": 'size with a unit, such as `"1448 B"`',
    "length": 'length with a unit, such as `"780 km"`',
    "angle": 'angle with a unit, such as `"8.2 deg"`',
    "instant": 'instant of UTC, such as `"2025-10-07T12:00:00Z"`',
}


class Reference:
    """The page of a schema. A definition gets a section when it is a table, and stands at its place when it is not."""

    def __init__(self, schema: Node) -> None:
        self.schema = schema
        self.definitions: dict[str, Node] = schema["$defs"]
        #: Tables in the order in which they are first named, and the keys that name them.
        self.used_by: dict[str, list[str]] = {}

    def page(self) -> str:
        """The whole page."""
        lines = [_HEAD, "## The file", "", *self.keys(self.schema, "File")]
        done: set[str] = set()
        while waiting := [name for name in self.used_by if name not in done]:
            for name in waiting:
                done.add(name)
                lines += self.section(name)
        text = "\n".join(lines)
        # Only now is it known which keys name a table.
        text = re.sub(r"@used-by-(\w+)@", lambda found: ", ".join(self.used_by[found[1]]), text)
        text = "\n".join(_wrapped(line) for line in text.split("\n"))
        return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"

    def section(self, name: str) -> list[str]:
        """The section of a table."""
        definition = self.definitions[name]
        told = _sentence(definition.get("description", ""))
        return [
            f"## {title(name)}", "", told, "", f"Used by @used-by-{name}@.", "",
            *self.keys(definition, title(name)),
        ]  # fmt: skip

    def keys(self, definition: Node, table: str) -> list[str]:
        """The keys of a table, one heading each."""
        lines: list[str] = []
        required = definition.get("required", [])
        for key, node in definition["properties"].items():
            place = f"[{table}: `{key}`](#{anchor(f'{table}: {key}')})"
            kind, details = self.kind(node, place)
            resolved = self.resolved(node)
            # A quantity says what it is by its type.
            own = "" if resolved.get("format") in _QUANTITIES else resolved.get("description", "")
            meaning, default = _meaning(node.get("description") or own)
            lines += [f"### {table}: `{key}`", "", f"**Type:** {kind}.", ""]
            lines += [meaning, ""] if meaning else []
            lines += [*details, ""] if details else []
            if key in required:
                lines += ["**Required.**", ""]
            elif default or "default" in node:
                lines += [f"**Default:** {default or _default(node['default'])}", ""]
        return lines

    def resolved(self, node: Node) -> Node:
        """The definition that a node refers to, or the node."""
        name = _reference(node)
        return self.definitions[name] if name else node

    def kind(self, node: Node, place: str) -> tuple[str, list[str]]:
        """The type of a value in words, and a list of its names and forms."""
        name = _reference(node)
        if name is not None:
            definition = self.definitions[name]
            if definition.get("format") in _QUANTITIES:
                return _QUANTITIES[definition["format"]], []
            if "properties" in definition:
                return f"table, {self.link(name, place)}", []
            return self.kind(definition, place)
        if node.get("format") in _QUANTITIES:
            return _QUANTITIES[node["format"]], []
        if "oneOf" in node or "anyOf" in node:
            return self.choice(node.get("oneOf") or node["anyOf"], place)
        if "enum" in node:
            return "one of " + ", ".join(f'`"{one}"`' for one in node["enum"]), []
        if "const" in node:
            return f'`"{node["const"]}"`', []
        if node.get("type") == "array":
            inner, details = self.kind(node["items"], place)
            return f"list, each {inner}", details
        if node.get("type") == "object":
            if "properties" in node:
                return self.form(node, place)
            if not node["additionalProperties"]:
                return "empty table", []
            inner, details = self.kind(node["additionalProperties"], place)
            return f"table from names to: {inner}", details
        return _number(node), []

    def choice(self, alternatives: list[Node], place: str) -> tuple[str, list[str]]:
        """Names and forms of which a value is one."""
        kinds: list[str] = []
        details: list[str] = []
        for one in self.flat(alternatives):
            name = _reference(one)
            told = _sentence(self.resolved(one).get("description", "")) if name is None else ""
            if "const" in one:
                details.append(f'- `"{one["const"]}"`' + (f": {told}" if told else ""))
                kinds.append("name")
            elif "properties" in one:
                shown, below = self.form(one, place)
                details += [f"- {shown}" + (f": {told}" if told else ""), *below]
                kinds.append("form")
            else:
                kind, inner = self.kind(one, place)
                kinds.append(kind)
                details += inner
        words = {"name": "one of the names below", "form": "one of the tables below"}
        if "name" in kinds and "form" in kinds:
            words = {"name": "one of the names and tables below", "form": ""}
        named = [words.get(kind, kind) for kind in dict.fromkeys(kinds)]
        return " or ".join(one for one in named if one), list(dict.fromkeys(details))

    def flat(self, alternatives: list[Node]) -> Iterator[Node]:
        """The alternatives, those of definitions that are choices themselves included."""
        for one in alternatives:
            definition = self.resolved(one)
            if _reference(one) and ("oneOf" in definition or "anyOf" in definition):
                yield from self.flat(definition.get("oneOf") or definition["anyOf"])
            else:
                yield one

    def form(self, node: Node, place: str) -> tuple[str, list[str]]:
        """A table with given keys, as `{ key = … }`, and the names and forms of its values."""
        shown, links, below = [], [], []
        for key, inner in node["properties"].items():
            name = _reference(inner)
            if name and "properties" in self.definitions[name]:
                shown.append(f"{key} = {{ … }}")
                links.append(self.link(name, place))
            else:
                kind, details = self.kind(inner, place)
                shown.append(f"{key} = …")
                links.append(f"`{key}`: {kind}")
                below += [f"    {one}" for one in details]
        return f"`{{ {', '.join(shown)} }}` ({'; '.join(links)})", below

    def link(self, name: str, place: str) -> str:
        """A link to the section of a table, which notes the key that names it."""
        places = self.used_by.setdefault(name, [])
        if place not in places:
            places.append(place)
        return f"[{title(name)}](#{anchor(title(name))})"


#: Definitions that would have the words of another one: controls of Linux with the name of one of Skyhop's own TCP, and
#: arrivals with that of an application.
_TOLD_APART = {"RenoOptions": "Reno of Linux", "CubicOptions": "Cubic of Linux", "PoissonFile": "Poisson arrivals"}


def title(name: str) -> str:
    """A definition's name in words: `DropTailFile` is a drop tail."""
    if name in _TOLD_APART:
        return _TOLD_APART[name]
    stem = re.sub(r"(File|Table|Spec|Options|Name)$", "", name)
    # The parameters of a queue that is asked at each departure.
    stem = re.sub(r"Config$", "Queue", stem)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", stem).split()
    short = {"gsl", "isl", "red", "eln", "pep", "tcp", "udp", "ftp", "arq", "pie", "sfq", "drr", "fq", "tbf"}
    told = " ".join(word.upper() if word.lower() in short else word.lower() for word in words)
    return told[:1].upper() + told[1:]


def anchor(heading: str) -> str:
    """The anchor that both GitHub and the site give a heading."""
    return re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-")


def _reference(node: Node) -> str | None:
    reference = node.get("$ref")
    return str(reference).rpartition("/")[2] if reference else None


def _wrapped(line: str) -> str:
    """A line of the page in lines of at most 118 columns; headings stay whole."""
    if line.startswith("#"):
        return line
    found = re.match(r" *- ", line)
    indent = " " * len(found[0]) if found else ""
    return textwrap.fill(line, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _number(node: Node) -> str:
    words = {"integer": "whole number", "number": "number", "boolean": "`true` or `false`", "string": "text"}
    word = words[node["type"]]
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f"{word} from {low:g} to {high:,}"
    if low is not None:
        return f"{word}, at least {low:g}"
    return word


def _sentence(text: str) -> str:
    text = " ".join(_OF_EVERY_CONTROL.sub("", " ".join(text.split())).split())
    return text if not text or text[-1] in ".!?:" else text + "."


def _default(value: Any) -> str:
    """The default that the schema states; none is stated where it depends on the profile."""
    if value is None:
        return "by profile."
    shown = json.dumps(value)
    return f"`{shown}`." if len(shown) < 60 else f"{len(value)} entries."


def _meaning(description: str) -> tuple[str, str]:
    """A description in two: the meaning, and what holds without the key."""
    text = _sentence(description)
    meaning, separator, default = text.partition("Without it: ")
    if separator:
        return meaning.strip(), default[:1] + default[1:]
    return text, ""


def main() -> int:
    """Exit code 1 when the page is not what the schema gives."""
    page = Reference(json.loads(SCHEMA.read_text(encoding="utf-8"))).page()
    if "--renew" in sys.argv[1:]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        print(f"{PAGE.relative_to(ROOT)} is not what the schema gives: run `python python/tools/reference.py --renew`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
