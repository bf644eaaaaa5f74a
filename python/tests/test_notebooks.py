"""The notebooks of `examples/notebooks` run from top to bottom, and show what their text says."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NOTEBOOKS = ROOT / "examples" / "notebooks"


def run(name: str) -> tuple[dict[str, Any], list[Any], str]:
    """The names that the cells define, what each code cell shows, and what they print."""
    data = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    printed = io.StringIO()
    for number, cell in enumerate(data["cells"]):
        if cell["cell_type"] != "code":
            continue
        # Outputs are not kept: they would be those of another version.
        assert cell["outputs"] == [] and cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        where = f"{name}.ipynb, cell {number}"
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, where, "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), where, "eval"), names))
    for one in shown:
        # As Jupyter shows it.
        kinds = [getattr(one, kind)() for kind in ("_repr_html_", "_repr_svg_") if hasattr(one, kind)]
        assert not kinds or any(kind and len(kind) > 100 for kind in kinds)
    return names, shown, printed.getvalue()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_first_run() -> None:
    names, _, _ = run("first-run")
    delay = names["grid"]["delay"]["mean"]
    assert delay.is_sorted() and delay[-1] > 1.5 * delay[0]
    assert names["longest"].seed == 1


def test_compare_controls_over_starlink() -> None:
    names, _, said = run("compare-controls-over-starlink")
    # The text promises that BBR carries more, which the interval of the differences decides.
    assert names["mean"] - names["half"] > 0, said


def test_write_your_own_control() -> None:
    names, shown, _ = run("write-your-own-control")
    assert True in shown, "the control with half of the window is not Reno"
    rates = names["rates"]
    assert sum(rates["gentle"]) > 1.1 * sum(rates["reno"])
    gentle, reno = names["beside"].flows["goodput_bps"].to_list()
    assert gentle > 1.2 * reno
