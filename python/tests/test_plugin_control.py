"""Congestion controls from shared libraries: the engine's own packets, errors that are told, hashes that count.

Skipped where no C compiler is installed; the plug-in in Rust also needs rustc.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Skyhop

import skyhop
from skyhop import _core

HOWTO = ROOT / "docs" / "howto" / "write-a-control-as-a-plug-in.md"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc) is installed")

#: Reno of `crates/cc/src/reno.rs` in C, in the same order of operations, with places for what tests put in.
RENO = """\
#include <skyhop_cc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct control {{ const skyhop_cc_host *host; }};

static int create(const skyhop_cc_host *host, const skyhop_cc_start *start, skyhop_cc_window *window, void **made) {{
    struct control *control = malloc(sizeof *control);
    control->host = host;
    *made = control;
    {create}
    return 0;
}}

static int on_ack(void *made, const skyhop_cc_ack *ack, skyhop_cc_window *window) {{
    struct control *control = made;
    (void)control;
    window->cwnd += window->cwnd < window->ssthresh ? ack->slow_start_growth : ack->avoidance_growth / window->cwnd;
    {on_ack}
    return 0;
}}

static int on_congestion(void *made, const skyhop_cc_congestion *event, skyhop_cc_window *window) {{
    struct control *control = made;
    (void)control;
    window->ssthresh = event->window * {beta};
    if (window->ssthresh < 2) window->ssthresh = 2;
    window->cwnd = event->kind == SKYHOP_CC_TIMEOUT ? 1 : window->ssthresh;
    {on_congestion}
    return 0;
}}

{more}

const skyhop_cc_table *skyhop_cc_plugin(void) {{
    static const skyhop_cc_table table = {{
        .abi = SKYHOP_CC_ABI, .size = sizeof(skyhop_cc_table), .create = create, .destroy = free, .on_ack = on_ack,
        .on_congestion = on_congestion, {table}
    }};
    return &table;
}}
"""

Build = Callable[..., Path]


def compiled(source: str, out: Path) -> Path:
    file = out.with_suffix(".c")
    file.write_text(source, encoding="utf-8")
    include = skyhop.include()
    command = ["cc", "-O1", "-Wall", "-Werror=incompatible-pointer-types", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([*command, str(file), "-o", str(out), "-lm"], check=True, capture_output=True, text=True)
    return out


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compiles Reno with changes; every library of a test has its own name."""

    def made(name: str = "libreno.so", **parts: str) -> Path:
        empty = dict.fromkeys(("create", "on_ack", "on_congestion", "more", "table"), "")
        return compiled(RENO.format(**{**empty, "beta": "0.5", **parts}), tmp_path / name)

    return made


def scenario(control: object, **more: object) -> dict[str, Any]:
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


def plugin(file: Path, **parameters: float) -> dict[str, Any]:
    return {"plugin": {"file": str(file), "parameters": parameters} if parameters else str(file)}


def records(source: object, seed: int = 1) -> str:
    return str(skyhop.run(source, seed=seed).manifest["records_hash"])  # type: ignore[arg-type]


def test_reno_in_a_plug_in_sends_the_packets_of_the_engines_reno(build: Build) -> None:
    library = build()
    ours, theirs = skyhop.run(scenario("reno")), skyhop.run(scenario(plugin(library)))
    assert ours.flows["cwnd_cuts"][0] > 10 and ours.flows["retransmissions"][0] > 10
    assert theirs.manifest["records_hash"] == ours.manifest["records_hash"]
    assert theirs.scenario.hash != ours.scenario.hash
    assert records(scenario(plugin(library)), seed=2) == records(scenario("reno"), seed=2)


#: Every function and every field that the header has, as text.
ALL = """
static void say(const skyhop_cc_host *host, const char *what, int64_t at, uint32_t size, size_t right) {
    char text[200];
    snprintf(text, sizeof text, "%s %lld %d", what, (long long)at, size == right);
    host->log(host->context, text);
}
static int on_measured(void *c, const skyhop_cc_ack *ack, skyhop_cc_window *w) {
    (void)w;
    if (ack->newly_reported > 0) say(((struct control *)c)->host, "measured", ack->now_ns, ack->size, sizeof *ack);
    return 0;
}
static int on_lost(void *c, const skyhop_cc_loss *loss, skyhop_cc_window *w) {
    (void)w;
    if (loss->lost < 1 || loss->in_flight < 0 || loss->mss != 1460) return 9;
    say(((struct control *)c)->host, "lost", loss->now_ns, loss->size, sizeof *loss);
    return 0;
}
static int on_recovered(void *c, int64_t now, skyhop_cc_window *w) {
    (void)w;
    say(((struct control *)c)->host, "recovered", now, 0, 0);
    return 0;
}
static int on_sent(void *c, const skyhop_cc_sent *sent, skyhop_cc_window *w) {
    (void)c;
    (void)w;
    return sent->size == sizeof *sent && sent->mss == 1460 && sent->in_flight >= 1 ? 0 : 8;
}
static int on_cwnd_set(void *c, skyhop_cc_window *w) {
    (void)c;
    return w->cwnd >= 1 ? 0 : 7;
}
"""


def test_every_function_is_called_with_what_the_header_says(build: Build) -> None:
    library = build(
        more=ALL,
        table=".on_measured = on_measured, .on_lost = on_lost, .on_recovered = on_recovered, .on_sent = on_sent,"
        ".on_cwnd_set = on_cwnd_set,",
        create="if (start->size != sizeof *start || start->mss != 1460 || !(start->clamp > 1)) return 5;"
        "if (host->size != sizeof *host || host->abi != 1 || window->cwnd < 1 || !isinf(window->ssthresh)) return 6;",
        on_ack="if (ack->size != sizeof *ack || ack->mss != 1460 || ack->min_rtt_ns < 100000000) return 2;"
        "if (ack->rtt_ns != SKYHOP_CC_NO_TIME && ack->rtt_ns < ack->min_rtt_ns) return 3;"
        "if (ack->delivered < ack->acknowledged || ack->newly_acked <= 0 || ack->repairing > 1) return 4;",
        on_congestion="if (event->size != sizeof *event || event->min_rtt_ns > event->smoothed_rtt_ns) return 2;",
    )
    run = skyhop.run(scenario(plugin(library), duration="8 s"))
    assert run.manifest["records_hash"] == records(scenario("reno", duration="8 s"))
    pattern = re.compile(rf'{re.escape(str(library))} of the flow "f" at (\d+\.\d+) s: (\w+) (\d+) (\d)')
    said = [found.groups() for one in run.warnings if (found := pattern.fullmatch(one))]
    assert {what for _, what, _, _ in said} == {"measured", "lost", "recovered"}
    for at, _, now, right in said:
        assert right == "1" and float(at) == pytest.approx(int(now) / 1e9, abs=1e-9)
    assert run.manifest["warnings"] == run.warnings


def test_the_rate_of_a_plug_in_paces(build: Build) -> None:
    library = build(on_ack="window->pacing_bps = 1e6;")
    run = skyhop.run(
        scenario(plugin(library), links=[{"between": ["left", "right"], "rate": "4 Mbit/s", "delay": "50 ms"}])
    )
    assert run.flows["goodput_bps"][0] == pytest.approx(1e6, rel=0.1)


def test_two_flows_with_two_plug_ins_keep_apart_and_repeat(build: Build) -> None:
    first, second = build("libfirst.so"), build("libsecond.so", beta="0.8")
    flow = scenario(None)["flows"][0]

    def both(one: object, other: object) -> dict[str, Any]:
        flows = [{**flow, "name": "a", "tcp": {"recovery": "sack", "control": one}},
                 {**flow, "name": "b", "tcp": {"recovery": "sack", "control": other}}]  # fmt: skip
        return scenario(None, flows=flows)

    mixed = records(both(plugin(first), plugin(second)))
    assert mixed == records(both(plugin(first), plugin(second))) == records(both("reno", plugin(second)))
    assert mixed != records(both(plugin(second), plugin(first)))


def test_another_library_is_another_scenario(build: Build, tmp_path: Path) -> None:
    file = build()
    toml = (
        'duration = "5 s"\nprofile = "rfc"\nlinks = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "50 ms" }]\n'
        'flows = [{ name = "f", from = "a", to = "b", application = "ftp",'
        ' tcp = { control = { plugin = "libreno.so" } } }]\n'
    )
    (tmp_path / "s.toml").write_text(toml, encoding="utf-8")
    before = skyhop.scenario(tmp_path / "s.toml")
    canonical = json.loads(before.canonical_json())
    stated = canonical["flows"][0]["tcp"]["control"]["plugin"]
    assert stated["file"] == "libreno.so" and re.fullmatch(r"[0-9a-f]{64}", stated["sha256"])
    # The file is written to in place, while the first library is loaded: the bytes that were hashed run.
    kept = records(before)
    content = file.read_bytes()
    file.write_bytes(build("libother.so", beta="0.8").read_bytes())
    after = skyhop.scenario(tmp_path / "s.toml")
    assert after.hash != before.hash
    assert records(before) == kept
    # In canonical form it is found again by its hash, from any folder.
    again = _core.Scenario.from_json(before.canonical_json())
    assert again.hash == before.hash and records(again) == kept
    pinned = (tmp_path / "s.toml").read_text().replace(
        'plugin = "libreno.so"', f'plugin = {{ file = "libreno.so", sha256 = "{"0" * 64}" }}'
    )  # fmt: skip
    (tmp_path / "pinned.toml").write_text(pinned, encoding="utf-8")
    with pytest.raises(skyhop.ScenarioError, match=r'"libreno.so" has the SHA-256 [0-9a-f]{64}, not 0{64}'):
        skyhop.scenario(tmp_path / "pinned.toml")
    (tmp_path / "pinned.toml").write_text(pinned.replace("0" * 64, "12"), encoding="utf-8")
    with pytest.raises(skyhop.ScenarioError, match=r'"12" is not a SHA-256'):
        skyhop.scenario(tmp_path / "pinned.toml")
    file.write_bytes(content)
    assert skyhop.scenario(tmp_path / "s.toml").hash == before.hash


def test_without_its_library_a_scenario_with_a_hash_can_be_looked_at(build: Build, tmp_path: Path) -> None:
    source = scenario({"plugin": {"file": str(tmp_path / "gone.so"), "sha256": "ab" * 32}})
    found = skyhop.scenario(source)
    assert any("can be looked at, not run" in one for one in found.warnings)
    with pytest.raises(skyhop.ControlError, match=r'gone\.so of the flow "f": the file cannot be read'):
        skyhop.run(found)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"on_ack": "window->cwnd = NAN;"}, r"at 0\.\d+ s: on_ack: cwnd is NaN: a window is a finite number"),
        ({"on_ack": "window->cwnd = -1;"}, r"at 0\.\d+ s: on_ack: cwnd is -1: .* not negative"),
        ({"on_ack": "window->ssthresh = NAN;"}, r"at 0\.\d+ s: on_ack: ssthresh is not a number"),
        ({"on_ack": "window->pacing_bps = -1;"}, r"at 0\.\d+ s: on_ack: pacing_bps is -1"),
        ({"on_congestion": "return 3;"}, r"at \d+\.\d+ s: on_congestion: it returned the error 3"),
        (
            {"on_ack": 'control->host->fail(control->host->context, "no more acorns");'},
            r"at 0\.\d+ s: on_ack: no more acorns",
        ),
        ({"create": "free(control); return 4;"}, r"create: it returned the error 4"),
        ({"create": "window->cwnd = INFINITY;"}, r"create: cwnd is inf"),
        ({"table": ".on_lost = 0, .abi = 7,"}, r"version 7 of skyhop_cc\.h, and this Skyhop has version 1"),
        ({"table": ".size = 24,"}, r"its table says it has 24 bytes, and one of version 1 has 88"),
        ({"table": ".on_ack = 0,"}, r"its table has no function on_ack"),
    ],
)
def test_what_goes_wrong_in_a_plug_in_ends_the_run_with_its_reason(
    build: Build, parts: dict[str, str], said: str
) -> None:
    library = build(**parts)
    with pytest.raises(skyhop.ControlError, match=rf'libreno\.so of the flow "f"(:| ).*{said}'):
        skyhop.run(scenario(plugin(library)))


def test_libraries_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    with pytest.raises(skyhop.ScenarioError, match=r'the file ".*absent\.so" cannot be read: No such file'):
        skyhop.scenario(scenario(plugin(tmp_path / "absent.so")))
    with pytest.raises(skyhop.ScenarioError, match=r"is a folder, not a file"):
        skyhop.scenario(scenario(plugin(tmp_path)))
    (tmp_path / "text.so").write_text("not a library, but long enough to be looked at as one, as far as headers go")
    with pytest.raises(skyhop.ControlError, match=r'text\.so of the flow "f": it is not a library'):
        skyhop.run(scenario(plugin(tmp_path / "text.so")))
    empty = compiled("int other(void) { return 1; }\n", tmp_path / "empty.so")
    with pytest.raises(skyhop.ControlError, match=r"does not export the function skyhop_cc_plugin\(\)"):
        skyhop.run(scenario(plugin(empty)))
    null = compiled("void *skyhop_cc_plugin(void) { return 0; }\n", tmp_path / "null.so")
    with pytest.raises(skyhop.ControlError, match=r"skyhop_cc_plugin\(\) returned no table"):
        skyhop.run(scenario(plugin(null)))
    undefined = compiled(
        "void missing(void); void *skyhop_cc_plugin(void) { missing(); return 0; }\n", tmp_path / "u.so"
    )
    with pytest.raises(skyhop.ControlError, match=r"not a library that this machine can load: u?.*missing"):
        skyhop.run(scenario(plugin(undefined)))


def test_parameters_reach_the_plug_in_and_unknown_ones_are_refused(build: Build) -> None:
    library = build(
        create='if (host->parameter(host->context, "order", 7) != 3) return 1;'
        'if (host->parameter(host->context, "share", 0.25) != 0.25) return 2;'
    )
    assert skyhop.run(scenario(plugin(library, order=3))).flows["goodput_bps"][0] > 0
    with pytest.raises(skyhop.ControlError, match=r"create: it returned the error 1"):
        skyhop.run(scenario(plugin(library)))
    with pytest.raises(skyhop.ControlError, match=r'there is no parameter "rank": the plug-in takes order, share'):
        skyhop.run(scenario(plugin(library, order=3, rank=4)))
    with pytest.raises(skyhop.ScenarioError, match="parameters"):
        skyhop.scenario(scenario({"plugin": {"file": str(library), "parameters": {"order": "3"}}}))


def test_who_may_read_no_files_may_run_no_code(tmp_path: Path, build: Build) -> None:
    """Scenarios from the page and on workers: no library is accepted, and nothing of it runs."""
    mark = tmp_path / "mark"
    opening = f'__attribute__((constructor)) static void at_once(void) {{ fclose(fopen("{mark}", "w")); }}'
    library = build(more=opening)
    text = json.dumps(scenario(plugin(library)))
    named = json.dumps(scenario({"plugin": "libreno.so"}))
    stated = json.dumps(scenario({"plugin": {"file": "libreno.so", "sha256": "ab" * 32}}))
    empty = json.dumps(scenario({"plugin": ""}))
    for source, files in ((text, []), (text, [tmp_path]), (named, [tmp_path]), (stated, []), (empty, [library])):
        with pytest.raises(skyhop.ScenarioError, match="may not run code of its own"):
            _core.Scenario.from_json(source, files=files)
    # Where files are named one by one, they are those of controls in Python, too.
    (tmp_path / "mine.py").write_text("", encoding="utf-8")
    with pytest.raises(skyhop.ScenarioError, match="may not run code of its own"):
        _core.Scenario.from_json(json.dumps(scenario({"plugin": "mine.py"})), files=[tmp_path / "mine.py"])
    found = _core.Scenario.from_json(named, files=[library])
    assert not mark.exists(), "validation runs nothing"
    skyhop.run(found)
    assert mark.exists()


def test_the_page_runs_plug_ins_only_where_it_was_told_to(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skyhop.server import checks

    build()
    text = (
        'duration = "3 s"\nprofile = "rfc"\nlinks = [{ between = ["a", "b"], rate = "4 Mbit/s", delay = "50 ms" }]\n'
        'flows = [{ name = "f", from = "a", to = "b", application = "ftp",'
        ' tcp = { control = { plugin = "libreno.so" } } }]\n'
    )
    monkeypatch.delenv(checks.PLUGIN_CONTROLS, raising=False)
    monkeypatch.setenv(checks.PYTHON_CONTROLS, str(tmp_path))
    assert "may not run code of its own" in checks.check(text)["diagnostics"][0]["message"]
    monkeypatch.setenv(checks.PLUGIN_CONTROLS, str(tmp_path))
    assert checks.check(text)["ok"]


def test_other_transports_refuse_a_plug_in(build: Build) -> None:
    quic = scenario(None)
    quic["flows"][0] |= {"quic": {"stack": "quinn", "control": {"ours": plugin(build())}}}
    del quic["flows"][0]["tcp"]
    with pytest.raises(skyhop.ScenarioError, match=r"a plug-in runs inside Skyhop's own TCP only"):
        skyhop.scenario(quic)


def gentle(tmp_path: Path) -> tuple[dict[str, str], str]:
    """The sources of the howto by language, and its scenario."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", HOWTO.read_text(encoding="utf-8"), re.DOTALL)
    sources = dict(blocks)
    assert [language for language, _ in blocks] == ["c", "toml", "rust"]
    (tmp_path / "gentle.toml").write_text(sources["toml"], encoding="utf-8")
    return sources, HOWTO.read_text(encoding="utf-8")


def test_the_howto_in_c_does_what_it_says(tmp_path: Path) -> None:
    sources, text = gentle(tmp_path)
    (tmp_path / "gentle.c").write_text(sources["c"], encoding="utf-8")
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("    cc ")]
    assert "gentle.c -o libgentle.so" in line
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    options = line.split("-I")[0].split()[1:]
    command = ["cc", *options, *flags, f"-I{skyhop.include()}", "gentle.c", "-o", "libgentle.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = Skyhop(tmp_path)("check", "gentle.toml")
    assert done.returncode == 0, done.stderr
    done = Skyhop(tmp_path)("run", "gentle.toml", "--out", "out")
    assert (done.returncode, done.stdout) == (0, "out\n"), done.stderr
    reno = skyhop.run(tmp_path / "gentle.toml", overrides=['flows[0].tcp.control="reno"'])
    # As in test_own_control.py: sqrt((2 - b) / 2b) segments per round trip and root of the loss rate, b = 1/4 and 1/2.
    ratio = skyhop.load(tmp_path / "out").table("flows")["goodput_bps"][0] / reno.flows["goodput_bps"][0]
    assert ratio == pytest.approx((7 / 3) ** 0.5, rel=0.2)
    done = Skyhop(tmp_path)(
        "run", "gentle.toml", "--out", "bad", "--set", "flows[0].tcp.control.plugin.parameters.kept=2"
    )
    assert done.returncode == 1 and not (tmp_path / "bad").exists()
    assert 'libgentle.so of the flow "gentle": create: kept is a share between 0 and 1' in done.stderr


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc is installed")
def test_the_howto_in_rust_sends_the_same_packets_as_in_c(tmp_path: Path) -> None:
    sources, text = gentle(tmp_path)
    compiled(sources["c"], tmp_path / "libgentle.so")
    in_c = skyhop.run(tmp_path / "gentle.toml")
    shutil.copy(skyhop.include() / "skyhop_cc.rs", tmp_path)
    (tmp_path / "gentle.rs").write_text(sources["rust"], encoding="utf-8")
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("    rustc ")]
    subprocess.run([*line.split(), "-D", "warnings"], cwd=tmp_path, check=True)
    in_rust = skyhop.run(tmp_path / "gentle.toml")
    assert in_rust.scenario.hash != in_c.scenario.hash
    assert in_rust.manifest["records_hash"] == in_c.manifest["records_hash"]


def test_header_and_rust_lay_their_structs_out_alike(tmp_path: Path) -> None:
    """Offsets of all fields, from a C compiler, against the sums over the fields of skyhop_cc.rs."""
    rust = (skyhop.include() / "skyhop_cc.rs").read_text(encoding="utf-8")
    sizes = {"u32": 4, "i64": 8, "u64": 8, "f64": 8}
    names = {"Window": "window", "Host": "host", "Start": "start", "Ack": "ack", "Loss": "loss", "Sent": "sent",
             "Congestion": "congestion", "Table": "table"}  # fmt: skip
    checks = []
    for name, body in re.findall(r"pub struct (\w+) \{\n(.*?)\n\}", rust, re.DOTALL):
        struct, offset = f"skyhop_cc_{names.pop(name)}", 0
        for field, kind in re.findall(r"pub (\w+): (.+?),\n", body + "\n"):
            size = sizes.get(kind, 8)
            offset += -offset % size
            checks.append(f'_Static_assert(offsetof({struct}, {field}) == {offset}, "{struct}.{field}");')
            checks.append(f'_Static_assert(sizeof((({struct} *)0)->{field}) == {size}, "{struct}.{field}");')
            offset += size
        checks.append(f'_Static_assert(sizeof({struct}) == {offset + -offset % 8}, "{struct}");')
    assert not names and len(checks) > 60
    constants = dict(re.findall(r"pub const (\w+): \w+ = (-?\d+);", rust))
    for name in ("ABI", "NO_TIME", "LOSS", "ECN", "TIMEOUT"):
        checks.append(f'_Static_assert(SKYHOP_CC_{name} == {constants[name]}, "{name}");')
    (tmp_path / "layout.c").write_text("#include <stddef.h>\n#include <skyhop_cc.h>\n" + "\n".join(checks) + "\n")
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{skyhop.include()}", "layout.c"], cwd=tmp_path, check=True)
