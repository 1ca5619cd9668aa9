"""Fewer operations for given parameters: an equivalent robot whose parameters are mostly zero.

Joint torques leave two things open. The origin of a joint's frame may lie anywhere on its axis; and every
change of the parameters within the null space of the base parameters leaves the torques as they are. Both freedoms are
used:

1. Every link frame becomes its joint frame with the axis along z, and slides along its axis where that saves operations
   (e.g. into the point where the axes of a spherical shoulder meet, so that no force is passed on below it).
2. In terms of the second moments ``Sigma = tr(L)/2 1 - L``, the parameters ``Szz lz m`` (revolute) or ``Sigma``
   (prismatic) and whatever else is redundant are regrouped into the others and become exact zeros. What can be moved of
   a link of a revolute joint is a mass distribution along the joint's axis, hence just ``Szz lz m``.
3. The frame of a link without children is turned about its axis until ``ly`` vanishes.
4. A mass is put back where it makes a first moment of the parent link vanish, if that saves operations.

The result has the same torques, mass matrix, Coriolis matrix and their derivatives; its links are not those of the
robot.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.description import Joint, Robot, transform
from casid.dynamics._base_parameters import regroup
from casid.dynamics._model import Model, Numbers, stacked_regressor
from casid.inertia import Parameters, express_in

LinkColumns = tuple[tuple[int, ...], ...]

#: Of a link's ten: ``Sxx Sxy Sxz Syy Syz Szz lx ly lz m``; those that a revolute joint lets go are kept last. The
#: second moments that a prismatic one lets go are regrouped into the link before it in any order.
_LAST = (5, 8, 9)
#: Masses put back may exceed the robot's largest parameter by this factor, not more: rounding errors grow with them.
_LARGEST = 50.0


def reduced(model: Model, parameters: Parameters | ArrayLike) -> Model:
    """An equivalent model with given parameters and as few operations as the steps above find.

    Parameters
    ----------
    model
        The model; its joint terms and gravity are kept.
    parameters
        As for `Model.parameters`.

    Returns
    -------
    Model
        Functions without the input ``pi``. What depends on the links themselves (kinematics, wrenches, energies) refers
        to moved frames: take it from the original model.
    """
    robot, values = _joint_frames(model, model.parameters(parameters))
    best = _Regrouping(model.like(robot), values, model)
    for k in range(len(robot.joints)):
        along = float(robot.joints[k].placement[:3, 3] @ robot.joints[k].placement[:3, 2])
        if abs(along) < ROUNDING:
            continue
        moved, moved_values = _slide(robot, values, k, -along, model.link_columns)
        candidate = _Regrouping(model.like(moved), moved_values, model)
        if candidate.cost < best.cost:
            robot, values, best = moved, moved_values, candidate
    if not _terms_depend_on_position(model):
        best.turn_last_links()
    best.put_back_masses()
    return best.model.parametrised(Numbers(best.values, best.offsets, model.robot))


def _terms_depend_on_position(model: Model) -> bool:
    symbols = model.symbols()
    return bool(ca.depends_on(symbols.term_torque(symbols.ddq), symbols.q))


def _joint_frames(model: Model, values: Array) -> tuple[Robot, Array]:
    """Link frames moved into the joint frames, the joint axes along z."""
    joints: list[Joint] = []
    frames: list[Array] = []  # link frame of the result in the original link frame
    for k, joint in enumerate(model.robot.joints):
        turned = transform(_rotation_to(joint.axis))
        before = np.eye(4) if joint.parent < 0 else frames[joint.parent]
        in_link = _inverse(joint.link_placement) @ turned
        frames.append(_tidy(in_link))
        back = _inverse(in_link)
        span = list(model.link_columns[k])
        values[span] = express_in(values[span], back[:3, :3], back[:3, 3])
        moved = _tidy(_inverse(before) @ joint.placement @ turned)
        joints.append(replace(joint, placement=moved, axis=np.array([0.0, 0.0, 1.0]), link_placement=np.eye(4)))
    return replace(model.robot, joints=tuple(joints), frames=()), values


def _rotation_to(axis: Array) -> Array:
    """A rotation whose third column is ``axis``, exact for the coordinate axes."""
    first = np.zeros(3)
    first[int(np.argmin(np.abs(axis)))] = 1.0
    first -= (first @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _inverse(placement: Array) -> Array:
    back = placement[:3, :3].T
    return transform(back, -back @ placement[:3, 3])


def _tidy(placement: Array) -> Array:
    """Entries within rounding of 0, 1, -1 made exact."""
    near = np.round(placement)
    rounded = (np.abs(placement - near) <= 2 * np.finfo(float).eps) & (np.abs(near) <= 1.0)
    return np.where(rounded, near + 0.0, placement)


def _slide(robot: Robot, values: Array, k: int, distance: float, columns: LinkColumns) -> tuple[Robot, Array]:
    """Joint frame k moved along its axis."""
    joints, values = list(robot.joints), values.copy()
    shift = transform(translation=[0.0, 0.0, distance])
    joints[k] = replace(joints[k], placement=_tidy(joints[k].placement @ shift))
    for c, child in enumerate(joints):
        if child.parent == k:
            joints[c] = replace(child, placement=_tidy(_inverse(shift) @ child.placement))
    span = list(columns[k])
    values[span] = express_in(values[span], np.eye(3), [0.0, 0.0, -distance])
    return replace(robot, joints=tuple(joints)), values


def _second_moments(model: Model) -> Array:
    """Matrix B (N x N) with ``(Sxx ... m, ...) = B (Lxx ... m, ...)``; on the diagonals ``S = tr(L)/2 - L``."""
    B = np.eye(len(model.parameter_names))
    diagonal = [0, 3, 5]
    for columns in model.link_columns:
        at = list(columns[:6])
        B[np.ix_(at, at)] *= -1.0
        B[np.ix_([at[i] for i in diagonal], [at[i] for i in diagonal])] = 0.5 - np.eye(3)
    return B


class _Regrouping:
    """The parameters of a model, redundant ones exchanged for zeros.

    ``beta = K p`` with ``p`` in terms of second moments: any choice of the dependent parameters gives the same torques
    if the independent ones follow, ``p_ind = beta - K_dep p_dep``.
    """

    def __init__(self, model: Model, values: Array, original: Model) -> None:
        self.model, self.original = model, original
        B = _second_moments(model)
        self.inverse = np.linalg.inv(B)
        last = [columns[i] for columns in model.link_columns for i in _LAST]
        last += [column for column, (term, _) in model.term_columns.items() if term.inertial]
        order = np.array([i for i in range(len(values)) if i not in last] + last)
        W = stacked_regressor(model) @ self.inverse
        base = regroup(W[:, order], [str(i) for i in order])
        self.independent = order[list(base.independent)]
        self.K = np.empty_like(base.K)
        self.K[:, order] = base.K
        self.beta = self.K @ (B @ values)
        self.moments = np.zeros(len(values))
        self.moments[self.independent] = self.beta
        self.offsets = np.zeros(model.n)
        self.cost = self._cost(self.moments)

    @property
    def values(self) -> Array:
        """Standard parameters; second moments that are zero stay so exactly in any arithmetic."""
        return self.inverse @ self.moments

    def _cost(self, moments: Array) -> int:
        numbers = Numbers(self.inverse @ moments, self.offsets, self.original.robot)
        return self.model.parametrised(numbers).inverse_dynamics.n_instructions()

    def turn_last_links(self) -> None:
        """Turn the frames of links without children about their axes: ``ly = 0``, where that saves operations."""
        if self.model.robot.coupled:
            return  # a turned frame is an offset of its joint's position, which other joints may follow
        parents = {joint.parent for joint in self.model.robot.joints}
        for k, joint in enumerate(self.model.robot.joints):
            span = list(self.model.link_columns[k])
            Sxx, Sxy, Sxz, Syy, Syz, Szz, lx, ly, lz, m = self.moments[span]
            if k in parents or joint.type != "revolute" or ly == 0.0:
                continue
            angle, length = np.arctan2(ly, lx), np.hypot(lx, ly)
            c, s = lx / length, ly / length
            before, cost, offsets = self.moments, self.cost, self.offsets
            self.moments, self.offsets = before.copy(), offsets.copy()
            self.moments[span] = [
                c * c * Sxx + 2 * c * s * Sxy + s * s * Syy,
                c * s * (Syy - Sxx) + (c * c - s * s) * Sxy,
                c * Sxz + s * Syz,
                s * s * Sxx - 2 * c * s * Sxy + c * c * Syy,
                c * Syz - s * Sxz,
                Szz, length, 0.0, lz, m,
            ]  # fmt: skip
            self.offsets[k] = angle
            self.cost = self._cost(self.moments)
            if self.cost >= cost:
                self.moments, self.cost, self.offsets = before, cost, offsets

    def put_back_masses(self) -> None:
        """Choose masses so that first moments of other links vanish, where that saves operations."""
        place = {c: (k, i) for k, columns in enumerate(self.model.link_columns) for i, c in enumerate(columns)}
        largest = _LARGEST * np.abs(self.moments).max()
        for mass in (columns[9] for columns in self.model.link_columns):
            if mass in self.independent:
                continue
            before = self.moments
            rows = [
                r for r in np.flatnonzero(self.K[:, mass]) if place.get(self.independent[r], (0, 0))[1] in (6, 7, 8)
            ]
            nearest = max((place[self.independent[r]][0] for r in rows), default=-1)
            for row in rows:
                leading = self.independent[row]
                value = before[leading] / self.K[row, mass]
                if place[leading][0] != nearest or value == 0.0 or abs(value) > largest:
                    continue
                candidate = before.copy()
                candidate[mass] = value
                candidate[self.independent] -= self.K[:, mass] * value
                candidate[leading] = 0.0
                cost = self._cost(candidate)
                if cost < self.cost:
                    self.moments, self.cost = candidate, cost
