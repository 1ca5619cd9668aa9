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

from benchmarks.measure import data_folder
from libraries import ENTRIES, Found

from casid.description import LinkBounds, Robot, description_of, identified_names, identified_record, load_robot
from casid.description.formats._toml_writer import assignments, written
from casid.version import __version__

ROOT = Path(__file__).resolve().parents[1]
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
    entry = ENTRIES[name]
    source = {"licence": entry.licence, "kinematics": entry.kinematics, "inertials": f"casid, {entry.source}"}
    hashes = {file: hashlib.sha256((data_folder() / file).read_bytes()).hexdigest() for file in found.files}
    facts = {
        "robot": entry.robot,
        "kind": entry.kind,
        "source": entry.source,
        "licence": entry.licence,
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
    body = written(description_of(bare(found.robot, name, source)))
    head = f"# Written by scripts/library.py: {entry.robot}.\n"
    return head + body + "\n" + "\n\n".join("\n".join(block) for block in blocks) + "\n"


def make(name: str, folder: Path = FOLDER) -> Path:
    """Regenerate an entry."""
    path = folder / f"{name}.toml"
    path.write_text(text_of(name, ENTRIES[name].make()), encoding="utf-8")
    return path


def page() -> str:
    """Content of the page."""
    lines = [
        "# Identified robots",
        "",
        "Parameter sets that come with casid, each a robot of that name for every command:",
        "",
        "```sh",
        "casid robots                                          # lists them below the descriptions",
        "casid robots ur10_salerno --urdf ur10.urdf --mjcf ur10.xml",
        "casid simulate ur10_salerno --duration 10 --out run",
        "```",
        "",
        "`casid robots NAME` prints where an entry comes from, the hash of each recording, and the interval of each",
        "parameter. *Torques*: from a recording of torques or currents. *Commands*: from position commands and",
        "encoders. *Coefficients*: consistent bodies, plausible and certified, from the base parameters of a",
        "publication. *Bodies*: those of a publication. The error is that of the entry's own model on the recording it",
        "comes from, *held out* that on motion that was not used. Torques from currents are as good as the published",
        "torque constants, and so are the masses.",
        "",
        "Entries are made from recordings whose licence allows it; no recording ships. Those that state no licence",
        "(AR5, UR10e, Rokae, WAM and TX40 of the tests), or one that asks for the same (Panda, GPL-3.0), have none.",
        "Each entry is regenerated by its command. Generated by `python scripts/library.py --page`.",
        "",
        "| entry | robot | from | licence | mass [kg] | error | held out | date |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
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
