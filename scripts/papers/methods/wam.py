"""The simulated identification of the WAM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import casadi as ca
import numpy as np
from benchmarks import published
from papers import wam_cases as thesis

from casid.arrays import Array
from casid.control._free_motion import ModelBased, feedback
from casid.dynamics import BaseParameters, Model
from casid.identification import FeasibleFit, feasible_regression
from casid.identification.repair import feasibility_test
from casid.identification.repair._feasibility import Feasibility
from casid.measurement import Dataset, Processing
from casid.motion import Follow, Fourier, Trajectory
from casid.regression import CompressedData, Fit, compress, ols, wls
from casid.retrieval import Constraints, LinkVariables, com_box, total_mass
from casid.simulation import Plant, SmoothCoulomb, simulate

TRAJECTORIES = ("A", "B", "C", "D")
#: Harmonics and periods (eq. 4.21, 4.22, Sec. 4.3.3).
HARMONICS, PERIODS = 6, 3
#: Cut-off of the positions' filter [Hz] (Sec. 4.3.3), its order, and how many samples are kept: 1 of 10.
CUTOFF, ORDER, EVERY = 4.8, 3, 10
#: Encoders of 4096 counts a turn behind the ratios of eq. 4.4 [rad].
RESOLUTION = 2 * np.pi / 4096 / np.array([42.0, 28.25, 28.25, 18.0, 10.27, 10.27, 14.93])
#: Speed at which the machine's dry friction reaches 76 % [rad/s].
SMOOTH = 5e-3
#: Of the disturbance's variance, the part that is a ripple of the position: an assumption, and the values that the
#: documents' items are shown for.
RIPPLE = 0.8
RIPPLES = (0.0, 0.4, 0.8)
#: Total mass [kg] of eq. 4.39.
HEAVIEST = 27.0
#: Bounds that leave any arm free but let a certificate close: total mass [kg], centres of mass [m].
GENEROUS = (100.0, 10.0)


class AccelerationFeedForward(ModelBased):
    """``c(q, dq) + g(q) + M(q) ddq_r + Kp (q_r - q) + Kd (dq_r - dq)`` (Sousa 2014, eq. 4.16, 4.18)."""

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Inverse dynamics of the reference's acceleration, the gains outside of it."""
        return ca.SX(self.given.inverse_dynamics(q, dq, signals[2])) + feedback(self.kp, self.kd, signals, q, dq)


@cache
def trajectory(name: str, periods: int = PERIODS) -> Trajectory:
    """One of `TRAJECTORIES`."""
    a, b = (
        thesis.wam_table(name).coefficients for name in ("wam_table_4_4_trajectory_A", "wam_table_4_5_trajectory_B")
    )
    odd = (np.arange(7) % 2 == 0)[:, None]
    mixed: dict[str, Array] = {"A": a, "B": b, "C": np.where(odd, a, b), "D": np.where(odd, b, a)}
    return Trajectory(Fourier(thesis.FUNDAMENTAL, HARMONICS, periods=periods), mixed[name], robot="wam7")


@cache
def recorded(name: str, periods: int = PERIODS) -> Dataset:
    """Positions and commanded torques while the machine follows a trajectory."""
    model = thesis.model()
    plant = Plant(model, thesis.parameters(thesis.MACHINE), SmoothCoulomb(SMOOTH))
    links = Model(model.robot)
    control = AccelerationFeedForward(links, model.robot.standard_parameters(), *thesis.gains("wam_table_4_3_pd_gains"))
    motion = Follow(trajectory(name, periods))
    done = simulate(plant, control, motion, motion.span[1], rate=1000.0)
    raw = done.dataset(f"trajectory {name}")
    return replace(raw, q=np.round(raw.q / RESOLUTION) * RESOLUTION, dq=None, ddq=None)


@cache
def processed(name: str, periods: int = PERIODS, every: int = EVERY) -> Dataset:
    """The same, filtered and differentiated."""
    settings = Processing(cutoff=CUTOFF, torque_cutoff=None, order=ORDER, rate=None, every=every, filter_columns=False)
    return replace(settings.apply(recorded(name, periods)), tau_raw=None)


@cache
def level() -> Array:
    """Standard deviation of each joint's disturbance [N m]: the share of Table 4.7 of its torque on trajectory A."""
    share = published.column(published.table("wam_table_4_7_errors_OLS_WLS"), "relative_error_WLS_percent") / 100
    tau = processed("A").tau
    return np.asarray(share * np.sqrt(np.mean(tau**2, axis=0)))


def disturbed(data: Dataset, seed: int, stream: int, share: float = RIPPLE) -> Dataset:
    """A recording with the disturbance of a seed; the ripple is a property of the machine, the noise of the run.

    ``share`` is that of the ripple in the disturbance's variance.
    """
    shape, noise = np.random.default_rng([seed, 76]), np.random.default_rng([seed, 76, stream])
    ripple = np.zeros_like(data.tau)
    for _ in range(6):  # six waves of every joint's position, 0.3 to 3 rad long
        number, phase = shape.uniform(2.0, 20.0, 7), shape.uniform(0.0, 2 * np.pi, 7)
        ripple += np.sin(number * data.q + phase) / np.sqrt(3.0)
    rough = np.sqrt(share) * ripple + np.sqrt(1 - share) * noise.standard_normal(data.tau.shape)
    return replace(data, tau=data.tau + level() * rough)


def extra_constraints(links: LinkVariables) -> Constraints:
    """Centres of mass within the boxes of Table 4.8, and at most 27 kg in all (Sec. 4.5.4)."""
    return (*(com_box(link) for link in links), total_mass(links, 0.0, HEAVIEST))


def generous_constraints(links: LinkVariables) -> Constraints:
    """`GENEROUS`. Without any bound the best fit lies at masses without end, 5e-7 of the objective lower."""
    mass, reach = GENEROUS
    return (*(com_box(link, np.full(3, -reach), np.full(3, reach)) for link in links), total_mass(links, 0.0, mass))


def weighted_error(data: CompressedData, weights: Array, beta: Array) -> float:
    """``100 ||G (W beta - tau)|| / ||G tau||`` [%] with a weight a joint."""
    w = weights**2
    return 100.0 * float(np.sqrt(w @ data.squared_errors(beta) / (w @ data.squared_torques)))


@dataclass(frozen=True, eq=False)
class WamData:
    """Regression data of one seed.

    Attributes
    ----------
    sets : dict of str to CompressedData
        By trajectory; A is identified from, the others validate.
    """

    sets: dict[str, CompressedData]

    @property
    def model(self) -> Model:
        """Seven links with joint and motor friction, offsets and coupled rotors."""
        return self.regression.model

    @property
    def base(self) -> BaseParameters:
        """The 76 base parameters."""
        return self.model.base

    @property
    def regression(self) -> CompressedData:
        """Trajectory A."""
        return self.sets["A"]

    @cached_property
    def ordinary(self) -> Fit:
        """Ordinary least squares."""
        return ols(self.regression)

    @cached_property
    def weighted(self) -> Fit:
        """Weighted least squares: beta_WLS, blind to physics."""
        return wls(self.regression)

    @cached_property
    def triangle(self) -> Array:
        """R factor of the weighted ``[W, tau]``, shape (77, 77)."""
        R, rho, rest = self.regression.stacked(self.weighted.weights)
        bottom = np.append(np.zeros(len(rho)), np.sqrt(rest))
        return np.vstack([np.column_stack([R, rho]), bottom])

    @cached_property
    def corrected(self) -> Feasibility:
        """beta': the feasible base parameters nearest to beta_WLS (Sec. 4.5.2)."""
        return feasibility_test(self.model, self.weighted.beta, consistency="semi")

    @cached_property
    def feasible(self) -> FeasibleFit:
        """beta*: the best of all feasible ones (Sec. 4.5.3), of arms up to `GENEROUS`."""
        return feasible_regression(self.weighted, consistency="semi", constraints=generous_constraints)

    @cached_property
    def constrained(self) -> FeasibleFit:
        """beta*e: the same under the extra constraints (Sec. 4.5.4)."""
        return feasible_regression(self.weighted, consistency="semi", constraints=extra_constraints)

    def solutions(self) -> dict[str, Array]:
        """The four sets of Table 4.9."""
        return {
            "beta_WLS": self.weighted.beta, "beta'": self.corrected.corrected, "beta*": self.feasible.beta,
            "beta*e": self.constrained.beta,
        }  # fmt: skip

    def relative_error(self, beta: Array, name: str = "A", weighted: bool = False) -> float:
        """``100 ||W beta - tau|| / ||tau||`` [%] (eq. 4.37), of a trajectory; weighted: of G W and G tau."""
        data = self.sets[name]
        return weighted_error(data, self.weighted.weights, beta) if weighted else data.relative_errors(beta)[0]


def wam_data(
    seed: int, trajectories: tuple[str, ...] = TRAJECTORIES, periods: int = PERIODS, share: float = RIPPLE
) -> WamData:
    """Data of a seed; ``share`` as in `disturbed`."""
    model = thesis.model()
    sets = {
        name: compress(model, disturbed(processed(name, periods), seed, TRAJECTORIES.index(name), share))
        for name in trajectories
    }
    return WamData(sets)


def random_poses(count: int) -> Array:
    """Uniform joint positions over a full turn, shape (7, count) [rad]."""
    return np.random.default_rng(0).uniform(-np.pi, np.pi, (7, count))


def pd_curve(weights: Array, poses: int) -> Array:
    """Percentage of positive definite mass matrices ``(1 - w) M(beta_WLS) + w M(beta*)`` for every weight w."""
    q, model = random_poses(poses).T, thesis.model()
    infeasible, feasible = (np.asarray(model.mass_matrix(q, thesis.parameters(n))) for n in ("beta_WLS", "beta*"))
    smallest = [np.linalg.eigvalsh((1.0 - weight) * infeasible + weight * feasible)[:, 0] for weight in weights]
    return np.asarray(100.0 * (np.array(smallest) > 0.0).mean(axis=1))
