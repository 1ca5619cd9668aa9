"""The library of identified robots: regenerates its entries, ``robots/identified/NAME.toml``, and its page.

    python scripts/library.py ur10_salerno --data DIR   # one entry; DIR: the folder of recordings, default CASID_DATA
    python scripts/library.py --list
    python scripts/library.py --page                    # docs/identified_robots.md, from the entries as they are

An entry is a robot file with a table ``[identified]``: where the numbers come from, under which licence, hashes of the
recordings, the verdict, errors, intervals, and the command that made it. Recordings are read, never copied; there are
entries of those only whose licence allows what is derived from them to be handed on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.measure import ROOT, data_folder
from libraries import ENTRIES, Found

from casid.description import LinkBounds, Robot, description_of, identified_names, identified_record, load_robot
from casid.description.formats._toml import Toml, assignments
from casid.errors import DatasetError
from casid.files import read_toml
from casid.version import __version__

FOLDER = ROOT / "robots" / "identified"
PAGE = ROOT / "docs" / "identified_robots.md"


def bare(robot: Robot, name: str, source: dict[str, str]) -> Robot:
    """The robot under another name, without the bounds of its description and without its file."""
    joints = tuple(replace(joint, link=replace(joint.link, bounds=LinkBounds())) for joint in robot.joints)
    return replace(robot, name=name, joints=joints, source=source, origin=None, total_mass=(0.0, float("inf")))


def rounded(value: object) -> object:
    """Numbers to six digits."""
    if not isinstance(value, tuple):
        return value
    return [float(f"{number:.6g}") + 0.0 for number in value]


def text_of(name: str, found: Found) -> str:
    """The file of an entry."""
    entry = read_toml(ROOT / "scripts" / "libraries" / "entries.toml", "library", DatasetError)[name]
    source = {key: entry[key] for key in ("licence", "kinematics")} | {"inertials": f"casid, {entry['source']}"}
    hashes = {file: hashlib.sha256((data_folder() / file).read_bytes()).hexdigest() for file in found.files}
    facts = {
        **{key: entry[key] for key in ("robot", "kind", "source", "licence")},
        "verdict": found.verdict,
        "error": found.error,
        "held_out": found.held_out,
        "unit": found.unit,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "version": __version__,
        "command": f"python scripts/library.py {name}" + (" --data DIR" if found.files else ""),
    }
    blocks = [["[identified]", *assignments({key: value for key, value in facts.items() if value is not None})]]
    tables: dict[str, Mapping[str, object]] = {"sha256": hashes, "intervals": found.intervals, "masses": found.masses}
    for table, values in tables.items():
        if values:
            entries = {key: rounded(value) for key, value in values.items()}
            blocks.append([f"[identified.{table}]", *assignments(entries)])
    body = Toml().write(description_of(bare(found.robot, name, source))).decode()
    head = f"# Written by scripts/library.py: {entry['robot']}.\n"
    return head + body + "\n" + "\n\n".join("\n".join(block) for block in blocks) + "\n"


def make(name: str, folder: Path = FOLDER) -> Path:
    """Regenerate an entry."""
    path = folder / f"{name}.toml"
    path.write_text(text_of(name, ENTRIES[name]()), encoding="utf-8")
    return path


def page() -> str:
    """Content of the page."""
    lines = (ROOT / "scripts" / "libraries" / "page.md").read_text(encoding="utf-8").splitlines()
    for name in identified_names():
        facts, robot = identified_record(name), load_robot(name)
        mass = sum(link.inertial.mass for link in robot.links if link.inertial)
        errors = [f"{facts[key]:.3g} {facts['unit']}" if key in facts else "-" for key in ("error", "held_out")]
        cells = (f"`{name}`", facts["robot"], facts["kind"], facts["licence"], f"{mass:.3g}", *errors, facts["date"])
        lines.append(f"| {' | '.join(cells)} |")
    for name in identified_names():
        facts = identified_record(name)
        lines += ["", f"## {name}", "", f"{facts['source']}.", "", f"- Verdict: {facts['verdict']}."]
        lines += [f"- Recording `{file}`, SHA-256 `{value}`." for file, value in facts.get("sha256", {}).items()]
        lines += [f"- `{facts['command']}`"]
    return "\n".join(lines).replace("..\n", ".\n") + "\n"


def main() -> None:
    """Regenerate entries, or the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder of recordings; default CASID_DATA")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the entries")
    parser.add_argument("--list", action="store_true", help="names of all entries")
    parser.add_argument("--page", action="store_true", help="write docs/identified_robots.md")
    arguments = parser.parse_args()
    if arguments.data is not None:
        os.environ["CASID_DATA"] = str(arguments.data)
    unknown = [name for name in arguments.names if name not in ENTRIES]
    if unknown:
        parser.error(f"there is no entry '{unknown[0]}'; there are {', '.join(ENTRIES)}")
    if arguments.list:
        sys.stdout.write("\n".join(ENTRIES) + "\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        sys.stdout.write(f"{make(name, arguments.out)}\n")
    if arguments.page:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
