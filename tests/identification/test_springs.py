"""Springs and counterbalances, found by held-out error."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from casid.description import Inertial, Joint, Link, Robot
from casid.dynamics import Model
from casid.identification import Checks, ModelOptions, identify
from casid.identification._joint_terms import (
    FoundSpring,
    _fall,
    _falls,
    _forward,
    _located,
    _terms,
    _Trials,
    _weighed,
    spring_bounds,
)
from casid.regression import compress
from casid.retrieval.plausible import plausible_bodies
from casid.testing import blind, recording
from tests.helpers import first_joints

QUIET = Checks(verdict=False)


def recorded(robot, spring, **values):
    """A recording of an arm with friction, and with the springs of these terms."""
    model = Model(robot, ("viscous", "coulomb", "offset", "rotor", *spring))
    extras = {"fv": 2.0, "fc": 1.5, "fo": 0.2, "Ia": 0.3}
    named = [name for name in model.parameter_names if name[:2] in ("fv", "fc", "fo", "Ia", "ks")]
    terms = np.array([values.get(name, extras.get(name[:2], 0.0)) for name in named])
    x = model.parameters(robot.standard_parameters(), terms)
    data = recording(model, x, samples=500, seed=3, noise=0.5)
    size = np.sqrt((data.tau**2).mean(axis=0))
    return replace(data, tau=data.tau + 0.03 * size * np.tanh(3 * np.sin(2 * data.q) * data.dq / 0.5))


@pytest.mark.slow
@pytest.mark.claim("springs and counterbalances are found and named")
def test_a_counterbalance_is_found_and_the_arm_is_not_lighter(arm):
    name = arm.coordinates[2].name
    data = recorded(arm, (f"gravity_spring@{name}",), kss3=60.0, ksc3=-80.0)
    found = identify(blind(arm), data, processing=False, checks=QUIET)
    assert name in {spring.joint for spring in found.springs}
    own = next(spring for spring in found.springs if spring.joint == name)
    assert own.kind == "counterbalance" and own.after < own.before and own.sure > 1 and own.torque > 30
    assert any("counterbalance" in note for note in found.notes) and found.record()["springs"][0]["joint"]
    assert found.parameters["kss3"] == pytest.approx(60.0, abs=30) and found.feasible.believable.certified


@pytest.mark.claim("a counterbalanced lift does not make the arm light")
def test_a_counterbalanced_lift_has_its_weight(arm):
    body = Inertial(8.0, np.array([0.0, 0.0, 0.1]), np.diag([0.2, 0.2, 0.1]))
    up = np.array([0.0, 0.0, 1.0])
    lift = Joint("lift", "prismatic", -1, Link("column", inertial=body), placement=np.eye(4), axis=up)
    robot = Robot("lifted", (lift, *(replace(j, parent=j.parent + 1) for j in arm.joints)), gravity=arm.gravity)
    total = float(robot.standard_parameters()[9::10].sum())
    data = recorded(robot, (), fo1=-9.80665 * total, Ia1=0.0)  # it holds the whole arm
    found = identify(blind(robot), data, processing=False, checks=QUIET)
    assert found.standard_parameters[9::10].sum() == pytest.approx(total, rel=0.25)  # 9 kg where the offset is bounded
    assert found.parameters["fo1"] < -2.0 * np.abs(data.tau[:, 0]).max()


def test_none_is_looked_for_where_that_is_asked(arm):
    short = blind(first_joints(arm, 3))
    data = recorded(replace(short, joints=arm.joints[:3]), ())
    found = identify(short, data, processing=False, checks=QUIET, model=ModelOptions(springs=False))
    assert found.springs == () and "spring" not in " ".join(found.notes)
    again = identify(short, data, processing=False, checks=QUIET)
    assert again.springs == () and np.array_equal(found.feasible.values, again.feasible.values)


class Errors:
    """Trials whose error falls by what each joint's spring explains."""

    def __init__(self, **falls):
        self.falls = falls

    def errors(self, keys):
        left = 1.0 - sum(self.falls[joint] for _, joint in keys)
        return left * np.array([1.0, 1.1, 0.9, 1.05]) + 1e-3 * np.array([1, -1, 1, 0]) * len(keys)

    def divergence(self, keys):
        return 1.0


EVERY = [("spring", name) for name in "abc"]


def test_joints_are_added_until_the_rest_explains_nothing():
    found = _forward(Errors(a=0.1, b=0.5, c=0.0), EVERY, np.ones(4, bool))
    assert found == [("spring", "b"), ("spring", "a")]


class Scattered(Errors):
    """The same with a scatter of each joint's fall, and a divergence of each."""

    def __init__(self, scatter, divergences, **falls):
        super().__init__(**falls)
        self.scatter, self.divergences = scatter, divergences

    def errors(self, keys):
        scatter = sum((self.scatter * np.array([1, -1, 1, -1]) * (joint == "a") for _, joint in keys), np.zeros(4))
        return super().errors(keys) + scatter

    def divergence(self, keys):
        return sum(self.divergences[joint] for _, joint in keys)


@pytest.mark.parametrize(
    ("scatter", "divergences", "first"),
    [
        (0.2, {"a": 9.0, "b": 1.0, "c": 0.1}, "b"),  # as good within the scatter, with links more plausible
        (0.2, {"a": 1.0, "b": 9.0, "c": 0.1}, "a"),
        (0.0, {"a": 9.0, "b": 1.0, "c": 0.1}, "a"),  # surely better
    ],
)
def test_of_joints_that_explain_alike_the_one_with_plausible_links_is_taken(scatter, divergences, first):
    found = _forward(Scattered(scatter, divergences, a=0.55, b=0.5, c=0.0), EVERY, np.ones(4, bool))
    assert found[0] == ("spring", first)  # never c, which explains nothing


def test_the_finding_names_joint_torque_and_errors():
    one = FoundSpring("elbow", "counterbalance", 4.0, 2.5, 3.2, 120.0, 400.0)
    assert one.terms == ("spring_sine@elbow", "spring_cosine@elbow")
    assert one.text.startswith("a counterbalance at elbow") and "120 N.m" in one.text and "4.00 -> 2.50 %" in one.text
    other = replace(one, masses=(18.2, 1389.0))
    assert "with 1389 kg, 18.2 kg without it" in other.text and "4.00 -> 2.50 %" in other.text


class Alike:
    """Trials in which no spring changes the held-out error of consistent links, or every one raises it."""

    torques = _Trials.torques
    left_out = _Trials.left_out

    def __init__(self, model, datasets, rise=0.0):
        self.model, self.datasets, self.rise = model, datasets, rise

    def errors(self, keys):
        return np.array([1.0, 1.1, 0.9, 1.05]) + self.rise * len(keys) * np.array([1.0, 1.1, 0.9, 1.0])


@pytest.mark.claim("a counterbalance is found where consistent links hide it")
@pytest.mark.parametrize(("held", "found"), [(0.95, ["shoulder_lift_joint"]), (0.2, []), (-0.5, [])])
def test_a_counterbalance_without_which_the_links_would_weigh_nothing(arm, held, found):
    model, zero = Model(arm, ()), np.zeros(arm.n)
    joints = [joint.name for joint in arm.coordinates]
    every = [("counterbalance", name) for name in joints]
    poses = [np.eye(arm.n)[1] * angle for angle in (np.pi / 2, 0.0)]  # stretched out: what its second joint holds
    weight = [float(model.inverse_dynamics(q, zero, zero, arm.standard_parameters())[1]) for q in poses]
    data = recorded(arm, (f"gravity_spring@{joints[1]}",), kss2=-held * weight[0], ksc2=-held * weight[1])
    model = Model(blind(arm), ("viscous", "coulomb", "offset", "rotor", *(t for key in every for t in _terms(*key))))
    compressed, bodies = compress(model, [data]), plausible_bodies(blind(arm))
    made = _weighed(Alike(model, (data,)), compressed, bodies, every)
    assert [spring.joint for spring in made] == found
    for spring in made:
        assert spring.masses[0] < 0.5 * spring.masses[1] and spring.torque > 60.0 and spring.after < spring.before
    assert _weighed(Alike(model, (data,), 0.1), compressed, bodies, every) == ()  # the held-out error says no


@pytest.mark.parametrize(("ratio", "scatter", "taken"), [
    (1.16, 0.02, True), (1.14, 0.02, False),  # by an eighth of the error, which is the root of the squares
    (1.5, 0.31, True), (1.5, 0.6, False),  # beyond chance over four stretches
])  # fmt: skip
def test_a_spring_must_lower_the_error_by_an_eighth_and_surely(ratio, scatter, taken):
    """With logarithms of the gain 2 log(ratio) + s (1, -1, 1, -1), whose standard error is s / sqrt(3)."""
    way = scatter * np.array([1.0, -1.0, 1.0, -1.0])
    after = np.ones(4)
    before = after * ratio**2 * np.exp(way) / np.exp(way).mean()
    mean = 2 * np.log(ratio) - np.log(np.exp(way).mean())
    assert _fall(before, after).gain == pytest.approx(mean / (scatter / np.sqrt(3)))
    assert _falls(before, after) == taken
    assert not _falls(before, after, tried=1000)  # the best of so many is so good by chance


@pytest.mark.parametrize(("gain", "fewest"), [(2.4, 1), (2.9, 3), (6.0, 14)])
def test_the_best_of_several_must_be_surer(gain, fewest):
    """Student's quantiles of twelve stretches, shared out: 2.20, 2.59, 2.83 ... 3.67 of the best of 1, 2, 3 ... 14."""
    way = np.array([1.0, -1.0] * 6)
    after, before = np.ones(12), np.exp(gain / np.sqrt(11) + way)
    assert _fall(before, after).gain == pytest.approx(gain)
    assert [tried for tried in range(1, 15) if _falls(before, after, tried)] == list(range(1, fewest + 1))


def sprung(arm, masked=False):
    """Trials of the UR10e's first two joints on a recording, with links of any parameters: plain least squares."""
    robot = first_joints(arm, 2)
    names = [joint.name for joint in robot.coordinates]
    data = recorded(robot, (f"spring@{names[1]}",), ks2=40.0)
    if masked:
        mask = np.ones(data.tau.shape, bool)
        mask[: len(mask) // 2] = False
        data = replace(data, mask=mask)
    terms = ("viscous", "coulomb", "offset", "rotor")
    every = [(kind, name) for kind in ("spring", "counterbalance") for name in names]
    extended = compress(Model(blind(robot), (*terms, *(t for key in every for t in _terms(*key)))), [data])
    count = len(extended.model.parameter_names)

    class Plain:
        """As `Priced`, of an unconstrained problem."""

        problem = SimpleNamespace(columns=np.arange(count), values=lambda x: x)
        program = SimpleNamespace(divergence=lambda x, scale: float(x @ x))

        def found(self, squares, left_out, near):
            out = [extended.model.parameter_names.index(name) for name in left_out]
            kept = np.setdiff1d(np.arange(count), out)
            x = np.zeros(count)
            x[kept] = np.linalg.lstsq(squares.matrix[:, kept], squares.target, rcond=None)[0]
            return x

    made = _Trials.of(extended, np.array([0.5, 2.0]), [data], Plain(), 3)
    return extended, data, made, spring_bounds(extended), names


def test_held_out_errors_are_those_of_fits_to_the_other_parts(arm):
    """Recomputed from the samples: weighted least squares on the other stretches, squares of the plain residual."""
    extended, data, trial, _, names = sprung(arm)
    model, weights = extended.model, np.array([0.5, 2.0])
    blocks = np.array([np.array(model.base_regressor(*row)) for row in zip(data.q, data.dq, data.ddq, strict=True)])
    spans = [segment.spans[0] for segment in extended.segments]
    keys = [("spring", names[1])]
    out = trial.left_out(keys)
    kept = [i for i, name in enumerate(model.parameter_names) if name not in out]
    expected = np.zeros(len(spans))
    for part in range(3):
        rows = [slice(a, b) for i, (_, a, b) in enumerate(spans) if i % 3 != part]
        A = np.concatenate([(weights[:, None] * blocks[r]).reshape(-1, model.base.rank) for r in rows])
        b = np.concatenate([(weights * data.tau[r]).ravel() for r in rows])
        columns = model.base.K[:, kept]
        beta = columns @ np.linalg.lstsq(A @ columns, b, rcond=None)[0]
        for i, (_, first, last) in enumerate(spans):
            if i % 3 == part:
                expected[i] = ((data.tau[first:last] - blocks[first:last] @ beta) ** 2).sum()
    np.testing.assert_allclose(trial.errors(keys), expected / (data.tau**2).sum(), rtol=1e-5)
    assert trial.errors(keys).sum() < 0.2 * trial.errors(()).sum()
    assert set(out) == {"ks1", "kss1", "ksc1", "kss2", "ksc2"}


def test_springs_push_back_and_are_bounded(arm):
    _, data, _, bounds, _ = sprung(arm)
    most = bounds["kss1"][1]
    assert most >= 100 * np.abs(data.tau).max() / np.sqrt(2)
    for joint in (1, 2):
        assert bounds[f"ks{joint}"] == (0.0, most)
        assert bounds[f"kss{joint}"] == bounds[f"ksc{joint}"] == bounds[f"fo{joint}"] == (-most, most)
    assert not {"fv1", "fc1", "Ia1"} & set(bounds)


@pytest.mark.parametrize("masked", [False, True])
def test_the_torque_of_a_counterbalance_is_its_own_and_that_of_the_joint_is_the_rest(arm, masked):
    extended, data, trial, _, names = sprung(arm, masked)
    key = ("counterbalance", names[1])
    values = {column: 0.0 for column in extended.model.term_columns}
    index = extended.model.parameter_names.index
    values[index("kss2")], values[index("ksc2")], values[index("ks2")] = 40.0, -30.0, 1e6
    own = 40.0 * np.sin(data.q[:, 1]) - 30.0 * np.cos(data.q[:, 1])
    counted = np.ones(len(data), bool) if not masked else data.mask[:, 1]
    expected = np.abs(own[counted]).max(), np.abs((data.tau[:, 1] - own)[counted]).max()
    assert trial.torques(values, key) == pytest.approx(expected)
    assert not masked or expected[0] != np.abs(own).max()
    if not masked:  # 3 % of the torque is friction that no model has
        assert trial.values([("spring", names[1])])[index("ks2")] == pytest.approx(40.0, rel=0.1)


class Stretches(Errors):
    """The same on eight stretches, in two parts; what a spring explains is `only` on the stretches of one part."""

    folds = 2

    def __init__(self, only=None, **falls):
        super().__init__(**falls)
        self.only = only

    def errors(self, keys):
        fall = np.full(8, sum((self.falls[joint] for _, joint in keys), 0.0))
        if self.only is not None:
            fall[np.arange(8) % 2 != self.only] *= -1.0
        return 0.01 * (1.0 - fall) * np.array([1.0, 1.1, 0.9, 1.05, 1.2, 0.8, 1.0, 0.95])

    def values(self, keys):
        return {0: 1.0}

    def torques(self, values, key):
        return (7.0, 70.0)


def test_springs_are_located_with_the_errors_of_parts_they_were_not_chosen_on():
    trial = Stretches(a=0.0, b=0.6, c=0.0)
    bare = trial.errors(())
    (found,) = _located(trial, bare, EVERY)
    assert (found.joint, found.kind, found.torque, found.held) == ("b", "spring", 7.0, 70.0)
    assert found.before == pytest.approx(100 * np.sqrt(bare.sum()))
    assert found.after == pytest.approx(100 * np.sqrt(0.4 * bare.sum()))
    both = _located(Stretches(a=0.3, b=0.4, c=0.0), bare, EVERY)
    assert [one.joint for one in both] == ["b", "a"] and len({(one.before, one.after, one.sure) for one in both}) == 1
    assert _located(Stretches(a=0.0, b=0.1, c=0.0), bare, EVERY) == ()  # sure, and too little
    assert _located(Stretches(only=0, a=0.0, b=0.6, c=0.0), bare, EVERY) == ()  # on one part of the motion alone
