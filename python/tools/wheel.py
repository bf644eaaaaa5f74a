"""Builds the wheel, page included, and tries one in an empty environment.

`python wheel.py build` makes target/wheels/skyhop-….whl with maturin and looks into it. `python wheel.py try WHEEL`
installs it in a new environment without Rust and Node on the path, simulates a scenario, draws a figure and exports the
page, and says how long each took. Both end with exit code 1 where something is missing.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "target" / "wheels"

#: What a wheel needs beside its code in Python.
NEEDED = (
    "skyhop/_core.abi3.so", "skyhop/_core.pyi", "skyhop/py.typed", "skyhop/page/index.html", "skyhop/page/page.js",
    "skyhop/page/page.css", "skyhop/data/land.json", "skyhop/include/skyhop_cc.h", "skyhop/include/skyhop_cc.rs",
)  # fmt: skip

SCENARIO = """\
duration = "20 s"
profile = "rfc"
[records]
grid = "100 ms"
[[links]]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
[[flows]]
name = "f"
from = "a"
to = "b"
tcp = "newreno"
"""

FIGURE = "import skyhop; skyhop.run('scenario.toml').plot.cwnd().savefig('cwnd.svg')"

#: Seconds of CPU from the start of the installation to the first figure. Time by the clock is printed, too, but depends
#: on the network and on what else the machine does.
MOST_S = 60.0


def lacking(wheel: Path) -> list[str]:
    """What the wheel lacks, in words."""
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    found = [f"{name} is not in it" for name in NEEDED if name not in names]
    if "-abi3-" not in wheel.name:
        found.append("its name does not say abi3, so that it serves one version of Python only")
    sources = [name for name in sorted(names) if name.endswith((".rs", ".ts", ".pyc")) and name not in NEEDED]
    return found + [f"{name} does not belong in it" for name in sources]


def build() -> Path:
    """Builds the page and the wheel, and returns the path of the wheel."""
    subprocess.run(["make", "page"], cwd=ROOT, check=True)
    maturin = Path(sys.executable).with_name("maturin")
    # picoquic's sources would have to be fetched.
    subprocess.run([maturin, "build", "--release", "--locked", "--features", "noq", "--out", OUT], cwd=ROOT, check=True)
    return max(OUT.glob("skyhop-*.whl"), key=lambda path: path.stat().st_mtime)


def try_out(wheel: Path) -> list[str]:
    """The problems of a wheel in an empty environment, in words. Prints how long the steps take."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / "bin" / "python"
        # Neither cargo nor node: the environment's programs and the system's, without what a user added to the path.
        environment = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
        environment |= {
            key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "REQUESTS_"))
        }
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        begin = time.monotonic()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before_s = used.ru_utime + used.ru_stime
        steps: dict[str, list[str | Path]] = {
            "install": [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel.resolve()],
            "figure": [python, "-c", FIGURE],
            "run": [python.with_name("skyhop"), "run", "scenario.toml", "--out", "run"],
            "page": [python.with_name("skyhop"), "export", "run", "--html", "page"],
        }
        for step, command in steps.items():
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent_s = used.ru_utime + used.ru_stime - before_s
            print(f"{step}: after {time.monotonic() - begin:.1f} s, {spent_s:.1f} s of them CPU", flush=True)
            if done.returncode != 0:
                return [f"{step} failed: {done.stderr.strip()[-2000:]}"]
            if step == "figure" and spent_s > MOST_S:
                return [f"the first figure took {spent_s:.1f} s of CPU, more than {MOST_S:g} s"]
        made = [folder / "cwnd.svg", folder / "run" / "manifest.json", folder / "page" / "index.html"]
        return [f"{path.name} was not made" for path in made if not path.is_file()]


def main() -> int:
    """Builds or tries a wheel."""
    arguments = sys.argv[1:]
    if arguments == ["build"]:
        wheel = build()
        problems = lacking(wheel)
    elif len(arguments) == 2 and arguments[0] == "try" and Path(arguments[1]).is_file():
        wheel = Path(arguments[1])
        problems = lacking(wheel) or try_out(wheel)
    else:
        print("usage: wheel.py build | wheel.py try WHEEL", file=sys.stderr)
        return 2
    for problem in problems:
        print(f"{wheel.name}: {problem}", file=sys.stderr)
    print(wheel)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
