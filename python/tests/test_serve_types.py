"""What the page believes about a run folder is what the engine writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "web" / "src" / "generated" / "tables.ts"


def test_the_columns_that_the_page_knows_are_those_of_the_engine() -> None:
    tool = ROOT / "web" / "tools" / "tables.py"
    if not tool.exists():
        pytest.skip("the page's sources are not here")
    spec = importlib.util.spec_from_file_location("skyhop_page_tables", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert GENERATED.read_text(encoding="utf-8") == module.text(), (
        "renew: python web/tools/tables.py > web/src/generated/tables.ts"
    )
