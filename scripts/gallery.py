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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.measure import process
from matplotlib import pyplot
from PIL import Image
from scipy.spatial import Delaunay

from casid.description import found, load_robot
from casid.dynamics import Model
from casid.inertia import from_standard, read_parameters
from casid.report import links_figure, shapes

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Widest picture on the page [pixels].
_WIDTH = 900
_MOVE = "casid excite panda --iterations 100 --ramp 0.5 --out motion"
_PLANT = "--term-values viscous=0.5,coulomb=0.2 --bandwidth 60 --noise 1e-5,1e-3,0.05"
_REHEARSE = f"casid simulate panda --trajectory motion/trajectory.toml {_PLANT} --out rehearsal"
_RECORD = f"casid simulate panda --duration 20 {_PLANT} --out run"  # this and the next as README has them
_IDENTIFY = "casid identify panda run/recording.npz --out result --toml robot.toml"
_OTHER = f"casid simulate panda --amplitude 0.8 {_PLANT} --seed 1 --out other"
_VALIDATE = "casid validate panda result/identification.json other/recording.npz --out validation"
_SOLVE, _TWO = "casid solve panda_retrieval --out out", "casid solve spatial_2r --out two"


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


PICTURES: tuple[Picture, ...] = (
    Picture("links", "The most plausible links of the Panda, retrieved from published coefficients.", _SOLVE,
            "out/links.png", "out/solution.json:objective"),
    Picture("fit", "Every coefficient, as published and as fitted.", _SOLVE, "out/fit.png",
            "out/solution.json:objective"),
    Picture("starts", "Twenty random starts: all end at the same certified optimum.",
            "casid solve panda_retrieval --starts 20 --out many", "many/starts.png", "many/solution.json:objective"),
    Picture("two_links", "A made-up robot of two joints whose centres of mass must lie inside given shapes.", _TWO,
            "two/links.png", "two/solution.json:objective"),
    Picture("two_fit", "Its base parameters.", _TWO, "two/fit.png", "two/solution.json:objective"),
    Picture("intervals", "How far the data pin each parameter down, with proven ends.",
            "casid intervals panda_retrieval --out intervals", "intervals/intervals.png", ""),
    Picture("excitation", "A designed motion within its limits.", _MOVE, "motion/motion.png",
            "motion/excitation.json:condition_number"),
    Picture("singular_values", "What that motion determines, and what not.", _MOVE, "motion/singular_values.png",
            "motion/excitation.json:condition_number"),
    Picture("deviations", "The standard deviations to expect from it.", _MOVE, "motion/deviations.png",
            "motion/excitation.json:standard_deviations"),
    Picture("rehearsal", "The motion under a controller, with friction.", _REHEARSE, "rehearsal/motion.png",
            "rehearsal/simulation.json:rms_error", (_MOVE,)),
    Picture("energy", "The energy balance of that simulation.", _REHEARSE, "rehearsal/energy.png",
            "rehearsal/simulation.json:rms_error", (_MOVE,)),
    Picture("torques", "Measured and predicted torques.", _IDENTIFY, "result/torques.png",
            "result/identification.json:joints.relative_error", (_RECORD,)),
    Picture("friction", "Friction over velocity.", _IDENTIFY, "result/friction.png",
            "result/identification.json:joints.rms", (_RECORD,)),
    Picture("base", "Base parameters, with deviations.", _IDENTIFY, "result/base_parameters.png",
            "result/identification.json:residual_ratio", (_RECORD,)),
    Picture("identified", "The identified links.", _IDENTIFY, "result/links.png",
            "result/identification.json:masses", (_RECORD,)),
    Picture("validation", "Torques of a motion that was not used.", _VALIDATE, "validation/torques.png",
            "validation/validation.json:joints.relative_error", (_RECORD, _IDENTIFY, _OTHER)),
    Picture("poses", "Twelve static poses of the KUKA iiwa that determine its gravity torques.",
            "casid excite kuka_iiwa --basis poses --poses 12 --starts 1 --out poses", "poses/motion.png",
            "poses/excitation.json:condition_number"),
)  # fmt: skip


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
