"""Congestion controls written in Python: the engine's own packets, errors that are told, sources that count."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest
from conftest import ROOT, Skyhop

import skyhop
from skyhop import _core

HOWTO = ROOT / "docs" / "howto" / "write-a-control-in-python.md"

#: Reno of `crates/cc/src/reno.rs` in Python, in the same order of operations.
RENO = """\
import skyhop

class Reno(skyhop.CongestionControl):
    def on_ack(self, ack):
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.slow_start_growth
        else:
            self.cwnd += ack.avoidance_growth / self.cwnd

    def on_congestion(self, event):
        self.ssthresh = max(event.window * 0.5, 2.0)
        self.cwnd = 1.0 if event.kind == "timeout" else self.ssthresh
"""


def scenario(control: object, **more: object) -> dict[str, object]:
    """A lossy link that a TCP with this control crosses."""
    return {
        "duration": "30 s", "profile": "rfc",
        "links": [{"between": ["left", "right"], "rate": "4 Mbit/s", "delay": "50 ms", "errors": [{"packet": 0.003}],
                   "queue": {"drop_tail": {"packets": 30}}}],
        "flows": [{"name": "f", "from": "left", "to": "right", "application": "ftp",
                   "tcp": {"recovery": "sack", "control": control}}],
        "records": {"grid": "200 ms"},
        **more,
    }  # fmt: skip


def python(source: str, name: str = "mine:Mine") -> dict[str, object]:
    return {"python": {"class": name, "source": textwrap.dedent(source)}}


def test_reno_in_python_sends_the_packets_of_the_engines_reno() -> None:
    ours, theirs = skyhop.run(scenario("reno")), skyhop.run(scenario(python(RENO, "mine:Reno")))
    assert ours.flows["cwnd_cuts"][0] > 10 and ours.flows["retransmissions"][0] > 10
    assert theirs.manifest["records_hash"] == ours.manifest["records_hash"]
    assert theirs.scenario.hash != ours.scenario.hash


def test_the_howto_does_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", HOWTO.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = [text for language, text in blocks if language == "python"]
    (toml,) = [text for language, text in blocks if language == "toml"]
    (tmp_path / "mycontrol.py").write_text(code, encoding="utf-8")
    (tmp_path / "gentle.toml").write_text(toml, encoding="utf-8")
    done = Skyhop(tmp_path)("run", "gentle.toml", "--out", "out")
    assert (done.returncode, done.stdout) == (0, "out\n"), done.stderr
    gentle = skyhop.load(tmp_path / "out")
    reno = skyhop.run(tmp_path / "gentle.toml", overrides=['flows[0].tcp.control="reno"'])
    # A window that falls to the share 1 - b at each loss and grows by one per round trip lets through
    # sqrt((2 - b) / 2b) segments per round trip and root of the loss rate (Floyd, Handley, Padhye: "A Comparison of
    # Equation-Based and AIMD Congestion Control", 2000): for b = 1/4 and 1/2 the ratio is sqrt(7 / 3).
    ratio = gentle.table("flows")["goodput_bps"][0] / reno.flows["goodput_bps"][0]
    assert ratio == pytest.approx((7 / 3) ** 0.5, rel=0.2)
    # The folder holds the control: it runs again without the file.
    (tmp_path / "mycontrol.py").unlink()
    assert gentle.scenario.hash == gentle.manifest["scenario_hash"]
    again = skyhop.run(gentle.scenario, seed=gentle.seed)
    assert again.manifest["records_hash"] == gentle.manifest["records_hash"]


def test_another_source_is_another_scenario(tmp_path: Path) -> None:
    text = json.dumps(scenario({"python": "mine:Reno"}))
    file = tmp_path / "scenario.toml"
    hashes = []
    for source in (RENO, RENO.replace("0.5", "0.6")):
        (tmp_path / "mine.py").write_text(source, encoding="utf-8")
        file.write_text(
            'duration = "30 s"\nprofile = "rfc"\n'
            'links = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "50 ms" }]\n'
            'flows = [{ name = "f", from = "a", to = "b", application = "ftp",'
            ' tcp = { control = { python = "mine:Reno" } } }]\n',
            encoding="utf-8",
        )
        hashes.append(skyhop.scenario(file).hash)
    assert hashes[0] != hashes[1]
    with pytest.raises(skyhop.ScenarioError, match=r'the file "mine.py" cannot be read'):
        _core.Scenario.from_json(text)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def on_ack(self, ack): 1 / 0", r"Mine.on_ack at 0\.\d+ s: ZeroDivisionError: division by zero"),
        ("def on_ack(self, ack): self.cwnd = float('nan')", r"Mine.on_ack at 0\.\d+ s: ValueError: cwnd is NaN"),
        ("def on_ack(self, ack): self.cwnd = 'ten'", r"TypeError: cwnd is 'ten', not a number"),
        ("def on_ack(self, ack): self.pacing_rate = -1.0", r"ValueError: pacing_rate is -1"),
        ("pass", r"NotImplementedError: Mine does not say what an ACK does"),
        ("def __init__(self, start): pass", r"mine:Mine: TypeError: Mine has no cwnd"),
        ("def __init__(self): pass", r"mine:Mine: TypeError: .*__init__"),
    ],
)
def test_what_goes_wrong_in_a_control_ends_the_run_with_its_reason(body: str, said: str) -> None:
    source = f"import skyhop\nclass Mine(skyhop.CongestionControl):\n    {body}\n"
    with pytest.raises(skyhop.ControlError, match=said) as caught:
        skyhop.run(scenario(python(source)))
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (RENO, "mine:Missing", "AttributeError: mine.py has no class Missing"),
        ("class Mine: pass", "mine:Mine", "TypeError: Mine in mine.py is not a class derived from"),
        ("import nothing_of_that_name", "mine:Mine", "ModuleNotFoundError"),
        ("def (", "mine:Mine", "SyntaxError"),
    ],
)
def test_modules_that_cannot_be_used_are_told(source: str, name: str, said: str) -> None:
    with pytest.raises(skyhop.ControlError, match=said):
        skyhop.run(scenario(python(source, name)))


def test_the_program_prints_the_traceback_and_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import skyhop\nclass Mine(skyhop.CongestionControl):\n    def on_ack(self, ack):\n        return ack.nothing\n"
    )
    (tmp_path / "s.toml").write_text(
        'duration = "5 s"\nprofile = "rfc"\nlinks = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "50 ms" }]\n'
        'flows = [{ name = "f", from = "a", to = "b", application = "ftp",'
        ' tcp = { control = { python = "mine:Mine" } } }]\n'
    )
    done = Skyhop(tmp_path)("run", "s.toml", "--out", "out")
    assert done.returncode == 1
    assert "return ack.nothing" in done.stderr and "mine.py of the scenario" in done.stderr
    assert re.search(r"Mine\.on_ack at 0\.\d+ s: AttributeError", done.stderr)
    assert not (tmp_path / "out").exists()


def test_who_may_read_no_files_may_run_no_code(tmp_path: Path) -> None:
    """Scenarios from the page: neither the text of a module nor its name is accepted, and nothing of it runs."""
    mark = tmp_path / "mark"
    source = f"open({str(mark)!r}, 'w')\n" + RENO
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    for control in ({"python": "mine:Reno"}, python(source, "mine:Reno")):
        with pytest.raises(skyhop.ScenarioError, match="may not run code of its own"):
            _core.Scenario.from_json(json.dumps(scenario(control)), files=[])
    with pytest.raises(skyhop.ScenarioError, match="may not run code of its own"):
        _core.Scenario.from_json(json.dumps(scenario(python(source, "mine:Reno"))), files=[tmp_path])
    with pytest.raises(skyhop.ScenarioError, match="may not run code of its own"):
        # A folder of data is not a folder of code.
        _core.Scenario.from_json(json.dumps(scenario({"python": "mine:Reno"})), files=[tmp_path])
    assert not mark.exists()
    _core.Scenario.from_json(json.dumps(scenario({"python": "mine:Reno"})), files=[tmp_path / "mine.py"])
    assert not mark.exists(), "validation runs nothing"


def test_the_page_runs_controls_only_where_it_was_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skyhop.server import checks

    (tmp_path / "mine.py").write_text(RENO, encoding="utf-8")
    text = (
        'duration = "3 s"\nprofile = "rfc"\nlinks = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "50 ms" }]\n'
        'flows = [{ name = "f", from = "a", to = "b", application = "ftp",'
        ' tcp = { control = { python = "mine:Reno" } } }]\n'
    )
    monkeypatch.delenv(checks.PYTHON_CONTROLS, raising=False)
    assert "may not run code of its own" in checks.check(text)["diagnostics"][0]["message"]
    monkeypatch.setenv(checks.PYTHON_CONTROLS, str(tmp_path))
    assert checks.check(text)["ok"]


@pytest.mark.parametrize("name", ["mine", "../mine:Reno", "mine:Reno()", "/etc/passwd:Reno"])
def test_names_that_are_no_class_are_refused(name: str) -> None:
    with pytest.raises(skyhop.ScenarioError, match=r"names no class of a module"):
        skyhop.scenario(scenario({"python": name}))
