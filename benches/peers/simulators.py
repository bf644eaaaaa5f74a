"""Skyhop, ns-2 and ns-3 as programs: getting them, starting them, reading what they measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
#: Debian's packages by peer; ns-3 itself is built from Debian's source package.
PACKAGES = {"ns-2": ["ns2"], "ns-3": ["g++", "cmake", "ninja-build"]}
#: Its libraries with logging compiled in, where the source cannot be had.
NS3_LIBRARIES = ["libns3-dev"]
#: -O3 for this processor, without assertions and logging: ns-3's own profile "optimized".
NS3_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=release", "-DNS3_NATIVE_OPTIMIZATIONS=ON", "-DNS3_ASSERT=OFF", "-DNS3_LOG=OFF",
    "-DNS3_TESTS=OFF", "-DNS3_EXAMPLES=OFF", "-DNS3_PYTHON_BINDINGS=OFF", "-DNS3_WARNINGS_AS_ERRORS=OFF",
)  # fmt: skip
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
    install([package for peer in sorted(peers) for package in PACKAGES[peer]])


def install(packages: list[str]) -> None:
    """Installs those of Debian's packages that are missing."""
    missing = [package for package in packages if not package_version(package)]
    if not missing:
        return
    command = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if not shutil.which("apt-get"):
        raise Unavailable(f"The peers come from Debian's packages ({', '.join(missing)}), and this is no Debian.")
    if os.geteuid() != 0:
        raise Unavailable(f"Missing: {', '.join(missing)}. As root: apt-get update && {command}")
    print(f"Installing {', '.join(missing)} ...", flush=True)
    for step in ("apt-get update", command):
        apt(step.split())


def apt(command: list[str], folder: Path | None = None) -> None:
    """Runs apt-get without questions."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)} failed:\n{done.stderr}")


def package_version(name: str) -> str | None:
    """The version of an installed Debian package."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name]
    if not shutil.which(query[0]):
        return None
    words = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
    return words[1] if len(words) == 2 and words[0] == "installed" else None


def build_ns3_program(folder: Path) -> Path:
    """Compiles chain.cc against ns-3: built from its source, or else Debian's libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    program, source = folder / "chain", HERE / "chain.cc"
    try:
        build = ns3_from_source(folder / "ns-3")
    except Unavailable as problem:
        print(f"{problem}\nns-3 cannot be built from its source, so Debian's libraries are used.", file=sys.stderr)
        install(NS3_LIBRARIES)
        build = None
    options = [f"-lns3-{module}" for module in NS3_MODULES]
    if build:
        (core,) = (build / "lib").glob("libns3*-core-*.so")
        libraries = [core.name.removeprefix("lib").removesuffix(".so").replace("-core-", f"-{m}-") for m in NS3_MODULES]
        options = [f"-I{build / 'include'}", f"-L{build / 'lib'}", f"-Wl,-rpath,{build / 'lib'}"]
        options += [f"-l{library}" for library in libraries]
    subprocess.run(["g++", "-std=c++17", "-O3", "-o", str(program), str(source), *options], check=True)
    return program


def ns3_from_source(folder: Path) -> Path:
    """The folder with ns-3's libraries and headers, built optimised from Debian's source package in four minutes."""
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print("Getting and building ns-3 ...", file=sys.stderr, flush=True)
        with tarfile.open(download_source("ns3", folder)) as archive:
            archive.extractall(folder, filter="data")
        (core,) = folder.glob("**/src/core/CMakeLists.txt")
        root, build = core.parent.parent.parent, folder / "cmake"
        modules = ";".join(NS3_MODULES)
        configure = ["cmake", "-G", "Ninja", "-S", str(root), "-B", str(build), f"-DNS3_ENABLED_MODULES={modules}"]
        with open(folder / "build.log", "w", encoding="utf-8") as log:
            for command in ([*configure, *NS3_OPTIONS], ["ninja", "-C", str(build), *(f"lib{m}" for m in NS3_MODULES)]):
                subprocess.run(command, check=True, stdout=log, stderr=subprocess.STDOUT)
        done.write_text(str(root / "build"), encoding="utf-8")
    return Path(done.read_text(encoding="utf-8"))


def download_source(package: str, folder: Path) -> Path:
    """The upstream archive of Debian's source package of this name, from the system's own servers of packages."""
    if not shutil.which("apt-get"):
        raise Unavailable("Sources of packages come from Debian's servers, and this is no Debian.")
    apt_folder = folder / "apt"
    for name in ("parts", "lists/partial", "cache"):
        (apt_folder / name).mkdir(parents=True)
    lists = [*Path("/etc/apt/sources.list.d").glob("*"), Path("/etc/apt/sources.list")]
    for path in (path for path in lists if path.suffix in (".sources", ".list") and path.exists()):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^Types:.*$", "Types: deb-src", re.sub(r"^deb ", "deb-src ", text, flags=re.M), flags=re.M)
        (apt_folder / "parts" / path.name).write_text(text, encoding="utf-8")
    places = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": apt_folder / "parts",
        "Dir::State::Lists": apt_folder / "lists",
        "Dir::Cache": apt_folder / "cache",
    }
    options = [word for key, value in places.items() for word in ("-o", f"{key}={value}")]
    apt(["apt-get", *options, "update"])
    apt(["apt-get", *options, "source", "--download-only", package], folder)
    return next(folder.glob(f"{package}_*.orig.tar.*"))


def ns3_build(program: Path) -> str:
    """How the ns-3 of a program was built: only a library with logging compiled in asks whether a component logs."""
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    library = Path(next(line.split()[2] for line in linked.splitlines() if "ns3" in line and "-internet" in line))
    logging = f"logging {'' if b'LogComponent9IsEnabled' in library.read_bytes() else 'not '}compiled in"
    if library.name.endswith("-optimized.so"):
        return f"{library.name.split('-')[0].removeprefix('lib')}, built optimised from Debian's source, {logging}"
    return f"Debian's libns3-dev {package_version('libns3-dev')}, {logging}"


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
