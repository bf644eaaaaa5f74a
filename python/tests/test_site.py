"""`make docs` makes a site whose links lead somewhere and whose search needs no network."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("mkdocs")
TOOL = ROOT / "python/tools/site.py"


def test_the_site_is_built_with_every_link_checked() -> None:
    built = subprocess.run([sys.executable, str(TOOL), "--no-rust"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = ROOT / "target/site/html"
    index = json.loads((pages / "search/search_index.json").read_text(encoding="utf-8"))
    places = {one["location"] for one in index["docs"]}
    assert {"docs/recipes.html", "docs/first-hour.html", "docs/reference/python.html#skyhop.api.run"} <= places
    assert "docs/reference/scenario.html#handover-policy" in places
    # The search runs from the disk: its index is a script, and so is what runs it.
    assert (pages / "search/search_index.js").is_file()
    assert 'src="assets/javascripts/frame_worker.js"' in (pages / "index.html").read_text(encoding="utf-8")


def test_a_page_that_loads_from_the_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("site_tool", TOOL)
    assert spec is not None and spec.loader is not None
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    monkeypatch.setattr(site, "SITE", tmp_path)
    (tmp_path / "html/assets/javascripts").mkdir(parents=True)
    (tmp_path / "html/a.html").write_text('<script src="https://example.org/a.js"></script>', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"a\.html loads https://example\.org/a\.js"):
        site.without_network()
