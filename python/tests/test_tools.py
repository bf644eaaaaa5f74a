"""The tools that run and count the checks."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "python" / "tools"))
sys.path.insert(0, str(ROOT / "benches"))
sys.path.insert(0, str(ROOT / "benches" / "sky"))

import cells
import dependencies
import documents
import pyo3
import run_tests
import sbom
import starlink_uplink
import wheel
import window_cost

CARGO = """
running 3 tests
test a ... ok

skipped: no recording in ../shared/data
test b ... ok
test c ... ignored

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""


def test_what_lacked_its_material_is_counted_as_skipped_and_not_as_passed() -> None:
    assert run_tests.cargo_count(CARGO, 101) == (5, 2, 2)
    assert run_tests.cargo_count("error: could not compile", 101) == (0, 1, 0)
    assert run_tests.pytest_count("...\n1 failed, 40 passed, 3 skipped, 1 error in 5.0s", 1) == (40, 2, 3)
    assert run_tests.pytest_count("40 passed in 5.0s", 0) == (40, 0, 0)
    assert run_tests.pytest_count("", 3) == (0, 1, 0)
    assert run_tests.node_count("# tests 9\n# pass 4\n# fail 0\n# cancelled 0\n# skipped 5\n", 0) == (4, 0, 5)
    assert run_tests.node_count("# pass 0\n# fail 1\n# cancelled 16\n# skipped 0\n", 1) == (0, 17, 0)
    assert run_tests.node_count("SyntaxError", 1) == (0, 1, 0)
    assert run_tests.own_count("skipped: x\n2 passed, 0 failed, 1 skipped\n", 0) == (2, 0, 1)
    assert run_tests.own_count("Traceback", 1) == (0, 1, 0)


def test_a_warning_of_the_lint_is_a_failure_beside_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = CARGO.replace("FAILED. 4 passed; 2 failed", "ok. 6 passed; 0 failed")
    warned = f"warning: unused variable: `x`\n  --> crates/one/src/lib.rs:1:1\n{passed}"
    monkeypatch.setattr(run_tests, "HAS_CLIPPY", True)
    assert run_tests.compiled_count(passed, 0) == (8, 0, 2)
    assert run_tests.compiled_count(warned, 0) == (7, 1, 2)
    assert run_tests.compiled_count("error: could not compile", 101) == (0, 1, 0)
    monkeypatch.setattr(run_tests, "HAS_CLIPPY", False)
    assert run_tests.compiled_count(passed, 0) == (7, 0, 3), "a lint that did not run is skipped"


def test_steps_wait_for_their_stage_and_fail_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    later: run_tests.Step = ("later", [sys.executable, "-c", ""], run_tests.one_check)
    for code, counts in ((0, [(0, 0, 0), (1, 0, 0)]), (3, [(0, 1, 0), (0, 1, 0)])):
        stage = run_tests.Stage(("build", [sys.executable, "-c", f"raise SystemExit({code})"], run_tests.made))
        # The lane that waits is the first: the other one has to run beside it.
        assert run_tests.side_by_side([run_tests.After(stage, [later])], [stage]) == counts[::-1]
    assert "not run without build: later" in capsys.readouterr().out


def test_the_documents_of_a_crate_take_the_arguments_of_its_examples() -> None:
    given = "--edition=2024 --test --test-run-directory /x src/lib.rs --extern a=b.rlib --test-args=-q --test-args y"
    assert documents.documented(given.split(), Path("out")) == (
        ["--edition=2024", "src/lib.rs", "--extern", "a=b.rlib", "-D", "warnings", "--out-dir", "out"]
    )


def test_a_program_that_is_not_here_is_a_step_that_was_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tests.run("x", ["no-such-program"], run_tests.one_check) == (0, 0, 1)
    assert "there is no no-such-program here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT AND AGPL-3.0-only) OR LGPL-2.1-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT WITH unknown", False),
        ("(MIT", False),
        ("MIT)", False),
        ("", False),
        ("see LICENSE", False),
    ],
)
def test_a_licence_is_on_the_list_or_it_is_not(expression: str, is_allowed: bool) -> None:
    assert dependencies.is_allowed(expression) == is_allowed


def test_a_dependency_that_nothing_uses_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("crates/one/src", "tests", "benches/src", "python", "studies", "web/src"):
        (tmp_path / folder).mkdir(parents=True)
    for crate in ("crates/one", "tests", "benches"):
        (tmp_path / crate / "Cargo.toml").write_text('[dependencies]\nused-one = "1"\nidle = "1"\n', encoding="utf-8")
        (tmp_path / crate / ("lib.rs" if crate == "tests" else "src/lib.rs")).write_text("use used_one::X;\n", "utf-8")
    project = '[project]\ndependencies = ["used", "idle>=1"]\n[project.optional-dependencies]\ndev = []\n'
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    (tmp_path / "python/a.py").write_text("from used.part import x\n", encoding="utf-8")
    (tmp_path / "web/package.json").write_text('{"dependencies": {"used": "1", "idle": "1"}}', encoding="utf-8")
    (tmp_path / "web/src/a.ts").write_text('import { x } from "used/part";\n', encoding="utf-8")
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    found = dependencies.unused()
    assert found.passed == 5
    assert len(found.failed) == 5
    assert all("idle" in one for one in found.failed)


def test_a_lock_that_lags_behind_or_lacks_hashes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = '[project]\ndependencies = ["one>=2"]\n[project.optional-dependencies]\ndev = []\n'
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(dependencies, "LOCK", tmp_path / "lock")

    (tmp_path / "fuzz").mkdir()
    (tmp_path / "Cargo.lock").write_text('[[package]]\nname = "two"\nversion = "2.0.0"\n', encoding="utf-8")
    (tmp_path / "fuzz/Cargo.toml").write_text('[package]\nname = "fuzz"\n[dependencies]\ntwo = "2"\n', encoding="utf-8")

    def failures(text: str) -> int:
        (tmp_path / "lock").write_text(f"#    uv pip compile\n{text}", encoding="utf-8")
        return len(dependencies.lock().failed)

    fuzzer = '[[package]]\nname = "fuzz"\nversion = "0"\ndependencies = ["two"]\n'
    fuzzer += '[[package]]\nname = "two"\nversion = "2.0.0"\n'
    (tmp_path / "fuzz/Cargo.lock").write_text(fuzzer, encoding="utf-8")
    pin = f"one==2.1 ; python_full_version >= '3.11' \\\n    --hash=sha256:{'a' * 64}\n"
    assert failures(pin) == 0
    assert failures(pin.replace("2.1", "1.9")) == 1
    assert failures(pin + "two==3\n") == 1
    assert failures("--index-url example\n" + pin) == 1
    assert failures("two @ somewhere\n" + pin) == 1
    # The fuzzer's lock, which only the fuzzer's own build reads.
    for old, new in (("dependencies", "others"), ('"2.0.0"', '"1.9.0"')):
        (tmp_path / "fuzz/Cargo.lock").write_text(fuzzer.replace(old, new), encoding="utf-8")
        assert failures(pin) == 1


def test_no_database_is_skipped_and_never_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies.shutil, "which", lambda _: "/bin/there")
    monkeypatch.setattr(dependencies.importlib.util, "find_spec", lambda _: object())

    def answers(found: dict[str, Any]) -> dependencies.Findings:
        answer = type("Answer", (), {"found": found, "reason": "no way"})()
        monkeypatch.setattr(dependencies, "_Answer", lambda *_: answer)
        return dependencies.advisories()

    silent = answers({})
    assert (silent.passed, len(silent.failed), len(silent.skipped)) == (0, 0, 3)
    assert all("no way" in one for one in silent.skipped)
    # An index that knows none of the packages says nothing against them.
    unknown = answers({"dependencies": [{"name": "a", "skip_reason": "not found"}]})
    assert (unknown.passed, len(unknown.failed), len(unknown.skipped)) == (0, 0, 3)
    monkeypatch.setattr(dependencies, "_against_crates", list)
    monkeypatch.setattr(dependencies, "_against_page", list)
    good = answers({"dependencies": [{"name": "a", "version": "1", "vulns": []}]})
    assert (good.passed, good.failed, good.skipped) == (3, [], [])
    bad = answers({"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}]})
    assert (bad.passed, bad.failed) == (2, ["advisories of Python packages: a 1: CVE-1"])


def test_the_bill_of_materials_has_every_crate_and_what_the_page_and_the_program_need() -> None:
    bill = sbom.bill()
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references) and references == sorted(references)
    kinds = {kind: sum(one.startswith(f"pkg:{kind}/") for one in references) for kind in ("cargo", "npm", "pypi")}
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    assert kinds["cargo"] == lock.count("\nsource = ") and kinds["npm"] > 0
    for name in ("polars", "matplotlib", "starlette"):
        assert any(one.startswith(f"pkg:pypi/{name}@") for one in references)
    assert not any("pytest" in one or "vite@" in one for one in references), (
        "developers' tools do not belong to the program"
    )


def test_a_wheel_that_lacks_the_page_is_found(tmp_path: Path) -> None:
    whole = tmp_path / "skyhop-0-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(whole, "w") as packed:
        for name in wheel.NEEDED:
            packed.writestr(name, "x")
    assert wheel.lacking(whole) == []
    bare = tmp_path / "skyhop-0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(bare, "w") as packed:
        packed.writestr("skyhop/_core.abi3.so", "x")
    said = wheel.lacking(bare)
    assert "skyhop/page/index.html is not in it" in said and any("abi3" in one for one in said)


def test_tables_of_the_benches_have_no_interval_of_zero() -> None:
    assert cells.spread([1.0, 2.0, 3.0], 1.234, 2) == "2.00 ± 1.23"
    assert cells.spread([2.0, 2.001], 0.0004, 2) == "2.0005 ± 0.0004"
    assert cells.spread([2.0, 2.0], 0.0, 2) == "2.00 (all 2 equal)"
    # Student's t for three seeds is 4.303.
    found = [(3.0, 0.125, 90.0), (4.0, 0.125, 92.0), (5.0, 0.125, 94.0)]
    assert starlink_uplink.simulated(found) == "4.0 ± 2.5, 0.12 (all 3 equal) %, 92 ± 5 ms"


def test_a_cost_is_the_median_of_several_measurements_with_the_least_and_the_most(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = iter([80.0] * 9 + [90.0] * 9 + [84.0] * 9)
    monkeypatch.setattr(window_cost.simulators, "build_skyhop", lambda: Path("program"))
    monkeypatch.setattr(window_cost, "cost_ns", lambda *_: next(costs))
    monkeypatch.setattr(sys, "argv", ["window_cost.py", "--runs", "3"])
    window_cost.main()
    rows = capsys.readouterr().out.splitlines()
    assert rows[2:] == [f"| {name} | " + " | ".join(["84 ns (80 to 90)"] * 3) + " |" for name in window_cost.RECOVERIES]


def test_the_tests_of_every_crate_have_the_checks_of_a_debug_build() -> None:
    manifests = [*ROOT.glob("crates/*/Cargo.toml"), ROOT / "tests/Cargo.toml", ROOT / "benches/Cargo.toml"]
    named = {dependencies.tomllib.loads(one.read_text(encoding="utf-8"))["package"]["name"] for one in manifests}
    profiles = dependencies.tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]
    checks = {"debug-assertions": True, "overflow-checks": True}
    checked = {name for name, one in profiles["bench"]["package"].items() if checks.items() <= one.items()}
    # picoquic's C code is compiled once for both builds only if nothing differs.
    assert checked == named - {"skyhop-picoquic"}


def test_pyo3_is_built_for_the_python_that_its_feature_names() -> None:
    feature = re.search(r'^pyo3 = .*"abi3-py(\d)(\d+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert feature is not None
    version = ".".join(feature.groups())
    assert f"version={version}\n" in pyo3.DESCRIPTION
    assert f"target_abi=CPython-abi3-{version}\n" in pyo3.DESCRIPTION


def test_pyo3_is_not_built_again_because_of_a_newer_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyo3, "FILE", tmp_path / "target" / "pyo3.txt")
    variables = pyo3.variables()
    if not variables:
        pytest.skip("pyo3 asks the interpreter here: this is not CPython on Linux")
    assert variables["PYO3_CONFIG_FILE"] == str(pyo3.FILE)
    os.utime(pyo3.FILE, (1, 1))
    assert pyo3.variables() == variables
    assert pyo3.FILE.stat().st_mtime == 1
    pyo3.FILE.write_text("version=3.9\n")
    pyo3.variables()
    assert pyo3.FILE.read_text() == pyo3.DESCRIPTION
