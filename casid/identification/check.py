"""Which links of a file are unphysical, by how much, and the nearest repair: URDF, robots, parameter files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from casid.description import load_robot
from casid.errors import DatasetError, RobotError
from casid.files import read_xml
from casid.identification.feasibility import nearest_consistent
from casid.inertia import (
    Consistency,
    consistency,
    from_standard,
    parameter_csv,
    read_parameters,
    standard_names,
    tensor,
    tensor_entries,
    to_standard,
)

Array = NDArray[np.float64]
_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True, eq=False)
class LinkCheck:
    """One link: its parameters, their margins, and the nearest consistent ones.

    Attributes
    ----------
    name : str
    parameters, repaired : ndarray, shape (10,)
        Standard parameters as given and repaired: mass and centre of mass are kept where they can be.
    state : Consistency
    """

    name: str
    parameters: Array
    repaired: Array
    state: Consistency

    @property
    def change(self) -> float:
        """Largest change of an entry of the inertia about the centre of mass [kg.m^2]."""
        return float(np.abs(from_standard(self.repaired)[2] - from_standard(self.parameters)[2]).max())


@dataclass(frozen=True, eq=False)
class FileCheck:
    """All links of a file, and the repaired file where its format allows one.

    Attributes
    ----------
    links : tuple of LinkCheck
    massless : tuple of str
        Links without mass and inertia (frames, sensors): not bodies, left alone.
    repaired_name, repaired : str, bytes
        Name and content of the repaired file.
    """

    links: tuple[LinkCheck, ...]
    massless: tuple[str, ...]
    repaired_name: str
    repaired: bytes

    @property
    def unphysical(self) -> tuple[LinkCheck, ...]:
        """The links that no real body can have."""
        return tuple(link for link in self.links if not link.state.full)


def check_links(names: Sequence[str], parameters: Array, margin: float = 1e-9) -> tuple[LinkCheck, ...]:
    """Check standard parameters, shape (10 n,), link by link."""
    tens = np.asarray(parameters, dtype=float).reshape(len(names), 10)
    repaired = nearest_consistent(tens, margin=margin).reshape(-1, 10)
    return tuple(
        LinkCheck(name, ten, fixed, consistency(ten)) for name, ten, fixed in zip(names, tens, repaired, strict=True)
    )


def check_file(name_or_path: str | Path, margin: float = 1e-9) -> FileCheck:
    """Check a URDF, a robot (shipped or TOML), or a parameter file.

    Parameters
    ----------
    name_or_path
        ``.urdf``; a robot's name or ``.toml``; a file of parameters (`casid.inertia.read_parameters`).
    margin
        Smallest principal second moment of a repaired link [kg.m^2].

    Raises
    ------
    RobotError, DatasetError
        If the file cannot be read, or holds no inertial values.
    """
    path = Path(name_or_path)
    if path.suffix.lower() == ".urdf":
        return _check_urdf(path, margin)
    if path.suffix.lower() in (".json", ".csv", ".npy"):
        given = read_parameters(path)
        if not given.n:
            raise DatasetError(f"{path.name}: no standard parameters Lxx1 ... m1")
    else:
        given = load_robot(name_or_path).parameters
    links = check_links(given.link_names, given.standard, margin)
    repaired = np.concatenate([link.repaired for link in links])
    changed = given.with_values(dict(zip(standard_names(given.n), repaired, strict=True)))
    return FileCheck(links, (), f"{path.stem}_repaired.csv", parameter_csv(changed))


def _check_urdf(path: Path, margin: float) -> FileCheck:
    """Every ``inertial`` element by itself; the repair touches nothing else of the file."""
    root = read_xml(path, "URDF", RobotError, comments=True)
    names, tens, elements, massless = [], [], [], []
    for link in root.iter("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        name = link.get("name", "?")
        mass, inertia = _attribute(inertial, "mass", ("value",), name), _attribute(inertial, "inertia", _ENTRIES, name)
        if not mass[0] and not any(inertia):
            massless.append(name)
            continue
        names.append(name)
        tens.append(
            to_standard(mass[0], np.zeros(3), tensor(inertia))
        )  # in the inertial frame: the origin does not matter
        elements.append(inertial)
    if not names:
        raise RobotError(f"'{path.name}' has no link with mass and inertia")
    links = check_links(names, np.concatenate(tens), margin)
    for check, inertial in zip(links, elements, strict=True):
        if np.array_equal(check.parameters, check.repaired):
            continue
        mass_value, _, matrix = from_standard(check.repaired)
        mass_element, inertia_element = inertial.find("mass"), inertial.find("inertia")
        assert mass_element is not None and inertia_element is not None
        mass_element.set("value", repr(mass_value))
        for key, value in zip(_ENTRIES, tensor_entries(matrix), strict=True):
            inertia_element.set(key, repr(float(value)))
    return FileCheck(
        links,
        tuple(massless),
        f"{path.stem}_repaired.urdf",
        ElementTree.tostring(root, encoding="utf-8", xml_declaration=True),
    )


def _attribute(inertial: ElementTree.Element, tag: str, keys: Sequence[str], link: str) -> list[float]:
    element = inertial.find(tag)
    try:
        values = [] if element is None else [float(element.attrib[key]) for key in keys]
    except (KeyError, ValueError) as error:
        raise RobotError(f"link '{link}': <{tag}> of its inertial: {error}") from error
    if element is None or not all(math.isfinite(value) for value in values):
        raise RobotError(f"link '{link}': its inertial needs a <{tag}> with finite {', '.join(keys)}")
    return values
