"""Shipped robots beside their published tables."""

from __future__ import annotations

import csv
import math
import os
import re
import warnings
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import Inertial, load_robot
from casid.errors import RobotError
from casid.inertia import consistency, tensor, tensor_entries
from problems.spatial_2r import TRUE_BODIES
from tests.description.conftest import rpy_matrix

SHIPPED = {
    "kuka_iiwa": 7, "panda": 7, "puma560": 6, "spatial_2r": 2, "stanford": 6, "three_link": 3, "tx40": 6, "ur10e": 6,
    "wam7": 7,
}  # fmt: skip


#: Links without nominal values, and why they have none stands in the file.
WITHOUT = {"spatial_2r": 2, "three_link": 3, "stanford": 6, "puma560": 6, "tx40": 1}


DATA = Path(os.environ.get("CASID_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def rows(name):
    """Rows of a table of the data folder."""
    if not (DATA / name).is_file():
        pytest.skip(f"needs {name} of the data folder: set CASID_DATA to it")
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_robot_loads_without_a_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load_robot(name)
    assert (robot.name, robot.n) == (name, SHIPPED[name])
    assert robot.gravity.tolist() == [0, 0, -9.80665]
    assert len(robot.source) >= 2
    assert sum(link.inertial is None for link in robot.links) == WITHOUT.get(name, 0)
    for link in robot.links:
        if link.inertial is not None:
            assert consistency(link.inertial.standard_parameters()).full


@pytest.mark.parametrize("name", SHIPPED)
def test_quarter_turns_are_exact(name):
    for joint in load_robot(name).joints:
        for placement in (joint.placement, joint.link_placement):
            rotation = placement[:3, :3]
            assert set(np.abs(rotation).ravel()) == {0.0, 1.0}  # all nine robots have orthogonal axes
        assert set(np.abs(joint.axis)) == {0.0, 1.0}


def test_missing_inertials_are_named():
    with pytest.raises(RobotError, match=r"robot 'tx40' gives no inertial values .* for link link_6;"):
        load_robot("tx40").standard_parameters()
    with pytest.raises(RobotError, match="for links link1, link2, link3;"):
        load_robot("three_link").standard_parameters()


def flange_of_panda(q):
    """Plain product of Craig's matrices of Gaz et al. 2019, Fig. 1."""
    table = [
        (0, 0, 0.333), (0, -math.pi / 2, 0), (0, math.pi / 2, 0.316), (0.0825, math.pi / 2, 0),
        (-0.0825, -math.pi / 2, 0.384), (0, math.pi / 2, 0), (0.088, math.pi / 2, 0), (0, 0, 0.107),
    ]  # fmt: skip
    total = np.eye(4)
    for (a, alpha, d), theta in zip(table, [*q, 0.0], strict=True):
        ca, sa, ct, st = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
        rotation = [[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]]
        total = total @ np.vstack([np.c_[rotation, [a, -sa * d, ca * d]], [0, 0, 0, 1]])
    return total


def test_panda_kinematics():
    q = np.array([0.1, -0.4, 0.7, -1.9, 0.3, 2.2, -0.5])
    placement = casid.Model(load_robot("panda")).frame_placement("flange")(q)
    np.testing.assert_allclose(np.array(placement), flange_of_panda(q), atol=1e-14)


def test_panda_limits():
    limits = load_robot("panda").limits
    assert limits.lower.tolist() == [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    assert limits.upper.tolist() == [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    assert limits.velocity.tolist() == [2.175] * 4 + [2.61] * 3
    assert limits.acceleration.tolist() == [15, 7.5, 10, 12.5, 15, 20, 20]
    assert limits.jerk.tolist() == [7500, 3750, 5000, 6250, 7500, 10000, 10000]
    assert limits.effort.tolist() == [87] * 4 + [12] * 3


@pytest.mark.parametrize(
    ("name", "tables", "column"),
    [
        ("panda", ("panda_table_VIII_masses_coms", "panda_table_IX_inertias"), "p_hat"),
        ("spatial_2r", ("spatial_2R_table_VII_parameters",), "p_real"),
    ],
)
def test_published_parameters_and_bounds(name, tables, column):
    robot = load_robot(name)
    if name == "spatial_2r":  # the simulated robot's bodies belong to the problem: no solver starts there
        assert all(link.inertial is None for link in robot.links)
        bodies = [Inertial(mass, np.array(com), np.diag(inertia)) for mass, com, inertia in TRUE_BODIES]
        joints = [replace(j, link=replace(j.link, inertial=b)) for j, b in zip(robot.joints, bodies, strict=True)]
        robot = replace(robot, joints=tuple(joints))
    published = [row for table in tables for row in rows(f"published/{table}.csv")]
    assert len(published) == 10 * robot.n
    for row in published:
        kind, k, axes = row["parameter"][0], int(row["parameter"][1]) - 1, row["parameter"][2:]
        link = robot.links[k]
        if kind == "m":
            value, bounds = link.inertial.mass, link.bounds.mass
        elif kind == "c":
            value, bounds = (v["xyz".index(axes)] for v in (link.inertial.com, link.bounds.com))
        else:
            entry = ["xx", "xy", "xz", "yy", "yz", "zz"].index(axes)
            value, bounds = tensor_entries(link.inertial.inertia_com)[entry], link.bounds.inertia_com[entry]
        assert bounds.tolist() == [float(row["lower"]), float(row["upper"])], row["parameter"]
        if row[column]:  # c1z of p_hat is left open by the paper
            assert value == float(row[column]), row["parameter"]
    assert robot.total_mass == {"panda": (16, 20), "spatial_2r": (1, 15)}[name]


def test_wam_is_the_published_table():
    robot = load_robot("wam7")
    cad = {row["parameter"]: float(row["value"]) for row in rows("wam7/cad_parameters.csv")}
    names = ("L_{}xx", "L_{}xy", "L_{}xz", "L_{}yy", "L_{}yz", "L_{}zz", "l_{}x", "l_{}y", "l_{}z", "m_{}")
    expected = [cad[name.format(k + 1)] for k in range(7) for name in names]
    np.testing.assert_allclose(robot.standard_parameters(), expected, rtol=1e-9, atol=1e-16)
    for joint, row in zip(robot.joints, rows("wam7/kinematics_dh_standard.csv"), strict=True):
        alpha, a, d = (float(row[key]) for key in ("alpha_rad", "a_m", "d_m"))
        expected = [[1, 0, 0, a], [0, math.cos(alpha), -math.sin(alpha), 0], [0, math.sin(alpha), math.cos(alpha), d]]
        np.testing.assert_allclose(joint.link_placement[:3], expected, atol=1e-15)
    for k, row in enumerate(rows("published/wam_table_4_8_com_bounds.csv")):
        for axis in range(3):
            printed = [float(row[f"{side}_{'xyz'[axis]}_m"]) for side in ("lower", "upper")]
            free = (k, axis) == (2, 1)  # contradicts the CAD value, see the file
            assert robot.links[k].bounds.com[axis].tolist() == ([-math.inf, math.inf] if free else printed)


@pytest.mark.parametrize("name", ["ur10e", "tx40"])
def test_placements_and_inertials_of_the_tables(name):
    robot = load_robot(name)
    kinematics, inertials = rows(f"{name}/kinematics_urdf.csv"), rows(f"{name}/nominal_inertials.csv")
    moving = [row for row in kinematics if row["type"] != "fixed"]
    of_link = {row["link"]: row for row in inertials}

    def numbers(row, *keys):
        return [float(row[key]) for key in keys]

    for joint, row in zip(robot.joints, moving, strict=True):
        assert (joint.name, joint.link.name, joint.type) == (row["joint"], row["child"], row["type"])
        assert joint.axis.tolist() == numbers(row, "axis_x", "axis_y", "axis_z")
        assert joint.placement[:3, 3].tolist() == numbers(row, "x_m", "y_m", "z_m")
        expected = rpy_matrix(*numbers(row, "roll_rad", "pitch_rad", "yaw_rad"))
        np.testing.assert_allclose(joint.placement[:3, :3], expected, atol=1e-10)
        body = joint.link.inertial
        if body is None:
            assert not any(numbers(of_link[joint.link.name], "Ixx", "Iyy", "Izz"))
            continue
        row = of_link[joint.link.name]
        turn = rpy_matrix(*numbers(row, "inertia_frame_roll", "inertia_frame_pitch", "inertia_frame_yaw"))
        six = tensor(numbers(row, "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"))
        assert [body.mass, *body.com] == numbers(row, "mass_kg", "com_x_m", "com_y_m", "com_z_m")
        np.testing.assert_allclose(body.inertia_com, turn @ six @ turn.T, atol=1e-12)
    assert {row["child"] for row in kinematics if row["type"] == "fixed"} <= {frame.name for frame in robot.frames}


def test_kuka_equals_its_urdf():
    try:
        path = metadata.distribution("pybullet").locate_file("pybullet_data/kuka_iiwa/model.urdf")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the extra peers")
    ours, theirs = load_robot("kuka_iiwa"), load_robot(str(path))
    for a, b in zip(ours.joints, theirs.joints, strict=True):
        assert (a.name, a.type, a.parent, a.link.name) == (b.name, b.type, b.parent, b.link.name)
        assert (a.placement == b.placement).all()
        assert (a.axis == b.axis).all()
    np.testing.assert_array_equal(ours.standard_parameters(), theirs.standard_parameters())
    for key in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_allclose(getattr(ours.limits, key), getattr(theirs.limits, key), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "three_link",  # Sousa 2014, Table 6.1
            "Lyy1 + Lyy2 + Lyy3 + m3; Lxx2 - Lyy2 - m3; Lxy2; Lxz2 - lz3; Lyz2; Lzz2 + m3; lx2 + m3; ly2; Lxx3 - Lyy3; "
            "Lxy3; Lxz3; Lyz3; Lzz3; lx3; ly3",
        ),
        (
            "spatial_2r",  # Gaz et al. 2019, supplement, pi_2R with its erratum (item 6)
            "Lyy1 + Lyy2 - 0.64*m2; Lxx2 - Lyy2 + 0.64*m2; Lxy2; Lxz2 - 0.8*lz2; Lyz2; Lzz2 - 0.64*m2; lx2 + 0.8*m2; "
            "ly2",
        ),
    ],
)
def test_geometry_gives_the_published_groupings(name, expected):
    assert "; ".join(casid.Model(load_robot(name)).base.expressions) == expected


def test_puma_stands_as_published():
    """At q = 0 the wrist of the Puma 560 is at (a2 + a3, -d3, d4) (Corke and Armstrong-Helouvry 1994)."""
    model = casid.Model(load_robot("puma560"))
    wrist = np.array(model.forward_kinematics(np.zeros(6))[-1])
    np.testing.assert_allclose(wrist[:3, 3], [0.4318 + 0.0203, -0.15005, 0.4318], atol=1e-15)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots_state_a_licence_as_an_spdx_expression(name: str) -> None:
    licence = load_robot(name).source["licence"]
    assert re.fullmatch(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*", licence)
