"""Skyhop, ns-2 and ns-3 as programs: getting them, starting them, reading what they measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
#: Debian's packages by peer; g++ compiles chain.cc.
PACKAGES = {"ns-2": ["ns2"], "ns-3": ["libns3-dev", "g++"]}
NS3_MODULES = ("applications", "internet", "network", "nix-vector-routing", "point-to-point", "core")


class Unavailable(Exception):
    """A tool is missing and cannot be installed here; the message says what to do."""


@dataclass(frozen=True)
class Measured:
    """What one run of one program gave."""

    cpu_s: float
    """From the mark to the end of the simulation."""
    process_cpu_s: float
    """User and system time of the whole process."""
    peak_rss_kib: int
    goodput_bps: float
    packet_hops: int | None = None
    """From the mark to the end; only of a run that counts."""
    queue_mean_packets: float | None = None


def run(command: list[str]) -> Measured:
    """Runs a program that prints one line of JSON."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with status {process.returncode}")
    found: dict[str, Any] = json.loads(text)
    return Measured(
        cpu_s=found["cpu_s"],
        process_cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_kib=found["peak_rss_kib"],
        goodput_bps=found["goodput_bps"],
        packet_hops=found["packet_hops"],
        queue_mean_packets=found["queue_mean_packets"],
    )


def install_peers(peers: set[str]) -> None:
    """Installs Debian's packages of these peers where they are missing."""
    packages = [package for peer in sorted(peers) for package in PACKAGES[peer]]
    missing = [package for package in packages if not package_version(package)]
    if not missing:
        return
    install = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if not shutil.which("apt-get"):
        raise Unavailable(f"The peers come from Debian's packages ({', '.join(missing)}), and this is no Debian.")
    if os.geteuid() != 0:
        raise Unavailable(f"Missing: {', '.join(missing)}. As root: apt-get update && {install}")
    print(f"Installing {', '.join(missing)} ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in ("apt-get update", install):
        done = subprocess.run(command.split(), env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{command} failed:\n{done.stderr}")


def package_version(name: str) -> str | None:
    """The version of an installed Debian package."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name]
    if not shutil.which(query[0]):
        return None
    words = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
    return words[1] if len(words) == 2 and words[0] == "installed" else None


def build_ns3_program(folder: Path) -> Path:
    """Compiles chain.cc against the installed ns-3."""
    folder.mkdir(parents=True, exist_ok=True)
    program, source = folder / "chain", HERE / "chain.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        libraries = [f"-lns3-{module}" for module in NS3_MODULES]
        subprocess.run(["g++", "-std=c++17", "-O3", "-o", str(program), str(source), *libraries], check=True)
    return program


def ns3_build(program: Path) -> str:
    """How the installed ns-3 was built: only a library with logging compiled in asks whether a component logs."""
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    library = next(line.split()[2] for line in linked.splitlines() if "ns3" in line and "-internet" in line)
    logging = b"LogComponent9IsEnabled" in Path(library).read_bytes()
    return f"Debian's libns3-dev {package_version('libns3-dev')}, logging {'' if logging else 'not '}compiled in"


def build_skyhop() -> Path:
    """Builds the benchmark in release mode.

    The Python module is named, with the features that `make build` gives it, so that the crates get the same ones:
    what `make build` compiled serves both. `--bin` leaves the module itself out.
    """
    wanted = os.environ.get("FEATURES", "default")
    tool = [sys.executable, "python/tools/picoquic.py", "--features", wanted, "skyhop-python"]
    features = subprocess.run(tool, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    packages = ["-p", "skyhop-benches", "-p", "skyhop-python", "--bin", "skyhop-benches"]
    packages += ["--bin", "ideal"]
    command = ["cargo", "build", "--quiet", "--release", "--locked", *packages, *features]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "skyhop-benches"


def cpu_model() -> str:
    """The processor and how many cores of it there are."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores" if models else "unknown"
