"""The check of prose finds what CONTRIBUTING.md rules out, where it stands, and leaves sound sentences alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", ROOT / "python/tools/prose.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        "Of an arrival in the moving average.",
        "The gain. Of several flows the first.",
        "A unit that is no unit of time.",
        "The clock needs links of a steady rate, and {link} is none.",
        "What is lost is sent again.",
        "The window grows as ever.",
        "Packets are sent in vain.",
        "The recorder takes down what arrives.",
        "The how-manieth packet of its endpoint this is.",
        "Losses are seldom here.",
        "The fate of a packet.",
        "Packets on their way.",
        "A hole that\nis no\nloss.",
    ],
)
def test_each_expression_that_is_ruled_out_is_found(prose: ModuleType, text: str) -> None:
    assert list(prose.findings(Path("a.md"), text)), text


@pytest.mark.parametrize(
    "text",
    [
        "Of the 12 claims, 9 hold.",
        "Of course it does.",
        "There is no unit here. If there are no losses, nothing happens.",
        "It is no longer than 120 columns and is no worse than before.",
        "What is modelled?",
        "The queue drops what does not fit.",
        "The key `on_down = \"send-in-vain\"` and the option `seldom`.",
        "One-way delay; a way to say it; in the same way.",
        "There are none.",
        "```text\nWhat is lost is sent again.\n```",
    ],
)  # fmt: skip
def test_sound_sentences_are_left_alone(prose: ModuleType, text: str) -> None:
    assert list(prose.findings(Path("a.md"), text)) == []


def test_comments_and_texts_of_code_are_looked_at_and_code_is_not(prose: ModuleType) -> None:
    rust = '/// A sound line.\n/// The window\n/// grows as ever.\nfn fate(passage: u8) {}\nconst A: &str = "x is no unit";\n'
    assert [one.line for one in prose.findings(Path("a.rs"), rust)] == [3, 5]
    python = (
        '"""A module.\n\nIt waits in vain."""\n\nfate = 1  # seldom\nraise ValueError(f"{fate} is no unit of time")\n'
    )
    assert [one.line for one in prose.findings(Path("a.py"), python)] == [3, 5, 6]
    page = "// sound\nconst seldom = 'is no unit'\nconst b = `this ${one} is no unit`\n"
    assert [one.line for one in prose.findings(Path("a.ts"), page)] == [3]


def test_long_lines_are_found_and_tables_addresses_and_blocks_of_code_are_not(prose: ModuleType) -> None:
    fits, long = "ä " * 60, "ä " * 60 + "b"
    for name in ("a.md", "a.rs", "a.py"):
        text = f"{fits}\n{long}\n"
        assert [one.line for one in prose.long_lines(Path(name), text)] == [2], name
    assert not list(prose.long_lines(Path("a.toml"), long))
    exempt = f"| {long} |\nhttps://example.org/{'x' * 120}\n```text\n{long}\n```\n"
    marked = f"<!-- options: written by `make` -->\n{long}\n<!-- /options -->\n"
    assert [one.line for one in prose.long_lines(Path("a.md"), exempt + marked + long)] == [9]


def test_the_list_of_what_is_left_names_files_that_exist(prose: ModuleType) -> None:
    absent = [path for path in prose.left() if not (ROOT / path).is_file()]
    assert absent == []
