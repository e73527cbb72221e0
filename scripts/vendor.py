"""Fetch the page's libraries from npm into `frontend/vendor/`, or check what is there.

    python scripts/vendor.py            fetch every package at the version below and write vendor.json
    python scripts/vendor.py --check    compare the files with vendor.json and with this file, offline

To renew a library, change its version in PACKAGES, run the script, and put the new file names into
`frontend/js/lib.js`. npm is needed only for that, never to run or test Fireside.

The page has no build step and its Content-Security-Policy allows no inline import map, so the bare
names by which the libraries import one another (`from "preact"`) are replaced by relative file names
here, once. The recorded hashes are those of the results.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "frontend" / "vendor"
MANIFEST = "vendor.json"

SPECIFIER = re.compile(
    r"""(?P<head>\b(?:from|import)\s*\(?\s*)(?P<quote>["'])(?P<name>[\w@./-]+)(?P=quote)"""
)
SOURCE_MAP = re.compile(r"\n?//# sourceMappingURL=\S+")


class VendorError(Exception):
    """A library could not be fetched, or the files are not the recorded ones."""


@dataclass(frozen=True)
class Module:
    """One ES module taken out of a package: its import name, its path there, its name here."""

    specifier: str
    path: str
    stem: str


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    license: str
    modules: tuple[Module, ...]

    @property
    def license_file(self) -> str:
        return f"{self.modules[0].stem}-{self.version}.LICENSE.txt"

    def file(self, module: Module) -> str:
        return f"{module.stem}-{self.version}.js"


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "MIT",
        (
            Module("preact", "dist/preact.mjs", "preact"),
            Module("preact/hooks", "hooks/dist/hooks.mjs", "preact-hooks"),
        ),
    ),
    Package(
        "@preact/signals-core",
        "1.14.5",
        "MIT",
        (Module("@preact/signals-core", "dist/signals-core.mjs", "preact-signals-core"),),
    ),
    Package(
        "@preact/signals",
        "2.11.4",
        "MIT",
        (Module("@preact/signals", "dist/signals.mjs", "preact-signals"),),
    ),
    Package("htm", "3.1.1", "Apache-2.0", (Module("htm", "dist/htm.mjs", "htm"),)),
    Package(
        "@highlightjs/cdn-assets",
        "11.12.0",
        "BSD-3-Clause",
        (Module("highlight.js", "es/highlight.min.js", "highlight"),),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare only; exit status 1 on a difference")
    arguments = parser.parse_args()
    try:
        problems = list(check(VENDOR)) if arguments.check else renew(VENDOR)
    except VendorError as error:
        problems = [str(error)]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


def renew(folder: Path) -> list[str]:
    """Replace the folder's contents by freshly fetched files; returns what `check` says about them."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "vendor"
        fresh.mkdir()
        records = [record for package in PACKAGES for record in fetch(package, fresh)]
        manifest = {"renew": "Change a version in scripts/vendor.py and run it.", "files": records}
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(fresh, folder)
    return list(check(folder))


def fetch(package: Package, folder: Path) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        tarball, integrity = pack(package, Path(scratch))
        with tarfile.open(tarball) as archive:
            archive.extractall(scratch, filter="data")
        root = Path(scratch) / "package"
        shutil.copyfile(root / "LICENSE", folder / package.license_file)
        for module in package.modules:
            source = (root / module.path).read_text(encoding="utf-8")
            (folder / package.file(module)).write_text(adapt(source), encoding="utf-8")
    return [record(package, module, integrity, folder) for module in package.modules]


def pack(package: Package, folder: Path) -> tuple[Path, str]:
    """Download a package's tarball with npm; returns it with the integrity the registry states."""
    npm = shutil.which("npm")
    if npm is None:
        raise VendorError("npm is not installed; it is needed to renew the vendored libraries")
    command = [npm, "pack", "--json", f"{package.name}@{package.version}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise VendorError(f"npm pack {package.name}@{package.version} failed: {done.stderr.strip()}")
    # npm gives a list, from version 12 on a mapping by name.
    answer = json.loads(done.stdout)
    (description,) = answer.values() if isinstance(answer, dict) else answer
    tarball = folder / description["filename"]
    digest = "sha512-" + b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if digest != description["integrity"]:
        raise VendorError(f"{tarball.name} has {digest}, the registry states {description['integrity']}")
    return tarball, digest


def adapt(source: str) -> str:
    """The module with bare import names made relative and the pointer to a missing source map gone."""
    files = {module.specifier: package.file(module) for package in PACKAGES for module in package.modules}

    def relative(match: re.Match[str]) -> str:
        file = files.get(match["name"])
        return f"{match['head']}{match['quote']}./{file}{match['quote']}" if file else match[0]

    return SPECIFIER.sub(relative, SOURCE_MAP.sub("", source))


def record(package: Package, module: Module, integrity: str, folder: Path) -> dict[str, str]:
    return {
        "file": package.file(module),
        "name": package.name,
        "version": package.version,
        "license": package.license,
        "license_file": package.license_file,
        "source": f"npm:{package.name}@{package.version}/{module.path}",
        "integrity": integrity,
        "sha256": sha256(folder / package.file(module)),
    }


def check(folder: Path) -> Iterator[str]:
    """One line for everything in the folder that is not as recorded."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        yield f"{manifest} is missing: run scripts/vendor.py"
        return
    recorded = {entry["file"]: entry for entry in json.loads(manifest.read_text(encoding="utf-8"))["files"]}
    wanted = {package.file(module): package for package in PACKAGES for module in package.modules}
    licenses = {package.license_file for package in PACKAGES}
    present = {path.name for path in folder.iterdir()}
    for name in sorted(present ^ ({MANIFEST} | licenses | wanted.keys())):
        yield f"{name} is {'not listed in scripts/vendor.py' if name in present else 'missing'}"
    for name in sorted(recorded.keys() ^ wanted.keys()):
        yield f"{MANIFEST} and scripts/vendor.py disagree about {name}: run scripts/vendor.py"
    for name in sorted(present & wanted.keys() & recorded.keys()):
        yield from check_file(folder / name, recorded[name]["sha256"])


def check_file(path: Path, expected: str) -> Iterator[str]:
    if sha256(path) != expected:
        yield f"{path.name} was changed: its sha256 is {sha256(path)}, {MANIFEST} says {expected}"
    for match in SPECIFIER.finditer(path.read_text(encoding="utf-8")):
        if not match["name"].startswith("./") or not (path.parent / match["name"]).is_file():
            yield f"{path.name} imports {match['name']!r}, which the browser cannot resolve"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
