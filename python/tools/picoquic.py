"""Fetches the C sources of picoquic and picotls, which the feature `picoquic` compiles, into target/picoquic.

They come from the registry of Python packages: the source package of aiopquic has them. Its version and its hash stand
below; pip checks the hash. Nothing is fetched that is there already. `python picoquic.py FOLDER` fetches elsewhere: the
variable SKYHOP_PICOQUIC then names that folder to the build. `--features` is for the Makefile.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Where the build looks.
FOLDER = ROOT / "target" / "picoquic"

PACKAGE = "aiopquic"
VERSION = "0.6.1"
SHA256 = "72579146e0f22859a5a7c197246604fef460b9e1b578a2910156dff7679efd29"

#: Folders of the package that are taken, and the names that they get.
PARTS = {"third_party/picoquic": "picoquic", "third_party/picotls": "picotls"}

#: Written last: the folder is complete.
MARK = "complete"


def archive(folder: Path) -> Path:
    """The package, fetched by pip into `folder` and checked.

    Raises:
        SystemExit: pip's words, if the registry has no such package or it has other bytes.
    """
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    # pip prepares every source package, which needs the tools that would build it; they come as wheels. Only C is
    # compiled here, so that the package's own minimum of Python does not matter.
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-binary", PACKAGE, "--ignore-requires-python", "--require-hashes", "--dest", str(folder), "-r",
        str(wanted),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob("*.tar.gz"))
    if done.returncode != 0 or len(found) != 1:
        sys.exit(
            f"{PACKAGE} {VERSION}, which has picoquic's sources, cannot be fetched; `make build FEATURES=` builds "
            f"without picoquic. pip says: {done.stderr.strip()}"
        )
    if hashlib.sha256(found[0].read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{found[0].name} has another hash than {SHA256}")
    return found[0]


def unpack(package: Path, target: Path) -> None:
    """Puts picoquic and picotls into `target`, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch, tarfile.open(package) as content:
        whole = Path(scratch) / "whole"
        for member in content.getmembers():
            _, _, inside = member.name.partition("/")
            for part, name in PARTS.items():
                rest = Path(inside[len(part) + 1 :])
                source = content.extractfile(member) if member.isreg() and inside.startswith(part + "/") else None
                if source is None:
                    continue
                if ".." in rest.parts or rest.is_absolute():
                    sys.exit(f"{package.name} has a file outside of its folder: {member.name}")
                place = whole / name / rest
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(source.read())
        (whole / MARK).write_text(SHA256 + "\n", encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        try:
            whole.rename(target)
        except OSError:
            # Another process was faster.
            if not (target / MARK).exists():
                raise


def fetch(target: Path) -> None:
    """Fetches what is not there."""
    mark = target / MARK
    if mark.exists() and mark.read_text(encoding="utf-8").strip() == SHA256:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        unpack(archive(Path(folder)), target)
    print(f"picoquic's sources: {target}", file=sys.stderr)


def features(wanted: str) -> list[str]:
    """Parts of the engine for cargo's `--features`, from the Makefile's FEATURES.

    "default" is noq, and picoquic where its sources can be had. A list with commas is taken as it is; with picoquic
    in it, the sources are fetched.
    """
    names = ["noq", "picoquic"] if wanted == "default" else [name for name in wanted.split(",") if name]
    if "picoquic" in names and "SKYHOP_PICOQUIC" not in os.environ:
        try:
            fetch(FOLDER)
        except (SystemExit, OSError) as error:
            print(error, file=sys.stderr)
            if wanted == "default":
                print("The build goes on without picoquic; everything else works.", file=sys.stderr)
                names.remove("picoquic")
    return names


def main(arguments: list[str]) -> None:
    """`--features WANTED [CRATE]` prints arguments of cargo or maturin, for features of that crate."""
    if arguments[:1] == ["--features"]:
        crate = "".join(f"{name}/" for name in arguments[2:3])
        names = [crate + name for name in features(arguments[1] if len(arguments) > 1 else "default")]
        print(f"--features {','.join(names)}" if names else "")
    elif arguments[:1] and arguments[0].startswith("-"):
        sys.exit(f"{arguments[0]} is unknown. What there is:\n\n{__doc__}")
    else:
        fetch(Path(arguments[0]).resolve() if arguments else FOLDER)


if __name__ == "__main__":
    main(sys.argv[1:])
