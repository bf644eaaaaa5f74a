"""Checks the project's prose: spelling, the length of lines, and the expressions that `CONTRIBUTING.md` rules out.

`python prose.py` looks at documents, at comments and docstrings, and at texts that a user reads. It prints each finding
with its place and what to write instead, and ends with a line `N passed, N failed, N skipped`: one check per file.

`prose-left.txt` beside this file names the files that are not rewritten yet and how many findings each may still have.
A file with more findings than that fails, and so does a file with findings that is not listed. `--renew` lowers the
numbers to what is there. It never raises one.
"""

from __future__ import annotations

import bisect
import functools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEFT = Path(__file__).with_name("prose-left.txt")

#: Folders and files with prose of ours.
PLACES = (
    "README.md", "CONTRIBUTING.md", "docs", "crates", "python", "web/src", "benches", "examples", "tests", "studies",
)  # fmt: skip

#: Not prose of ours, or prose that quotes what is ruled out.
EXEMPT = re.compile(
    r"^(CONTRIBUTING\.md|docs/reference/.*|python/tools/prose\.py|python/tests/test_prose\.py|web/src/scenario\.ts"
    r"|python/skyhop/(page|data)/.*|.*/(vectors|golden)/.*)$"
)


class Finding(NamedTuple):
    """One expression that is ruled out, and where it stands (line from 1)."""

    line: int
    text: str
    advice: str


# The rules


class Rule(NamedTuple):
    """An expression that is ruled out; `is_meant` looks at the rest of the sentence, where a pattern is not enough.

    Whatever `pattern` matches has `needs` in it, in small letters. Most paragraphs lack it, and to look for it takes a
    hundredth of the time of the pattern.
    """

    needs: str
    pattern: re.Pattern[str]
    advice: str
    is_meant: Callable[[str], bool] = lambda _sentence: True


#: The beginning of a sentence, of a paragraph, of a list's item or of a table's cell.
_BEGIN = r"(?:(?<=\n)|(?<=[.!?:;] )|(?<=[.!?:]\n)|(?<=\| )|(?<=^)|(?<=- ))"


def _has_no_comma(sentence: str) -> bool:
    """ "Of the 12 claims, 9 hold" is a sentence; "Of an arrival in the average" is a fragment."""
    return "," not in sentence


def _is_no_question(sentence: str) -> bool:
    return not sentence.rstrip().endswith("?")


RULES = (
    Rule(
        "of ",
        re.compile(rf"{_BEGIN}Of (?!course\b)\w"),
        'begin with the subject: not "Of an arrival in the average" but "EWMA gain applied to each arrival"',
        _has_no_comma,
    ),
    Rule(
        " no ",
        re.compile(
            r"(?<!there )(?<!There )\b(?:is|are|was|were) no "
            r"(?!longer\b|more\b|less\b|fewer\b|doubt\b|matter\b|worse\b|\w+er than\b)[a-z]\w+"
        ),
        'write "is not a …": "is no X" is not idiomatic',
    ),
    Rule(
        " none", re.compile(r"(?<!there )(?<!There )\b(?:is|are|was|were) none(?= *[.,;:)\n]|$)"), 'write "is not one"'
    ),
    Rule(
        "what ",
        re.compile(
            rf"{_BEGIN}What (?:is|are|was|were|has|had|comes|goes|lies|stands|waits|leaves)\b"
            rf"|{_BEGIN}What (?:remains|follows|belongs|arrives)\b"
        ),
        'name the subject: not "What is lost is sent again" but "Lost segments are sent again"',
        _is_no_question,
    ),
    Rule(
        "what ",
        re.compile(
            r"\bwhat (?:is|was|are|were) (?:\w+ ){1,5}"
            r"(?:is|are|was|were|has|does|counts|stands|takes|goes|comes|leaves)\b"
        ),
        'name the subject in place of "what is …"',
        _is_no_question,
    ),
    Rule("as ever", re.compile(r"\bas ever\b"), 'write "as usual", "unchanged", or say how'),
    Rule("in vain", re.compile(r"(?<!-)\bin vain\b"), 'write "without effect", "needlessly", or say what fails'),
    Rule(" down", re.compile(r"\b(?:takes?|took|taking) down\b"), 'write "records", "stops" or "removes"'),
    Rule("manieth", re.compile(r"\w*manieth\b"), 'write "the index of", "the number of"'),
    Rule("seldom", re.compile(r"\bseldom\b", re.IGNORECASE), 'write "rarely"; as a name say what is rare'),
    Rule("fate", re.compile(r"\bfates?\b", re.IGNORECASE), 'write "outcome" (delivered, lost, dropped)'),
    Rule(
        "passage",
        re.compile(r"\bpassages?\b", re.IGNORECASE),
        'write "traversal of a link", "hop", or "section" of a text',
    ),
    Rule(
        " way",
        re.compile(r"\b(?:on|along|of|for) (?:a|the|its|their|this|each|every|that) ways?(?= *[.,;:)\n]|$)"),
        'write "path" or "route"',
    ),
    Rule(
        " way",
        re.compile(r"\b(?:a|the|its|whole|same|another) way(?:'s)? (?:is|are|was|has|had|takes|goes|leads)\b"),
        'write "path"',
    ),
    Rule("looked for", re.compile(r"\bto be looked for\b|\bit is looked for\b"), "say who looks for what"),
)


# What is prose


@functools.cache
def prose_of(path: Path, text: str) -> str:
    """The text with everything that is not prose blanked; lines keep their numbers.

    Rules and spelling look at the same.
    """
    if path.suffix == ".md":
        return _of_markdown(text)
    if path.suffix == ".py":
        return _of_python(text)
    if path.suffix == ".toml":
        return _kept(text, re.compile(r"^\s*#(?P<prose>.*)$", re.MULTILINE))
    if path.suffix == ".html":
        return _kept(text, re.compile(r">(?P<prose>[^<>{}]+)<"))
    return _kept(text, _CODE)


#: Comments and literals of Rust and TypeScript. Literals without two blanks are not sentences.
_CODE = re.compile(
    r"//[/!]?(?P<prose>[^\n]*)|/\*(?P<block>.*?)\*/|r#+\"(?P<raw>.*?)\"#+"
    r"|\"(?P<text>(?:[^\"\\]|\\.)*)\"|`(?P<template>(?:[^`\\]|\\.)*)`|'(?:\\.|[^'\\\n])'",
    re.DOTALL,
)


#: Comments and literals of Python. Tokens would tell the same, and take five times as long.
_PYTHON = re.compile(r"(?P<comment>#:?)[^\n]*|(?P<quote>\"{3}|'{3}|[\"'])(?:[^\\]|\\.)*?(?P=quote)", re.DOTALL)


def _blank(text: str) -> list[str]:
    """Blanks in place of all characters, line ends left where they are."""
    return list(re.sub(r"[^\n]+", lambda found: " " * len(found[0]), text))


def _kept(text: str, pattern: re.Pattern[str]) -> str:
    kept = _blank(text)
    for found in pattern.finditer(text):
        for name, value in found.groupdict().items():
            if value is None or (name in ("text", "raw", "template") and value.count(" ") < 2):
                continue
            begin, end = found.span(name)
            kept[begin:end] = text[begin:end]
            if name in ("text", "template") and begin > 0:
                # A text begins a paragraph of its own, and so does what comes after it.
                kept[begin - 1] = "\f"
                kept[end] = "\f"
    return _without_code("".join(kept))


def _of_markdown(text: str) -> str:
    fenced = re.compile(r"^( *)(```|~~~).*?^\1\2", re.DOTALL | re.MULTILINE)
    text = fenced.sub(lambda found: "\n" * found[0].count("\n"), text)
    # Headings and links' targets are not sentences.
    text = re.sub(r"^#+ .*$", "", text, flags=re.MULTILINE)
    return _without_code(re.sub(r"\]\([^)]*\)", "]", text))


def _of_python(text: str) -> str:
    kept = _blank(text)
    for found in _PYTHON.finditer(text):
        end = found.end()
        # The group that matched is what a comment or a literal begins with.
        first = found.end(found.lastgroup or 0)
        if found.lastgroup == "comment":
            kept[first:end] = text[first:end]
        elif found[0].count(" ") >= 2:
            kept[first - 1 : end] = f"\f{text[first : end - 1]}\f"
    return _without_code("".join(kept))


def _without_code(text: str) -> str:
    """Puts letters in place of code in backquotes and of values in braces: keys and names are not prose."""
    return re.sub(r"`[^`\n]*`|\{[^{}\n]*\}", lambda found: "x" * len(found[0]), text)


# Looking


def findings(path: Path, text: str) -> Iterator[Finding]:
    """What the rules find in a file."""
    prose = prose_of(path, text)
    for first, paragraph, places in _paragraphs(prose):
        small = paragraph.lower()
        for rule in RULES:
            if rule.needs not in small:
                continue
            for match in rule.pattern.finditer(paragraph):
                sentence = re.match(r".*?(?:[.!?](?=\s|$)|\||$)", paragraph[match.start() :], re.DOTALL)
                if rule.is_meant(sentence[0] if sentence else ""):
                    line = first + bisect.bisect_right(places, match.start()) - 1
                    yield Finding(line, match[0].strip(), rule.advice)


#: Columns, in characters.
MOST_COLUMNS = 120

#: Rows of a table, addresses, and what a program writes between marks.
_LONG_BY_NATURE = re.compile(r"^\s*\||https?://\S|<!--")


def long_lines(path: Path, text: str) -> Iterator[Finding]:
    """Lines with more than `MOST_COLUMNS` in documents, Rust and Python; not blocks of code in a document."""
    if path.suffix not in (".md", ".rs", ".py"):
        return
    if path.suffix == ".md":
        fenced = re.compile(
            r"^( *)(```|~~~).*?^\1\2|^<!-- [^>]*(?:written|generated) by.*?^<!-- (?:/|end)", re.DOTALL | re.MULTILINE
        )
        text = fenced.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_COLUMNS and not _LONG_BY_NATURE.search(line):
            yield Finding(
                number, line.strip()[:40] + " …", f"break the line: {len(line)} columns, at most {MOST_COLUMNS}"
            )


def _paragraphs(prose: str) -> Iterator[tuple[int, str, list[int]]]:
    """Paragraphs as one line each: the number of the first line, the text, and at which character each line begins."""
    number, first, text = 1, 1, ""
    places: list[int] = []
    for line in prose.split("\n"):
        for at, piece in enumerate(line.split("\f")):
            begins = at > 0 or not piece.strip() or re.match(r"\s*([-*|]|\d+\.) ", piece)
            if begins and text:
                yield first, text, places
                text, places = "", []
            if piece.strip():
                if not text:
                    first = number
                places.append(len(text) + (1 if text else 0))
                text += (" " if text else "") + " ".join(piece.split())
        number += 1
    if text:
        yield first, text, places


def files() -> list[Path]:
    """The files with prose that git knows or would know, by their paths from the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PLACES]
    known = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    suffixes = (".md", ".rs", ".py", ".ts", ".html", ".toml")
    return [Path(one) for one in known if one.endswith(suffixes) and not EXEMPT.match(one) and (ROOT / one).is_file()]


def left() -> dict[str, int]:
    """How many findings each file that is not rewritten yet may have."""
    lines = LEFT.read_text(encoding="utf-8").splitlines() if LEFT.exists() else []
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {path: int(count) for path, count in pairs}


def misspelt() -> list[str]:
    """Misspelt words of the prose, one line each; the words that are right here are listed in pyproject.toml."""
    program = shutil.which("typos", path=str(Path(sys.executable).parent)) or "typos"
    with tempfile.TemporaryDirectory() as folder:
        for path in files():
            prose = Path(folder) / path.parent / f"{path.name}.txt"
            prose.parent.mkdir(parents=True, exist_ok=True)
            text = prose_of(path, (ROOT / path).read_text(encoding="utf-8")).replace("\f", " ")
            prose.write_text(re.sub(r"xxx+", lambda found: " " * len(found[0]), text), encoding="utf-8")
        command = [program, "--config", str(ROOT / "pyproject.toml"), "--format", "brief", "."]
        try:
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return ["typos is not installed: run `make build`"]
    if ran.returncode not in (0, 2):
        return [f"typos did not run: {ran.stderr.strip()}"]
    return [line.removeprefix("./").replace(".txt:", ":", 1) for line in ran.stdout.splitlines()]


def main() -> int:
    """Exit code 1 when a file breaks the rules."""
    allowed = left()
    passed = failed = 0
    now: dict[str, int] = {}
    for path in files():
        text = (ROOT / path).read_text(encoding="utf-8")
        found = [*findings(path, text), *long_lines(path, text)]
        name = path.as_posix()
        if found:
            now[name] = len(found)
        if len(found) > allowed.get(name, 0) or "--all" in sys.argv[1:]:
            for one in found:
                print(f'{name}:{one.line}: "{one.text}": {one.advice}')
        if len(found) > allowed.get(name, 0):
            failed += 1
        else:
            passed += 1
    spelling = misspelt()
    print("\n".join(spelling), end="\n" if spelling else "")
    failed += bool(spelling)
    passed += not spelling
    if "--renew" in sys.argv[1:]:
        lines = [f"{path} {min(now[path], most)}" for path, most in sorted(allowed.items()) if path in now]
        comment = [line for line in LEFT.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        LEFT.write_text("\n".join([*comment, *lines]) + "\n", encoding="utf-8")
    elif any(now.get(path, 0) < most for path, most in allowed.items()):
        print(f"{LEFT.name} allows more than is needed: run `python python/tools/prose.py --renew`")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
