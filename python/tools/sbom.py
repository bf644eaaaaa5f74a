"""Writes target/sbom.json: what the program is made of, as CycloneDX 1.5 (ECMA-424), from the locks.

Crates come from Cargo.lock, packages of the page from web/package-lock.json, packages of Python from the environment in
which this runs, as far as pyproject.toml needs them without extras. Nothing is asked of a registry.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROOT = Path(__file__).resolve().parents[2]


def crates() -> list[dict[str, Any]]:
    """The crates of Cargo.lock that come from elsewhere, with their checksums."""
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    return [
        _component("cargo", one["name"], one["version"], sha256=one.get("checksum"))
        for one in packages
        if "source" in one
    ]


def page() -> list[dict[str, Any]]:
    """The packages that are part of the page; what only builds or tests it is left out."""
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return [
        _component("npm", path.rpartition("node_modules/")[2], one["version"], license_name=one.get("license"))
        for path, one in packages.items()
        if path and not one.get("dev") and not one.get("link") and "version" in one
    ]


def python() -> list[dict[str, Any]]:
    """The packages of Python that the program needs, and those that they need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo = [Requirement(text) for text in project["dependencies"]]
    found: dict[str, dict[str, Any]] = {}
    while todo:
        one = todo.pop()
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        about = importlib.metadata.metadata(one.name).json
        said = about.get("license_expression") or about.get("license")
        # Some packages put the whole text of their licence there.
        brief = said if isinstance(said, str) and len(said) < 60 else None
        found[name] = _component("pypi", name, str(about["version"]), license_name=brief)
        todo += [Requirement(text) for text in importlib.metadata.requires(one.name) or []]
    return list(found.values())


def _component(
    kind: str, name: str, version: str, *, sha256: str | None = None, license_name: str | None = None
) -> dict[str, Any]:
    # A scope of npm is written with its @ escaped (github.com/package-url/purl-spec).
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    made: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if sha256 is not None:
        made["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    if license_name is not None:
        made["licenses"] = [{"license": {"name": license_name}}]
    return made


def bill() -> dict[str, Any]:
    """The whole bill of materials, in the order of its references."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    components = {one["bom-ref"]: one for one in [*crates(), *page(), *python()]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "skyhop", "version": version}},
        "components": [components[reference] for reference in sorted(components)],
    }


def main() -> None:
    """Writes the file."""
    path = ROOT / "target" / "sbom.json"
    path.parent.mkdir(exist_ok=True)
    found = bill()
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{path}: {len(found['components'])} components")


if __name__ == "__main__":
    main()
