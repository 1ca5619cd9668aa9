"""Grades of the robot models that Python packages ship, with casid's repair beside: ``docs/graded_models.md``.

    python scripts/graded_models.py WHEELS            # a folder of wheels; writes the page
    python scripts/graded_models.py WHEELS --download # first downloads the wheels of `PACKAGES` into it
    python scripts/graded_models.py WHEELS --only robosuite --limit 20

Every URDF, SDF and MJCF file with at least two moving joints is read and checked by the code of ``casid check``, each
in a process of its own with a time limit. Wheels are unpacked to a temporary folder, nothing is installed.
A model of which at least four fifths of the bodies repeat those of an earlier one of the package counts as its variant.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import ROOT, in_process
from rich.progress import track

import casid
from casid.description import load_description
from casid.errors import CasidError
from casid.identification.repair import check_file
from casid.version import __version__

PAGE = ROOT / "docs" / "graded_models.md"
#: Packages whose wheels hold robot models.
PACKAGES = (
    "brax", "dm_control", "example-robot-data", "fancy_gym", "genesis-world", "gymnasium-robotics", "mani_skill",
    "metaworld", "mujoco-mjx", "myosuite", "pybullet", "robosuite", "rtb-data", "safety-gymnasium",
)  # fmt: skip
#: Seconds that a model may take.
LIMIT = 30.0
#: Share of bodies that a variant has in common with an earlier model.
VARIANT = 0.8
_MOVING = re.compile(rb"""<joint\b[^>]*type\s*=\s*["'](?:revolute|continuous|prismatic)["']|<joint\b(?![^>]*type=)""")
_MJCF = re.compile(rb"<mujoco[\s>]")
_MJCF_JOINT = re.compile(rb"<(?:joint|freejoint)\b")


@dataclass(frozen=True)
class Grade:
    """What the check of a model found.

    Attributes
    ----------
    file : str
        Path inside the package.
    joints, bodies : int
    unphysical, isotropic, repeated : int
        Bodies that cannot exist; with three equal principal moments (often placeholders); with all ten parameters
        of another body, mirror images apart.
    verdict : str
        Of the dynamics, see `casid.identification.repair.repair`; or why the file was refused.
    change : float
        Largest relative change of a base parameter by the repair.
    read : bool
    """

    file: str
    joints: int = 0
    bodies: int = 0
    unphysical: int = 0
    isotropic: int = 0
    repeated: int = 0
    verdict: str = ""
    change: float = 0.0
    read: bool = True


def graded(path: Path, name: str) -> tuple[Grade, list[tuple[float, ...]]]:
    """Grade of one file, and its bodies' parameters to six digits."""
    joints = load_description(path).joints
    if sum(joint.type not in ("fixed", "floating") for joint in joints) < 2:
        return Grade(name), []
    free = [joint.name for joint in joints if joint.type == "floating"]
    robot, found = casid.load_robot(path, lock=free), check_file(path, lock=free)
    tens = np.array([link.parameters for link in found.links])
    keys = [tuple(float(f"{value:.5e}") for value in ten) for ten in tens]
    moments = [np.linalg.eigvalsh(casid.inertia.from_standard(ten)[2]) for ten in tens]
    isotropic = sum(bool(np.ptp(m) <= 1e-6 * abs(m).max()) for m in moments)
    verdict = found.repair.verdict if found.repair else ""
    change = found.repair.relative_base_change if found.repair and found.unphysical else 0.0
    counted = robot.n, len(found.links), len(found.unphysical), isotropic, len(keys) - len(set(keys))
    return Grade(name, *counted, verdict, change), keys


def within_limit(path: Path, name: str) -> tuple[Grade, list[tuple[float, ...]]]:
    """`graded` in a process of its own; what fails, a defect of the reader too, is a row of the page."""
    try:
        grade, keys = in_process(graded, path, name, limit=LIMIT)
        return grade, keys
    except (CasidError, TimeoutError, ChildProcessError) as error:
        return Grade(name, verdict=" ".join(str(error).split()), read=False), []
    except Exception as error:
        return Grade(name, verdict=f"{type(error).__name__}: {error}", read=False), []


def candidates(folder: Path) -> Iterator[Path]:
    """Robot files with at least two moving joints, or that include another file."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in (".urdf", ".sdf", ".xml") or not path.is_file():
            continue
        content = path.read_bytes()
        if _MJCF.search(content):
            if len(_MJCF_JOINT.findall(content)) >= 2 or b"<include" in content:
                yield path
        elif path.suffix.lower() != ".xml" and len(_MOVING.findall(content)) >= 2:
            yield path


def package(wheel: Path, limit: int | None) -> tuple[dict[str, str], list[Grade], int]:
    """Name, version and licence of a wheel; its grades; how many variants were left out."""
    grades: list[Grade] = []
    seen: list[set[tuple[float, ...]]] = []
    variants = 0
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            meta = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            about = BytesParser().parsebytes(archive.read(meta))
        licence = about["License-Expression"] or (about["License"] or "").strip().partition("\n")[0] or "not stated"
        facts = {"name": about["Name"], "version": about["Version"], "licence": licence[:40]}
        files = list(candidates(Path(folder)))[:limit]
        for path in track(files, f"{facts['name']} {facts['version']}"):
            grade, keys = within_limit(path, path.relative_to(folder).as_posix())
            bodies = set(keys)
            if bodies and any(len(bodies & other) >= VARIANT * max(len(bodies), len(other)) for other in seen):
                variants += 1
                continue
            if grade.read and grade.joints < 2:
                continue
            seen += [bodies] if bodies else []
            grades.append(grade)
    return facts, grades, variants


def page(found: list[tuple[dict[str, str], list[Grade], int]]) -> str:
    """Content of the page."""
    everything = [grade for _, grades, _ in found for grade in grades]
    read = [grade for grade in everything if grade.read]
    broken = [grade for grade in read if grade.unphysical]
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").format(
        models=len(everything), packages=len(found), read=len(read), broken=len(broken),
        infeasible=sum(grade.verdict == "infeasible" for grade in broken), version=__version__,
    )  # fmt: skip
    lines = text.splitlines()
    for facts, grades, variants in found:
        bad = sum(1 for grade in grades if grade.unphysical)
        refused = sum(1 for grade in grades if not grade.read)
        lines.append(
            f"| [{facts['name']}](https://pypi.org/project/{facts['name']}/) | {facts['version']} | "
            f"{facts['licence']} | {len(grades)} | {variants} | {refused} | {bad} |"
        )
    for facts, grades, _ in found:
        lines += ["", f"## {facts['name']}", ""]
        lines += ["| model | joints | bodies | unphysical | isotropic | repeated | dynamics | change |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
        for grade in grades:
            if grade.read:
                change = f"{grade.change:.1e}" if grade.unphysical else ""
                lines.append(
                    f"| {_text(_short(grade.file))} | {grade.joints} | {grade.bodies} | {grade.unphysical or ''} | "
                    f"{grade.isotropic or ''} | {grade.repeated or ''} | {grade.verdict} | {change} |"
                )
        left = [grade for grade in grades if not grade.read]
        lines += ["", "Not read:", ""] if left else []
        lines += [f"- {_text(_short(grade.file))}: {_text(grade.verdict[:160])}" for grade in left]
    return "\n".join(lines) + "\n"


def _short(file: str) -> str:
    """The last three parts of a path."""
    return "/".join(file.split("/")[-3:])


def _text(text: str) -> str:
    return re.sub(r"([\\|*_<>\[\]])", r"\\\1", text)


def download(folder: Path) -> None:
    """Wheels of all packages; one that cannot be had is named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d"]
        if subprocess.run([*command, str(folder), name], check=False).returncode:
            print(f"{name} could not be downloaded", file=sys.stderr)


def main() -> None:
    """Grade the wheels of a folder and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--download", action="store_true", help="first download the wheels of all packages")
    parser.add_argument("--only", nargs="+", default=[], help="packages whose names contain one of these")
    parser.add_argument("--limit", type=int, help="models of each package")
    parser.add_argument("--out", type=Path, default=PAGE)
    arguments = parser.parse_args()
    if arguments.download:
        download(arguments.wheels)
    wheels = sorted(arguments.wheels.glob("*.whl"))
    chosen = [w for w in wheels if not arguments.only or any(part in w.name.lower() for part in arguments.only)]
    if not chosen:
        parser.error(f"there is no wheel in '{arguments.wheels}'; --download fetches them")
    found: list[tuple[Any, ...]] = [package(wheel, arguments.limit) for wheel in chosen]
    arguments.out.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
