"""The tutorial works as it stands: each of its commands prints what docs/first-hour.md shows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_each_command_of_the_first_hour_prints_what_the_page_shows(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("tutorial", ROOT / "python/tools/tutorial.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page.count("\n$ ") >= 10
    assert tool.renewed(page, tmp_path).splitlines() == page.splitlines()
