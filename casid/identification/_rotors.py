"""What a fit tells of rotor inertias: drives measured behind the gear, rotors of the description that data refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from casid.errors import CasidError
from casid.identification._bounds import expected_rotors, known_rotors
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._feasible_fit import FeasibleFit, determined

#: Share of the expected rotor inertia below which a joint has none.
NONE = 0.1


@dataclass(frozen=True)
class RefusedRotor:
    """A rotor inertia of the description that the data contradict.

    Attributes
    ----------
    joint : str
    known, chosen : float
        Of the description, and of the fit [kg.m^2].
    growth : float
        By what share the norm of the residual grows with that of the description.
    """

    joint: str
    known: float
    chosen: float
    growth: float

    @property
    def text(self) -> str:
        """In words."""
        grown = f"residual +{100 * self.growth:.0f} % with it"
        return f"{self.joint}: {self.known:.4g} kg.m^2, chosen {self.chosen:.4g}, {grown}"


def refused_rotors(fits: ConsistentFits, feasible: FeasibleFit) -> tuple[RefusedRotor, ...]:
    """Rotor inertias of the description with which the best consistent fit is worse than plausible links may make it.

    Each in turn is held at its value; the others are free.
    """
    best, values = feasible.solution.objective, feasible.parameters
    joints = {f"Ia{k}": joint.name for k, joint in enumerate(fits.robot.coordinates, start=1)}
    found = []
    for name, known in known_rotors(fits.robot).items():
        if name not in feasible.model.parameter_names or not best > 0:
            continue
        try:
            growth = float(np.sqrt(fits.best(feasible.fit, {name: (known, known)}).solution.objective / best)) - 1.0
        except CasidError:
            continue  # no answer is no contradiction
        if growth > fits.share:
            found.append(RefusedRotor(joints[name], known, float(values[name]), growth))
    return tuple(found)


def behind_the_gear(feasible: FeasibleFit, expected: Mapping[str, float]) -> tuple[str, ...]:
    """Joints without rotor inertia by the data alone, where they are most of those whose rotor these determine.

    The 95 % interval of the unconstrained fit ends below a tenth of the expected inertia.
    """
    ends = {entry.name: entry.high for entry in determined(feasible.fit, feasible.values)}
    told = [name for name in expected if np.isfinite(ends[name])]
    without = [name for name in told if ends[name] < NONE * expected[name]]
    names = [joint.name for joint in feasible.model.robot.coordinates]
    return tuple(names[int(name[2:]) - 1] for name in without) if 2 * len(without) > len(told) else ()


def rotor_notes(fits: ConsistentFits, feasible: FeasibleFit) -> tuple[str, ...]:
    """Both as notes of a result."""
    notes = []
    refused = refused_rotors(fits, feasible)
    if refused:
        notes.append(
            f"the data refuse rotor inertias of the robot's file ({'; '.join(one.text for one in refused)}): check the "
            "torques' gains, the gear ratios, and whether a spring is missing"
        )
    none = behind_the_gear(feasible, expected_rotors(feasible.model, fits.largest_torques, known=False))
    if none:
        chosen = "; the values chosen are the plausible ones" if feasible.believable is not None else ""
        notes.append(
            f"these data alone show no rotor inertia at {', '.join(none)}, with 95 % less than a tenth of what geared "
            f"drives of such torques have: torques measured behind the gear, or direct drives{chosen}"
        )
    return tuple(notes)
