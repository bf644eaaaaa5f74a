"""docs/reference/scenario.md is what the schema gives, has every key of it, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "python/tools/reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keys_of(node: Any) -> set[str]:
    """Keys of all tables of the schema, those of forms with one key included."""
    if isinstance(node, dict):
        own = set(node["properties"]) if isinstance(node.get("properties"), dict) else set()
        return own.union(*(keys_of(one) for one in node.values()))
    if isinstance(node, list):
        return set().union(*(keys_of(one) for one in node))
    return set()


def test_the_page_is_what_the_schema_gives(tool: ModuleType) -> None:
    page = tool.Reference(json.loads(tool.SCHEMA.read_text(encoding="utf-8"))).page()
    is_current = tool.PAGE.read_text(encoding="utf-8") == page
    assert is_current, "run `python python/tools/reference.py --renew`"


def test_every_key_of_the_schema_is_on_the_page(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    schema = json.loads(tool.SCHEMA.read_text(encoding="utf-8"))
    absent = [key for key in keys_of(schema) if f"`{key}`" not in page and f"{{ {key} = " not in page]
    assert absent == []


def test_headings_differ_and_links_lead_to_them(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    anchors = [tool.anchor(one) for one in re.findall(r"^#+ (.*)$", page, re.MULTILINE)]
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(anchors)
