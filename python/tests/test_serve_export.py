"""The page as files beside a run."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

pytest.importorskip("starlette")

import skyhop
from skyhop.serve import export
from skyhop.server import app

SCENARIO = """
duration = "2 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "10 ms"

[records]
grid = "100 ms"

[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
"""


@pytest.fixture(autouse=True)
def page() -> None:
    """Without the built page there is nothing to export."""
    try:
        app.page_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_one_run_becomes_a_page_that_holds_all_it_shows(tmp_path: Path) -> None:
    run = skyhop.run(SCENARIO)
    run.write(tmp_path / "run")
    index = export(tmp_path / "run", tmp_path / "html")
    html = index.read_text(encoding="utf-8")
    assert html.index("runs.js") < html.index("page.js")
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    text = (tmp_path / "html" / "runs.js").read_text(encoding="utf-8")
    content = json.loads(text.removeprefix("window.SKYHOP_EXPORT=").rstrip(";\n"))
    (entry,) = content["runs"]
    assert entry["records_hash"] == run.manifest["records_hash"]
    assert entry["title"] == "run"
    series = base64.b64decode(content["files"][f"{entry['id']}/flow_series.parquet"])
    assert series == (tmp_path / "run" / "flow_series.parquet").read_bytes()
    manifest = json.loads(base64.b64decode(content["files"][f"{entry['id']}/manifest.json"]))
    assert manifest["warnings"] == run.warnings
    assert manifest.keys() == run.manifest.keys() - {"scenario"}, "the scenario has a file of its own"


def test_an_export_is_renewed_and_nothing_else_is_overwritten(tmp_path: Path) -> None:
    skyhop.run(SCENARIO).write(tmp_path / "runs" / "one")
    export(tmp_path / "runs", tmp_path / "html")
    export(tmp_path / "runs", tmp_path / "html")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(FileExistsError, match="is not an exported page"):
        export(tmp_path / "runs", tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_without_a_run_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no run"):
        export(tmp_path, tmp_path / "html")
    assert not (tmp_path / "html").exists()
