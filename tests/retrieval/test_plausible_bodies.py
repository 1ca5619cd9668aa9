"""Plausible bodies of a robot whose boxes are known: extents, masses, and which described values are believed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from casid.description import Frame, Inertial, Joint, Link, LinkBounds, Robot
from casid.inertia import from_standard
from casid.retrieval.plausible import DESCRIBED_ARMS, PRIORS, heaviest, plausible_bodies, robot_bodies
from casid.retrieval.plausible._bodies import skeleton_boxes, within_the_arm

G = 9.81


def placed(place: list[float], rotation: np.ndarray | None = None) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = place
    if rotation is not None:
        made[:3, :3] = rotation
    return made


#: A quarter turn about x: the second joint's axis is -y of the first link.
QUARTER = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def robot(*links: Link, tool: float = 0.2) -> Robot:
    """Reach ``0.5 + 0.2 + 0.1 + tool``; the second link's frame lies beyond its joint, as in standard DH."""
    links = links or (Link("upper"), Link("middle"), Link("lower"))
    joints = (
        Joint("a", "revolute", -1, links[0], axis=np.array([0.0, 0.0, 1.0])),
        Joint("b", "revolute", 0, links[1], placement=placed([0.3, 0.0, 0.4], QUARTER),
              axis=np.array([0.0, 1.0, 0.0]), link_placement=placed([0.0, 0.2, 0.0])),
        Joint("c", "revolute", 1, links[2], placement=placed([0.0, 0.0, 0.1]), axis=np.array([1.0, 0.0, 0.0])),
    )  # fmt: skip
    return Robot("three", joints, frames=(Frame("tool", 2, placed([tool, 0.0, 0.0])),))


def test_boxes_end_where_the_joints_sit() -> None:
    """Of an offset along the joint's axis each of its two links has half; one across it is the parent's."""
    made = robot()
    assert made.reach == pytest.approx(1.0)
    half = 0.04  # of the thickness, 0.08 of the reach
    # Joint b's axis is z of the first link: of its place (0.3, 0, 0.4), 0.4 lies along it. The second link's frame lies
    # 0.2 beyond, in z of the first link; seen from it, the joint is at y = -0.2 and the seat, halfway, at y = -0.4.
    expected = np.array(
        [
            [[0.0, 0.3], [0.0, 0.0], [0.0, 0.2]],
            [[0.0, 0.0], [-0.4, 0.0], [0.0, 0.1]],
            [[0.0, 0.2], [0.0, 0.0], [0.0, 0.0]],
        ]
    )
    np.testing.assert_allclose(skeleton_boxes(made), expected + np.array([-half, half]), atol=1e-12)
    np.testing.assert_allclose(skeleton_boxes(robot(tool=1.2))[2, 0], [-0.08, 1.28])  # a reach of 2
    alone = Robot("point", (Joint("a", "revolute", -1, Link("only")),))
    np.testing.assert_allclose(skeleton_boxes(alone)[0], np.tile([-0.04, 0.04], (3, 1)))  # no reach: of 1 m


def ellipsoid(edges: np.ndarray, mass: float) -> np.ndarray:
    """Inertia of a uniform one about its centre."""
    second = mass * (edges / 2) ** 2 / 5
    return np.diag(second.sum() - second)


def test_boxes_are_filled_by_ellipsoids_whose_mass_grows_with_the_root_of_the_volume() -> None:
    made, boxes = plausible_bodies(robot()), skeleton_boxes(robot())
    assert made.origins == ("skeleton",) * 3 and made.scaled.all() and not made.weighed
    for ten, box, share in zip(made.parameters.reshape(-1, 10), boxes, (1.0, 0.3, 0.2), strict=True):
        mass, com, inertia = from_standard(ten)
        edges = box[:, 1] - box[:, 0]
        assert mass == pytest.approx(share**0.4 * float(np.prod(edges / 0.1)) ** (1 / 3))
        np.testing.assert_allclose(com, box.mean(axis=1), atol=1e-12)
        np.testing.assert_allclose(inertia, ellipsoid(edges, mass), atol=1e-12)


def test_a_box_of_the_centre_of_mass_is_widened_by_half_and_ends_with_the_skeleton() -> None:
    bounds = LinkBounds(np.array([0.5, 8.0]), np.array([[0.1, 0.2], [-0.02, 0.02], [-0.5, 0.9]]))
    made = plausible_bodies(robot(Link("upper", bounds=bounds), Link("middle"), Link("lower")))
    assert made.origins == ("box of its centre of mass", "skeleton", "skeleton")
    mass, com, inertia = from_standard(made.parameters[:10])
    corners = np.array([[0.075, 0.225], [-0.03, 0.03], [-0.04, 0.24]])
    edges = corners[:, 1] - corners[:, 0]
    np.testing.assert_allclose(com, corners.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(inertia, ellipsoid(edges, mass), rtol=1e-9, atol=1e-12)
    assert mass == pytest.approx(float(np.prod(edges / 0.1)) ** (1 / 3))  # given bounds taper already


def inertial(mass: float, edges: list[float], com: list[float]) -> Inertial:
    return Inertial(mass, np.array(com), ellipsoid(np.array(edges), mass))


def described(*first: Inertial | None) -> Robot:
    """With the values of the first links given; the others are of about 1000 kg/m^3."""
    usual = [inertial(1.0, [0.1, 0.14, 0.15], [0.1, 0, 0]), inertial(2.0, [0.1, 0.16, 0.2], [0, -0.1, 0.0]),
             inertial(0.5, [0.1, 0.11, 0.09], [0.1, 0, 0])]  # fmt: skip
    values = [*first, *usual[len(first) :]]
    return robot(*(Link(name, value) for name, value in zip(("upper", "middle", "lower"), values, strict=True)))


def test_values_of_a_description_are_used_where_a_body_could_have_them() -> None:
    made = described()
    assert not robot_bodies(made).repaired
    np.testing.assert_allclose(robot_bodies(made).parameters, made.standard_parameters())
    np.testing.assert_allclose(plausible_bodies(made).parameters, made.standard_parameters())
    assert robot_bodies(robot()) is None


VOLUME = np.pi / 6 * 0.1 * 0.1 * 0.2
#: Half the diagonal of the first link's box.
DIAGONAL = math.sqrt(0.38**2 + 0.08**2 + 0.28**2) / 2


@pytest.mark.claim("one impossible link of a description is repaired, the others are used")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (inertial(31.0 * VOLUME, [0.1, 0.1, 0.2], [0, 0, 0]), ""),
        (inertial(29.0 * VOLUME, [0.1, 0.1, 0.2], [0, 0, 0]), "its density would be 29 kg/m^3"),
        (inertial(19900.0 * VOLUME, [0.1, 0.1, 0.2], [0, 0, 0]), ""),
        (inertial(20100.0 * VOLUME, [0.1, 0.1, 0.2], [0, 0, 0]), "its density would be 2.01e+04 kg/m^3"),
        (inertial(5.0, [0.1, 0.1, 5.98 * DIAGONAL], [0, 0, 0]), ""),
        (inertial(5.0, [0.1, 0.1, 6.02 * DIAGONAL], [0, 0, 0]), "it would be 1.44 m long"),
        (inertial(1.0, [0.1, 0.1, 0.2], [0.15, 2.98 * DIAGONAL, 0.1]), ""),
        (inertial(1.0, [0.1, 0.1, 0.2], [0.15, 3.02 * DIAGONAL, 0.1]), "its centre of mass is far from its joints"),
        (Inertial(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.3])), "no body has such moments of inertia"),
        (None, "the description has none"),
    ],
)
def test_values_that_no_link_can_have_are_named(value: Inertial | None, why: str) -> None:
    found = robot_bodies(described(value))
    assert found is not None
    assert found.reasons == ((why,) if why else ()) and found.repaired == ((0,) if why else ())
    assert found.parameters[:10].any() == (not why)


def test_torques_imply_the_mass_of_all_links() -> None:
    made = plausible_bodies(robot(), torques=[3.0, -40.0, 5.0])
    assert made.parameters[9::10].sum() == pytest.approx(3.2 * 40.0 / (G * 1.0), rel=1e-3) and made.weighed
    assert not plausible_bodies(robot(), torques=[0.0, 0.0, 0.0]).weighed


def test_a_body_is_shortened_to_one_and_a_half_half_diagonals() -> None:
    box = skeleton_boxes(robot())[0]
    long = inertial(2.0, [0.1, 0.2, 3.0], [0.1, 0.0, 0.05]).standard_parameters()
    mass, com, inertia = from_standard(within_the_arm(long, box))
    assert mass == pytest.approx(2.0) and com == pytest.approx([0.1, 0.0, 0.05])
    np.testing.assert_allclose(inertia, ellipsoid(np.array([0.1, 0.2, 3.0 * DIAGONAL]), 2.0), atol=1e-12)
    short = inertial(2.0, [0.1, 0.2, 2.99 * DIAGONAL], [0.1, 0.0, 0.05]).standard_parameters()
    assert within_the_arm(short, box) is short
    shortened = plausible_bodies(described(inertial(5.0, [0.1, 0.1, 5.9 * DIAGONAL], [0, 0, 0])))
    assert shortened.origins[0] == "description"
    np.testing.assert_allclose(
        from_standard(shortened.parameters[:10])[2], ellipsoid(np.array([0.1, 0.1, 3.0 * DIAGONAL]), 5.0), atol=1e-9
    )


@pytest.mark.parametrize("arm", DESCRIBED_ARMS, ids=lambda arm: arm.name)
def test_no_described_arm_exceeds_the_limit_of_its_reach(arm) -> None:
    """By a factor of two; areal mass and m g reach / tau both limit it."""
    held = arm.torque / 3.0 if math.isfinite(arm.torque) else math.inf
    assert arm.mass <= heaviest(arm.reach, held) / 2.0 * (1 + 1e-12)
    assert heaviest(1.0, 1e9) == pytest.approx(4.0 * heaviest(0.5, 1e9))
    assert heaviest(1.0, 1.0) == pytest.approx(0.5 * heaviest(0.5, 1.0)) == pytest.approx(0.5 * heaviest(1.0, 2.0))


def test_every_prior_has_its_data_and_what_it_moves() -> None:
    table = PRIORS
    assert len(table) >= 15 and all(entry.data and entry.moves for entry in table.values())
    assert table["TERMS"] == pytest.approx(0.1)
    set_on = np.log([3.82, 4.47, 2.30, 3.48, 2.34])  # m g reach / tau of the arms that its data name
    assert table["TORQUE_MASS"] == pytest.approx(float(np.exp(set_on.mean())), rel=0.02)
