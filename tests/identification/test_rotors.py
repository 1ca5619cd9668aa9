"""What a fit tells of rotor inertias: drives measured behind the gear, and rotors of the file that data refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.identification import Checks, Constraints, ModelOptions, identify
from casid.testing import recording

TERMS = ("viscous", "rotor")
LINKS = np.array([0.1, 0, 0, 0.1, 0, 0.1, 0.1, 0, 0, 2.0] * 2)


def identified(rotors, known=(0.0, 0.0), **options):
    """An arm of two joints with these rotor inertias, and a file that knows some."""
    robot = casid.load_robot("spatial_2r")
    model = casid.Model(robot, TERMS)
    true = model.parameters(LINKS, np.ravel([(0.4, rotors[0]), (0.3, rotors[1])]))
    data = recording(model, true, noise=0.01)
    joints = tuple(replace(j, terms={"Ia": v} if v else {}) for j, v in zip(robot.joints, known, strict=True))
    made = identify(
        replace(robot, joints=joints), data, model=ModelOptions(terms=TERMS), processing=False,
        checks=Checks(folds=0, verdict=False), **options,
    )  # fmt: skip
    return made, [note for note in made.notes if "rotor inertia" in note]


@pytest.mark.claim("a rotor inertia of the robot's file that the data refuse is named")
def test_a_rotor_of_the_file_that_the_data_refuse_is_named():
    _, notes = identified((0.5, 0.4), known=(0.5, 8.0))
    (note,) = notes
    names = [joint.name for joint in casid.load_robot("spatial_2r").joints]
    assert f"{names[1]}: 8 kg.m^2" in note and names[0] not in note
    assert identified((0.5, 0.4), known=(0.5, 0.4))[1] == []
    _, held = identified((0.5, 0.4), known=(0.5, 8.0), constraints=Constraints(bounds={"Ia2": (8.0, 8.0)}))
    assert not any("refuse" in note for note in held)  # compared with a fit that already has it: no growth


@pytest.mark.claim("data that leave no room for rotor inertia are said to be of torques behind the gear")
@pytest.mark.parametrize(("share", "told"), [(0.0, True), (1.0, False)])
def test_torques_behind_the_gear_are_named(robot, share, told):
    """Rotors of none, and of the size that is expected."""
    model = casid.Model(robot, TERMS)
    rotors = [0.3, 1.2, 0.3, 0.6, 0.15, 0.15, 0.05]
    true = model.parameters(robot.standard_parameters(), np.ravel([(0.5, share * rotor) for rotor in rotors]))
    data = recording(model, true, samples=800, noise=0.02)
    checks = Checks(folds=0, verdict=False)
    made = identify(robot, data, model=ModelOptions(terms=TERMS), processing=False, checks=checks)
    notes = [note for note in made.notes if "behind the gear" in note]
    assert bool(notes) == told
    if told:
        assert robot.joints[6].name in notes[0]
