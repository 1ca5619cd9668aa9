"""Pictures of the gallery, each by one command: run them all, or one, and write docs/gallery.

python scripts/gallery.py                # all, docs/gallery.md and, as numbers, docs/gallery/numbers.json
python scripts/gallery.py links starts   # these
python scripts/gallery.py first          # the first picture of README and site, docs/arm_links.png
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.measure import ROOT, process
from matplotlib import pyplot
from PIL import Image
from scipy.spatial import Delaunay

from casid.description import found, load_robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import read_toml
from casid.inertia import from_standard, read_parameters
from casid.report import links_figure, shapes

DOCS = ROOT / "docs"
#: Widest picture on the page [pixels].
_WIDTH = 900
_PLANT = "--term-values viscous=0.5,coulomb=0.2 --bandwidth 60 --noise 1e-5,1e-3,0.05"


@dataclass(frozen=True)
class Picture:
    """A picture, its command, where it is then, one number that it shows, and what has to be there before.

    Attributes
    ----------
    number : str
        ``FILE:KEY`` of a JSON file; ``KEY.INNER`` of a table in it, or of each entry of a list.
    """

    name: str
    words: str
    command: str
    file: str
    number: str
    before: tuple[str, ...] = ()


def _pictures() -> Iterator[Picture]:
    """Those of ``gallery.toml``."""
    table = read_toml(Path(__file__).with_suffix(".toml"), "gallery", DatasetError)
    for name, entry in table["pictures"].items():
        named = (entry.pop("command"), *entry.pop("before", ()))
        command, *before = (table["commands"][one].replace("{plant}", _PLANT) for one in named)
        yield Picture(name=name, command=command, before=tuple(before), **entry)


PICTURES = tuple(_pictures())


def run(command: str, folder: Path) -> float:
    """Run a command of casid in a folder; its seconds.

    Raises
    ------
    RuntimeError
        If it fails, with its message.
    """
    start = time.perf_counter()
    process(sys.executable, "-m", *command.split(), folder=folder)
    return time.perf_counter() - start


def draw(names: Sequence[str], folder: Path, target: Path | None = None) -> dict[str, float]:
    """Run what the named pictures need, each command once; seconds of each command.

    Parameters
    ----------
    folder
        Where the commands run and leave their results.
    target
        Where the pictures go, smaller; ``None``: nowhere.
    """
    seconds: dict[str, float] = {}
    for picture in PICTURES:
        if picture.name not in names:
            continue
        for command in (*picture.before, picture.command):
            if command not in seconds:
                seconds[command] = run(command, folder)
        image = Image.open(folder / picture.file).convert("RGB")
        if target is not None:
            if image.width > _WIDTH:
                image = image.resize((_WIDTH, round(image.height * _WIDTH / image.width)))
            image.quantize(255, Image.Quantize.MAXCOVERAGE, kmeans=1).save(
                target / f"{picture.name}.png", optimize=True
            )
    return seconds


def number(picture: Picture, folder: Path) -> list[float]:
    """What a picture shows, from the files beside it."""
    if not picture.number:
        table = np.genfromtxt(folder / "intervals" / "intervals.csv", delimiter=",", skip_header=1, usecols=(1, 2))
        return [float(value) for value in table.ravel()]
    file, keys = picture.number.split(":")
    found = json.loads((folder / file).read_text(encoding="utf-8"))
    for key in keys.split("."):
        found = [entry[key] for entry in found] if isinstance(found, list) else found[key]
    values = [value[0] for value in found.values()] if isinstance(found, dict) else found
    return [float(value) for value in np.atleast_1d(values)]


#: An arm of example-robot-data, with meshes and bodies, and its manufacturer's home position [deg].
_ARM, _HOME = "package://example-robot-data/robots/kinova_description/robots/kinova.urdf", (275, 167, 57, 241, 83, 75)


def first(folder: Path, target: Path | None = None) -> list[tuple[str, bool, float]]:
    """An arm whose bodies lie within its own meshes, identified by the default command from a simulated recording.

    Parameters
    ----------
    folder
        Where the commands run.
    target
        The picture; ``None``: none.

    Returns
    -------
    list
        Of each link: name, whether its centre of mass lies in the convex hull of its mesh, and the share of the
        ellipsoid of its body that does.

    Raises
    ------
    RuntimeError
        If the package example-robot-data is missing, or a command fails.
    """
    file = found(_ARM, None, ())
    if file is None:
        raise RuntimeError("needs the package example-robot-data (pip install casid[peers])")
    run(f"casid simulate {file} --duration 20 {_PLANT} --bandwidth 60 --out arm", folder)
    run(f"casid identify {file} arm/recording.npz --out arm_identified", folder)
    robot = load_robot(file)
    parameters = np.asarray(read_parameters(folder / "arm_identified" / "identification.json", Model(robot)).standard)
    if target is not None:
        title = "Kinova Jaco 2: identified links in the shapes of its robot file"
        figure = links_figure(robot, parameters, np.radians(_HOME), title)
        figure.savefig(target, dpi=90)
        pyplot.close(figure)
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((10_000, 3))
    ball *= rng.uniform(size=(len(ball), 1)) ** (1 / 3) / np.linalg.norm(ball, axis=1, keepdims=True)
    rows = []
    for shape in shapes(robot):
        if shape.joint < 0:
            continue
        mass, centre, inertia = from_standard(parameters[10 * shape.joint : 10 * shape.joint + 10])
        values, axes = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
        body = centre + ball * np.sqrt(5 * np.maximum(values, 0) / mass) @ axes.T
        inside = Delaunay(shape.vertices).find_simplex(np.vstack([centre, body])) >= 0
        rows.append((robot.links[shape.joint].name, bool(inside[0]), float(inside[1:].mean())))
    return rows


def page() -> str:
    """The gallery as Markdown: the pictures that have been drawn."""
    parts = [
        "# Gallery\n\nEvery picture with the commands that make it, the last one its own; `python scripts/gallery.py` "
        "makes them all anew.\n"
    ]
    for picture in PICTURES:
        if (DOCS / "gallery" / f"{picture.name}.png").is_file():
            lines = "\n".join(dict.fromkeys((*picture.before, picture.command)))
            shown = f"![{picture.words}](gallery/{picture.name}.png)"
            parts.append(f"## {picture.words}\n\n```sh\n{lines}\n```\n\n{shown}\n")
    parts.append(
        "Next: [looking at results](viewer.md), [from your recording to your controller](recording_to_controller.md).\n"
    )
    return "\n".join(parts)


def main() -> None:
    names = sys.argv[1:] or [picture.name for picture in PICTURES]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    target = DOCS / "gallery"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if names in (["first"], [picture.name for picture in PICTURES]):
            for name, centre, share in first(Path(folder), DOCS / "arm_links.png"):
                where = "inside" if centre else "OUTSIDE"
                sys.stdout.write(f"{name}: centre of mass {where} its mesh, {100 * share:.0f} % of its body\n")
        if names == ["first"]:
            return
        for command, spent in draw(names, Path(folder), target).items():
            sys.stdout.write(f"{spent:6.1f} s  {command}\n")
        kept = target / "numbers.json"
        shown = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        shown |= {picture.name: number(picture, Path(folder)) for picture in PICTURES if picture.name in names}
        kept.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
