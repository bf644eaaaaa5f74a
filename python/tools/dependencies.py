"""Checks what the project depends on: is it used, may it be used, is it locked, and is anything known against it?

`python dependencies.py unused|licences|lock|advisories`, one or more of them. Each prints what it found and ends with a
line `N passed, N failed, N skipped`. What could not be looked at is skipped, in words, and never counts as passed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements-dev.lock"

#: Seconds that one look into a database of advisories may take.
_LOOK_S = 60

#: Packages that are run, not imported.
PROGRAMS = (
    "maturin", "ruff", "mypy", "pip-audit", "typos", "mkdocs", "mkdocs-material", "mkdocstrings-python",
)  # fmt: skip

#: Licences under which something may be part of a program under Apache-2.0, or make it: SPDX identifiers.
ALLOWED = frozenset({
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "OFL-1.1", "PSF-2.0", "Python-2.0", "Unicode-3.0", "Unlicense",
    "Zlib",
})  # fmt: skip

#: What packages of Python say in other words than SPDX's.
_WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "MIT license": "MIT",
    "BSD": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


class Findings:
    """What one check found."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def judge(self, problem: str | None) -> None:
        """One thing looked at, and what is wrong with it."""
        if problem is None:
            self.passed += 1
        else:
            self.failed.append(problem)

    def __str__(self) -> str:
        lines = [f"failed: {one}" for one in self.failed] + [f"skipped: {one}" for one in self.skipped]
        return "\n".join([*lines, f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"])


# Is it used?


def unused() -> Findings:
    """Every dependency of a crate, of the package and of the page is named in its sources."""
    found = Findings()
    for manifest in [
        *sorted((ROOT / "crates").glob("*/Cargo.toml")),
        ROOT / "tests/Cargo.toml",
        ROOT / "benches/Cargo.toml",
    ]:
        of_crate = tomllib.loads(manifest.read_text(encoding="utf-8"))
        main = "".join(_texts(manifest.parent, "*.rs", without=("tests", "examples", "benches")))
        # What only tests need stands in its own table, but a crate of tests has nothing else.
        everything = "".join(_texts(manifest.parent, "*.rs"))
        is_library = (manifest.parent / "src").is_dir()
        for table, text in (("dependencies", main if is_library else everything), ("dev-dependencies", everything)):
            for name in of_crate.get(table, {}):
                is_used = re.search(rf"\b{name.replace('-', '_')}\b", text)
                found.judge(None if is_used else f"{manifest.relative_to(ROOT)}: nothing uses {name}")
    python = "".join(text for folder in ("python", "studies", "tests") for text in _texts(ROOT / folder, "*.py"))
    for requirement in _required():
        # Programs, not modules.
        if requirement.name in PROGRAMS:
            continue
        module = requirement.name.replace("-", "_")
        is_used = re.search(rf"""(import|from) {module}\b|importorskip\("{module}\b|"-m", "{module}""", python)
        found.judge(None if is_used else f"pyproject.toml: nothing imports {requirement.name}")
    page = "".join(_texts(ROOT / "web/src", "*.ts")) + "".join(_texts(ROOT / "web/src", "*.css"))
    for name in json.loads((ROOT / "web/package.json").read_text(encoding="utf-8"))["dependencies"]:
        found.judge(None if f'"{name}' in page else f"web/package.json: nothing imports {name}")
    return found


def _texts(folder: Path, pattern: str, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Files of a folder, and modules of other folders that they take in by their path."""
    for path in sorted(folder.rglob(pattern)):
        if not set(path.relative_to(folder).parts[:-1]) & set(without):
            text = path.read_text(encoding="utf-8")
            yield text
            for other in re.findall(r'#\[path = "(\.\./[^"]+)"\]', text):
                yield (path.parent / other).read_text(encoding="utf-8")


def _required() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = {Requirement(one) for one in [*project["dependencies"], *project["optional-dependencies"]["dev"]]}
    return sorted(given, key=str)


# May it be used?


def licences() -> Findings:
    """Everything that is compiled, installed or bundled has a licence that goes with Apache-2.0."""
    found = Findings()
    for name, licence in [*_of_crates(), *_of_python(), *_of_page()]:
        found.judge(
            None if is_allowed(licence) else f"{name}: the licence {licence or 'is not given'} is not on the list"
        )
    return found


def is_allowed(expression: str) -> bool:
    """Whether licences of the list alone satisfy an SPDX expression. Crates once wrote `/` for OR."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    if not words:
        return False
    try:
        verdict, rest = _either(words)
    except IndexError:
        return False
    return verdict and not rest


def _either(words: list[str]) -> tuple[bool, list[str]]:
    verdict, rest = _all_of(words)
    while rest and rest[0] == "OR":
        other, rest = _all_of(rest[1:])
        verdict = verdict or other
    return verdict, rest


def _all_of(words: list[str]) -> tuple[bool, list[str]]:
    verdict, rest = _one(words)
    while rest and rest[0] == "AND":
        other, rest = _one(rest[1:])
        verdict = verdict and other
    return verdict, rest


def _one(words: list[str]) -> tuple[bool, list[str]]:
    if words[0] == "(":
        verdict, rest = _either(words[1:])
        if rest[0] != ")":
            raise IndexError
        return verdict, rest[1:]
    if words[1:2] == ["WITH"]:
        return " ".join(words[:3]) in ALLOWED, words[3:]
    return words[0] in ALLOWED, words[1:]


def _of_crates() -> Iterator[tuple[str, str]]:
    host = re.search(r"^host: (.*)$", _output(["rustc", "-vV"]), re.MULTILINE)
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    for package in json.loads(_output([*command, *(["--filter-platform", host[1]] if host else [])]))["packages"]:
        yield f"crate {package['name']} {package['version']}", package["license"] or ""


def _of_python() -> Iterator[tuple[str, str]]:
    for name in sorted(_locked()):
        try:
            about: Any = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            # It belongs to another version of Python or another system.
            continue
        classifiers = [
            one.rpartition(" :: ")[2] for one in about.get_all("Classifier", []) if one.startswith("License ::")
        ]
        said = about.get("License-Expression") or next(iter(classifiers), "") or about.get("License") or ""
        # Some give the whole text.
        first = said.strip().splitlines()[0].strip() if said.strip() else ""
        yield f"Python package {name}", _WORDS.get(first, first)


def _of_page() -> Iterator[tuple[str, str]]:
    lock = json.loads((ROOT / "web/package-lock.json").read_text(encoding="utf-8"))
    for path, package in lock["packages"].items():
        if path:
            yield f"npm package {path.rpartition('node_modules/')[2]}", str(package.get("license", ""))


# Is it locked?

_PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)((?: ;[^\\\n]*)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def _locked() -> dict[str, list[str]]:
    """The versions that the lock file has of each package."""
    versions: dict[str, list[str]] = {}
    for name, version, _, _ in _PIN.findall(LOCK.read_text(encoding="utf-8")):
        versions.setdefault(name, []).append(version)
    return versions


def lock() -> Findings:
    """The lock file has a version with hashes of all that pyproject.toml asks for, and no address."""
    found = Findings()
    text = LOCK.read_text(encoding="utf-8")
    locked = _locked()
    for requirement in _required():
        versions = locked.get(requirement.name.lower(), [])
        fits = any(requirement.specifier.contains(version) for version in versions)
        found.judge(None if fits else f"{LOCK.name} has no version that fits {requirement}: run `make lock`")
    pins = re.findall(r"^[A-Za-z0-9._-]+==", text, re.MULTILINE)
    complete = len(pins) == sum(len(versions) for versions in locked.values()) > 0
    found.judge(None if complete else f"{LOCK.name}: not every package has its hashes")
    found.judge(f"{LOCK.name} holds an address or a file" if re.search(r"://|^-|^\S+ @ ", text, re.MULTILINE) else None)
    found.judge(None if "uv pip compile" in text else f"{LOCK.name} does not say which command made it")
    for problem in [*_of_fuzzer(), None]:
        found.judge(problem)
    return found


def _of_fuzzer() -> Iterator[str]:
    """What the fuzzer's lock lacks. No other build reads it, so that it can fall behind the manifests unseen."""
    file = ROOT / "fuzz/Cargo.lock"
    hint = "run `cp Cargo.lock fuzz/ && cargo metadata --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null`"
    versions: dict[str, set[str]] = {}
    for package in tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]:
        versions.setdefault(package["name"], set()).add(package["version"])
    locked = tomllib.loads(file.read_text(encoding="utf-8"))["package"]
    for package in locked:
        name, version = package["name"], package["version"]
        if version not in versions.get(name, {version}):
            yield f"fuzz/Cargo.lock has {name} {version}, Cargo.lock another version: {hint}"
    needs = {package["name"]: {one.split()[0] for one in package.get("dependencies", [])} for package in locked}
    for manifest in [ROOT / "fuzz/Cargo.toml", *sorted((ROOT / "crates").rglob("Cargo.toml"))]:
        crate = tomllib.loads(manifest.read_text(encoding="utf-8"))
        name = crate["package"]["name"]
        if name not in needs:
            continue
        for wanted, how in crate.get("dependencies", {}).items():
            # The lock leaves out what is optional and belongs to a feature that the fuzzer does not switch on.
            if wanted not in needs[name] and not (isinstance(how, dict) and how.get("optional")):
                yield f"fuzz/Cargo.lock: {name} lacks {wanted}: {hint}"


# Is anything known against it?


def advisories() -> Findings:
    """No published advisory is about a version in use, as far as a database can be had."""
    found = Findings()
    for what, look in (
        ("crates", _against_crates),
        ("Python packages", _against_python),
        ("npm packages", _against_page),
    ):
        try:
            known = look()
        except _NoDatabase as error:
            found.skipped.append(f"advisories of {what}: {error}")
            continue
        found.judge(f"advisories of {what}: {'; '.join(known)}" if known else None)
    return found


class _NoDatabase(Exception):
    """No database could be asked; the text says why."""


def _against_crates() -> list[str]:
    if shutil.which("cargo-audit") is None:
        raise _NoDatabase("cargo-audit is not installed here (cargo install cargo-audit)")
    answer = _Answer(["cargo", "audit", "--json"], ROOT)
    if "vulnerabilities" not in answer.found:
        raise _NoDatabase(f"cargo-audit could not get its database: {answer.reason}")
    return [
        f"{one['package']['name']} {one['package']['version']}: {one['advisory']['id']} {one['advisory']['title']}"
        for one in answer.found["vulnerabilities"]["list"]
    ]


def _against_python() -> list[str]:
    if importlib.util.find_spec("pip_audit") is None:
        raise _NoDatabase("pip-audit is not installed here (pip install pip-audit)")
    # For packages with one version per Python it takes the versions of this Python.
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--no-deps",
               "--disable-pip", "--format", "json", "--progress-spinner", "off"]  # fmt: skip
    answer = _Answer(command, ROOT)
    packages = answer.found.get("dependencies", [])
    not_found = [one["name"] for one in packages if "skip_reason" in one]
    if not packages:
        raise _NoDatabase(f"pip-audit could not get its database: {answer.reason}")
    known = [f"{one['name']} {one['version']}: {bad['id']}" for one in packages for bad in one.get("vulns", [])]
    if not_found and not known:
        raise _NoDatabase(f"the package index here says nothing about {len(not_found)} of {len(packages)} packages")
    return known


def _against_page() -> list[str]:
    if shutil.which("npm") is None:
        raise _NoDatabase("npm is not here")
    answer = _Answer(["npm", "audit", "--json", "--package-lock-only"], ROOT / "web")
    if "vulnerabilities" not in answer.found:
        reason = _without_address(str(answer.found.get("message") or answer.reason))
        raise _NoDatabase(f"the registry here answers no audit: {reason}")
    return [f"{name} ({one['severity']})" for name, one in answer.found["vulnerabilities"].items()]


class _Answer:
    """What a program printed as JSON, or why it printed none."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.found: dict[str, Any] = {}
        self.reason = ""
        try:
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            self.reason = f"no answer within {_LOOK_S} s"
            return
        try:
            found = json.loads(ran.stdout)
        except ValueError:
            found = None
        if isinstance(found, dict):
            self.found = found
        lines = ran.stderr.strip().splitlines()
        self.reason = _without_address(lines[-1] if lines else "it gave no reason")


def _without_address(text: str) -> str:
    """Which registry is asked concerns only those who run this."""
    return re.sub(r"\S+://\S+", "its address", text)


def _output(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


CHECKS: dict[str, Callable[[], Findings]] = {
    "unused": unused,
    "licences": licences,
    "lock": lock,
    "advisories": advisories,
}


def main() -> int:
    """Exit code 1 when a check failed; a skipped check is not a failure."""
    code = 0
    for name in sys.argv[1:] or list(CHECKS):
        found = CHECKS[name]()
        print(found)
        code |= int(bool(found.failed))
    return code


if __name__ == "__main__":
    sys.exit(main())
