"""Friction, filters, delays and estimators on recordings and simulations: rows of the table ``real``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata

import numpy as np

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, NotMeasured, data_folder
from benchmarks.real.simulated import POSITION_NOISE, TORQUE_NOISE, fourier, nominal
from casid.control import CascadedDrive
from casid.description import Joint, Link, Robot
from casid.description._placement import modified_dh
from casid.dynamics import Model
from casid.dynamics.terms import friction_terms
from casid.measurement import Dataset, Processing, read_dataset
from casid.regression import choose_friction, compress, estimate_delay, ols, torques, wls
from casid.regression.estimators import (
    OLS,
    ClosedLoop,
    InstrumentalVariables,
    Observations,
    OutputError,
)

Result = tuple[str, bool]
RUNS = 50
PUBLISHED_EMPS = np.array([95.1089, 203.5034, 20.3935, -3.1648])
UR10E_ROWS = {
    "30sec_12harm": (634, 3510),
    "40sec_12harm": (499, 4460),
    "20sec_8harm": (319, 2310),
    "14harm50sec": (194, 4966),
}


# ---------------------------------------------------------------------- friction on recordings


def ur10e_recording(name: str) -> Dataset:
    """A recording of the UR10e by the reference protocol, the regressor's columns filtered as well."""
    folder = data_folder() / "ur10e" / "identification_data"
    (path,) = folder.glob(f"*{name}.npz")
    settings = Processing(
        cutoff=7.5, torque_cutoff=10.0, order=5, rate=None, velocity="measured", filter_position=False,
        acceleration_cutoff=7.5, trim=0.0, every=1,
    )  # fmt: skip
    data = read_dataset(path, columns={"tau": "i"}, gains=recordings.UR_GAINS, rows=UR10E_ROWS[name])
    return settings.apply(data)


def ur10e() -> Result:
    choice = choose_friction(
        Model(casid.load_robot("ur10e"), ("rotor",), recordings.GRAVITY), ur10e_recording("30sec_12harm")
    )
    bars = {"40sec_12harm": 5.31, "20sec_8harm": 7.51, "14harm50sec": 4.86}
    errors = {name: compress(choice.model, ur10e_recording(name)).relative_errors(choice.fit.beta)[0] for name in bars}
    laws = ", ".join(joint.law.name for joint in choice.friction.joints)
    text = "; ".join(f"{name} {errors[name]:.2f} % ({errors[name] / bars[name]:.2f} x)" for name in bars) + f"; {laws}"
    return text, all(errors[name] <= 0.65 * bars[name] for name in bars)


def tx40() -> Result:
    robot = casid.load_robot("tx40")
    terms = [t for t in recordings.TX40_TERMS if t not in recordings.FRICTION]
    texts, met = [], True
    for filtered in (False, True):
        data = recordings.tx40_data(filter_columns=filtered)
        choice = choose_friction(Model(robot, terms, recordings.GRAVITY, 0.02), data)
        how = "columns filtered" if filtered else "reference protocol"
        texts.append(f"{choice.fit.relative_error:.3f} % ({how})")
        met = met and choice.fit.relative_error <= 5.56
    laws = ", ".join(joint.law.name for joint in choice.friction.joints)
    return "; ".join(texts) + f"; {laws}", met


def panda_small_joints() -> Result:
    robot = casid.load_robot("panda")
    data = recordings.panda(filter_columns=True)
    linear = wls(compress(Model(robot, recordings.FRICTION, recordings.GRAVITY), data))
    choice = choose_friction(Model(robot, (), recordings.GRAVITY), data)
    before, after = linear.relative_errors, choice.fit.relative_errors
    again = _unrepeated()
    text = (
        f"joint 5: filtered columns {before[4]:.2f} %, friction chosen {after[4]:.2f} %; joint 7: {before[6]:.2f} %, "
        f"{after[6]:.2f} %; what does not repeat with the motion: {again[4]:.2f} and {again[6]:.2f} %; laws: "
        f"{', '.join(joint.law.name for joint in choice.friction.joints)}"
    )
    return text, bool(after[4] <= 0.5 * 8.3 and after[6] <= 0.5 * 22.5)


def _unrepeated() -> np.ndarray:
    """Root mean square difference of the torques of two passes of the same motion over sqrt(2) [%]."""
    data = recordings.panda(every=1)
    later = round(2 / 0.15 * 1000)  # the period of the excitation
    a, b = data.tau[later:], data.tau[:-later]
    return np.asarray(100 * np.sqrt(((a - b) ** 2).mean(axis=0) / 2 / (data.tau**2).mean(axis=0)))


# ---------------------------------------------------------------------- statistics in simulation


def _ur5() -> Robot:
    try:
        package = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        raise NotMeasured("needs the package 'example-robot-data' (pip install casid[peers])") from None
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return casid.load_robot(str(package.locate_file(f"{folder}/ur_description/urdf/ur5_robot.urdf")))


def friction_statistics(build: Callable[[], Robot]) -> Callable[[], Result]:
    def run() -> Result:
        robot = build()
        model = Model(robot, recordings.FRICTION)
        friction = [
            [5, 7, 0.3],
            [6, 7, 0.2],
            [4, 5, -0.2],
            [1.5, 2, 0.1],
            [1, 1.5, 0.1],
            [0.8, 1, -0.1],
            [0.5, 0.5, 0.05],
        ]
        truth = model.parameters(nominal(robot), np.ravel(friction[: robot.n]))
        exact = model.base.values(truth)
        wanted = [i for i, name in enumerate(model.base.names) if name[:2] in ("fv", "fc", "fo")]
        t = np.arange(0, 20, 1e-3)
        scores, ratios = [], []
        for seed in range(RUNS):
            q, dq, ddq = fourier(robot.n, t, 0.1, seed, 0.4)
            tau = model.inverse_dynamics(q, dq, ddq, truth)
            rng = np.random.default_rng(1000 + seed)
            spread = rng.uniform(*POSITION_NOISE, robot.n)
            noisy = Dataset(t, q + spread * rng.normal(size=q.shape), tau + TORQUE_NOISE * rng.normal(size=q.shape))
            data = Processing().apply(noisy)
            fit = wls(compress(model, data))
            assert data.full is not None
            scores.append(((fit.beta - exact) / fit.sd)[wanted])
            ratios.append(fit.rms / _filtered_noise(model, truth, data, Dataset(t, q, tau)))
        z = np.array(scores)
        rms, inside = float(np.sqrt(np.mean(z**2))), 100 * float(np.mean(np.abs(z) < 1.96))
        ratio = np.mean(ratios, axis=0)
        text = (
            f"RMS of z {rms:.2f} (worst parameter {np.sqrt(np.mean(z**2, axis=0)).max():.2f}), 95 % intervals hold "
            f"{inside:.1f} %, residual over filtered noise {ratio.min():.2f} ... {ratio.max():.2f}, {RUNS} runs"
        )
        return text, rms <= 1.3 and 92 <= inside <= 98 and bool(np.abs(ratio - 1).max() <= 0.1)

    return run


def _filtered_noise(model: Model, truth: np.ndarray, data: Dataset, clean: Dataset) -> np.ndarray:
    """RMS of what noise of torques and positions leaves behind the filters, with the true parameters [N.m]."""
    assert data.full is not None
    settings = Processing(cutoff=data.full.low_pass.cutoff, every=int(data.full.every))
    moved = torques(model, truth, data) - torques(model, truth, settings.apply(clean))
    return np.asarray(np.sqrt(TORQUE_NOISE**2 * data.full.low_pass.noise_gain + (moved**2).mean(axis=0)))


# ---------------------------------------------------------------------- delay


def delays() -> Result:
    model, raw = recordings.panda_model(), recordings.panda_raw()
    errors = []
    own = 0.0
    for injected in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0):
        data = Processing(rate=1000.0, delay=-1e-3 * injected).apply(raw)
        found = estimate_delay(model, data, wls(compress(model, data)).weights).samples
        own = found if injected == 0 else own
        errors.append(abs(found - own - injected))
    text = f"largest error {max(errors):.3f} samples (Panda, beside its own delay of {own:.2f} ms)"
    return text, max(errors) <= 0.1


# ---------------------------------------------------------------------- estimators


def _emps() -> tuple[Model, Model, Dataset, np.ndarray]:
    """Model with sign(dq), model with a steep slope for simulation, recording, reference."""
    joint = Joint("axis", "prismatic", -1, Link("carriage"), modified_dh(0.0, 0.0, 0.0, 0.0), np.array([0.0, 0.0, 1.0]))
    robot = Robot("emps", (joint,))
    path = data_folder() / "emps" / "estimation.npz"
    with np.load(path) as file:
        reference = np.array(file["q_ref"], dtype=float).reshape(-1, 1)
    still = (0.0, 0.0, 0.0)
    smooth = Model(robot, friction_terms("smooth", [[1e-3]]), still)
    return Model(robot, recordings.FRICTION, still), smooth, read_dataset(path, columns={"tau": "tau"}), reference


#: Janot et al. 2019: 100 Hz, decimated by 10 behind an anti-aliasing filter, torque and columns alike.
EMPS_PROCESSING = Processing(cutoff=100.0, torque_cutoff=40.0, every=10, trim=0.05)


def emps_least_squares() -> Result:
    model, _, raw, _ = _emps()
    beta = ols(compress(model, EMPS_PROCESSING.apply(raw))).beta
    off = 100 * np.abs(beta / PUBLISHED_EMPS - 1)
    return f"{', '.join(f'{b:.4f}' for b in beta)}; largest difference {off.max():.2f} %", bool(off.max() <= 0.2)


def emps_output_error() -> Result:
    model, smooth, raw, reference = _emps()
    zero = np.zeros_like(reference)
    loop = ClosedLoop(smooth, CascadedDrive(160.18, 243.45, 1e-3, 10.0, 35.15065), reference, zero, zero, 1e-3)
    data = Observations(model, EMPS_PROCESSING.apply(raw))

    def error(beta: np.ndarray) -> float:
        return 100 * float(np.linalg.norm(loop.simulate(beta).q - raw.q) / np.linalg.norm(raw.q))

    def instruments(beta: np.ndarray) -> list[Dataset]:
        made = loop.simulate(beta)
        return [EMPS_PROCESSING.apply(Dataset(raw.t, made.q, made.tau))]

    fits = [OLS().fit(data), InstrumentalVariables(instruments).fit(data), OutputError(loop, raw.q).fit(data)]
    errors = [error(fit.beta) for fit in fits]
    text = "; ".join(
        f"{fit.method} {', '.join(f'{b:.2f}' for b in fit.beta)}: {e:.6f} %"
        for fit, e in zip(fits, errors, strict=True)
    )
    return text, errors[2] <= errors[0]


_HAND = "by hand"
_SIMULATED: Sequence[tuple[str, Callable[[], Robot]]] = (
    ("UR5", _ur5), ("Panda", lambda: casid.load_robot("panda")), ("TX40", lambda: casid.load_robot("tx40")),
)  # fmt: skip
ROWS = (
    Measure(
        "UR10e fitted on 30sec_12harm, friction chosen: three other motions",
        "<= 0.65 x 5.31, 7.51, 4.86 %", f"about 2.9 % {_HAND}", ur10e,
    ),
    Measure("TX40, friction chosen", "<= 5.56 %", f"5.561 % {_HAND}", tx40),
    Measure(
        "Panda, joints 5 and 7", "half of 8.3 and 22.5 %", "8.3, 22.5 %", panda_small_joints
    ),
    *(
        Measure(
            f"simulated {name}, viscous and Coulomb friction, defaults",
            "RMS z <= 1.3, intervals 92-98 %, residual = filtered noise +-10 %", "RMS z 6.5, residual 20 x",
            friction_statistics(build),
        )
        for name, build in _SIMULATED
    ),
    Measure("delay injected, 0.2 ... 8 samples", "within 0.1 sample", "-", delays),
    Measure("EMPS, IDIM-LS", "published values within 0.2 %", "Janot et al. 2019", emps_least_squares),
    Measure("EMPS, IV and CLOE: error of the simulated position", "CLOE <= IDIM-LS", "-", emps_output_error),
)  # fmt: skip
