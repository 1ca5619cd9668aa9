"""From a controller's M(q) and g(q) to feasible links and friction, and friction refitted to another recording."""

import json
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.cli import app
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import predict, refit_friction, reverse_engineered
from casid.measurement import Dataset
from casid.regression import reverse_engineer_with_torques
from casid.retrieval import Constraint, LinkVariables, sensible_bounds
from casid.testing import motion
from problems.spatial_2r import true_parameters
from tests.helpers import RUNNER, run

REVERSE = ("reverse-engineer", "spatial_2r")
#: phi_1, phi_2, phi_3 of both joints (Gaz et al. 2019, eq. 25).
PHI = np.array([[2.0, 6.0, 0.05], [1.2, 9.0, -0.03]])


def sigmoid(phi: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Eq. 25 of Gaz et al. (2019)."""
    return phi[0] / (1 + np.exp(-phi[1] * (v + phi[2]))) - phi[0] / (1 + np.exp(-phi[1] * phi[2]))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("spatial_2r"))


def controller(model: Model, poses: int = 40) -> dict[str, np.ndarray]:
    """Mass matrices and gravity torques of the true links."""
    truth, q = true_parameters(), np.random.default_rng(5).uniform(-3, 3, (poses, 2))
    return {"q": q, "M": model.mass_matrix(q, truth), "g": model.gravity(q, truth)}


def recorded(model: Model, seed: int, phi: np.ndarray = PHI) -> Dataset:
    """The true links with sigmoid friction along a random motion, exact."""
    t, q, dq, ddq = motion(2, 1000, seed)
    tau = model.inverse_dynamics(q, dq, ddq, true_parameters())
    tau = tau + np.column_stack([sigmoid(phi[k], dq[:, k]) for k in range(2)])
    return Dataset(t, q, tau, dq, ddq, name=f"run {seed}")


def test_the_way_ends_at_the_true_torques(model: Model) -> None:
    numbers = controller(model)
    found = reverse_engineered(model.robot, **renamed(numbers), recording=recorded(model, 1), processing=False)
    np.testing.assert_allclose(found.estimate.values, model.base.values(true_parameters()), atol=1e-9)
    assert found.solution.certified
    assert found.friction is not None and found.validation is not None and found.unfitted is not None
    assert found.validation.relative_error < 0.05 < 1.0 < found.unfitted.relative_error
    v = np.linspace(-1.5, 1.5, 50)
    for k, joint in enumerate(found.friction.joints):
        names = [f"{amplitude.symbol}{k + 1}" for amplitude in joint.law.amplitudes]
        phi = np.array([*(found.parameters[name] for name in names), *joint.theta])
        np.testing.assert_allclose(sigmoid(phi, v), sigmoid(PHI[k], v), atol=1e-3)


def test_its_matrices_are_not_shared_out_among_threads(model: Model) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    seen: list[int] = []

    def bounds(links: LinkVariables) -> tuple[Constraint, ...]:
        seen.extend(pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas")
        return sensible_bounds(links)

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        reverse_engineered(model.robot, **renamed(controller(model)), constraints=bounds)
    assert seen and set(seen) == {1}


def test_gravity_torques_alone_determine_what_gravity_depends_on(model: Model) -> None:
    numbers = controller(model)
    found = reverse_engineered(model.robot, numbers["q"], None, numbers["g"])
    assert 0 < found.estimate.rank < model.base.rank and found.solution.certified
    size = np.sqrt(np.mean(numbers["g"] ** 2))  # errors of a millionth are assumed at least, and what the proof rounds
    np.testing.assert_allclose(model.gravity(numbers["q"], found.values), numbers["g"], atol=5e-6 * size)
    with pytest.raises(DatasetError, match="numbers of poses differ"):
        reverse_engineered(model.robot, numbers["q"], None, numbers["g"][:3])


def test_gravity_torques_and_a_recording_determine_all(model: Model) -> None:
    numbers, truth = controller(model), true_parameters()
    beta = model.base.values(truth)
    linear = np.array([[0.4, 0.7, 0.1], [0.2, 0.5, -0.3]])  # viscous, Coulomb, offset
    data = recorded(model, 1, 0.0 * PHI)
    assert data.dq is not None
    dry = data.dq * linear[:, 0] + np.sign(data.dq) * linear[:, 1] + linear[:, 2]
    noise = 1e-3 * np.random.default_rng(6).standard_normal(data.tau.shape)
    rough = Dataset(data.t, data.q, data.tau + dry + noise, data.dq, data.ddq, name="with linear friction")
    found = reverse_engineer_with_torques(model, numbers["q"], numbers["g"], rough)
    assert (np.abs(found.values - beta) <= 5 * found.sd).all() and found.sd.max() < 1e-3

    sigmoids = recorded(model, 1)  # friction of another shape: gravity's part stays exact, the rest is near
    way = reverse_engineered(model.robot, numbers["q"], None, numbers["g"], sigmoids, processing=False)
    assert way.estimate.rank == model.base.rank and way.solution.certified and way.validation is not None
    links = way.values[np.ravel(way.model.link_columns)]
    np.testing.assert_allclose(model.gravity(numbers["q"], links), numbers["g"], atol=1e-3)
    assert way.validation.relative_error < 2.0


def noisy(model: Model, seed: int) -> dict[str, np.ndarray]:
    """The controller's numbers with errors of 0.5 % and 0.05 N.m; `true_parameters` are those of Sousa's arm."""
    rng, numbers = np.random.default_rng(seed), controller(model, 60)
    half = np.triu(rng.standard_normal(numbers["M"].shape))
    symmetric = half + np.triu(half, 1).transpose(0, 2, 1)
    g = numbers["g"] + 0.05 * rng.standard_normal(numbers["g"].shape)
    return {"q": numbers["q"], "M": numbers["M"] * (1.0 + 0.005 * symmetric), "g": g}


@pytest.mark.claim("coefficients above 30 % were dropped and left free: noise on g gave links that predict nothing")
def test_every_coefficient_counts_by_its_own_error(model: Model) -> None:
    """Against least squares of all coefficients in plain numpy."""
    truth, numbers = true_parameters(), noisy(model, 7)
    found = reverse_engineered(model.robot, numbers["q"], numbers["M"], numbers["g"])
    assert found.certified and not found.findings
    rows = model.static_regressor(numbers["q"])
    below = np.tril_indices(2)
    values = np.hstack([numbers["M"][:, below[0], below[1]], numbers["g"]])
    best = np.linalg.lstsq(rows.reshape(-1, 20), values.ravel(), rcond=1e-10)[0]
    Y = model.regressor(*np.random.default_rng(8).uniform(-3, 3, (100, 3, 2)).swapaxes(0, 1))
    ours, theirs = (np.sqrt(np.mean(np.square(Y @ (values - truth)), axis=0)) for values in (found.values, best))
    assert (ours <= 2.0 * theirs).all()


MISREADINGS = {
    "g": (lambda n: {**n, "g": -n["g"]}, "all gravity torques reversed"),
    "columns of g": (lambda n: {**n, "g": n["g"][:, ::-1]}, "gravity torques of 'joint1' and 'joint2' exchanged"),
    "positions": (lambda n: {**n, "q": n["q"][:, ::-1]}, "positions of 'joint1' and 'joint2' exchanged"),
    "degrees": (lambda n: {**n, "q": np.degrees(n["q"] / 20)}, "positions taken as degrees"),
}


@pytest.mark.claim("numbers of a controller that contradict each other were certified without a word")
@pytest.mark.parametrize("what", MISREADINGS)
def test_numbers_that_contradict_each_other_are_named(model: Model, what: str, tmp_path: Path) -> None:
    change, words = MISREADINGS[what]
    numbers = noisy(model, 9)
    if what == "degrees":  # positions that the limits do not give away
        truth, q = true_parameters(), numbers["q"] / 20
        numbers |= {"M": model.mass_matrix(q, truth), "g": model.gravity(q, truth)}
    found = reverse_engineered(model.robot, **renamed(change(numbers)))
    assert not found.certified and [words in finding.text for finding in found.findings] == [True]
    np.savez(tmp_path / "samples.npz", **change(numbers))
    done = RUNNER.invoke(app, [*REVERSE, str(tmp_path / "samples.npz"), "--out", str(tmp_path / "out")])
    assert words in " ".join(done.output.split()) and "certified yes" not in " ".join(done.output.split())
    assert not json.loads((tmp_path / "out" / "identification.json").read_text())["certified"]
    assert not json.loads((tmp_path / "out" / "solution.json").read_text())["certified"]


def renamed(numbers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"q": numbers["q"], "mass_matrices": numbers["M"], "gravity_torques": numbers["g"]}


def test_gravity_torques_alone_of_the_wrong_sign_contradict_plausible_links() -> None:
    """Without M the coefficients fit either way, and links with mirrored centres of mass have them."""
    arm = Model(casid.load_robot("ur10e"))
    q = np.random.default_rng(3).uniform(-2, 2, (40, 6))
    g = arm.gravity(q)
    right, wrong = (reverse_engineered(arm.robot, q, None, sign * g) for sign in (1.0, -1.0))
    assert right.certified and not right.findings
    assert not wrong.certified and "opposite sign of those of plausible links" in wrong.findings[0].text


def test_refitting_changes_friction_and_no_link(model: Model) -> None:
    links, other = true_parameters(), 2.5 * PHI
    first = refit_friction(model, links, recorded(model, 1))
    again = refit_friction(first.model, first.parameters, recorded(model, 2, other))
    columns = np.ravel(again.model.link_columns)
    np.testing.assert_array_equal(again.values[columns], links)
    data = recorded(model, 3, other)
    stale, fresh = (predict(one.model, one.parameters, data).relative_error for one in (first, again))
    assert fresh < 0.5 < stale
    with pytest.raises(DatasetError):
        refit_friction(model, links, Dataset(data.t, data.q, data.tau, name="raw"))


def write(folder: Path, model: Model) -> tuple[Path, Path]:
    """The samples and a raw recording as files."""
    samples, run = folder / "samples.npz", folder / "run.npz"
    np.savez(samples, **controller(model))
    data = recorded(model, 1)
    np.savez(run, t=data.t, q=data.q, tau=data.tau)
    return samples, run


def test_the_command_writes_what_validate_reads(tmp_path: Path, model: Model) -> None:
    samples, recording = write(tmp_path, model)
    out = tmp_path / "out"
    options = ["--cutoff", "12", "--rate", "100", "--every", "1", "--trim", "0.5"]
    assert "8 coefficients" in run(*REVERSE, samples, recording, "--out", out, *options)
    record = json.loads((out / "identification.json").read_text())
    assert record["validation_relative_error"] < 2.0 and set(record["coefficients"]) == set(model.base.expressions)
    solution = json.loads((out / "solution.json").read_text())["best_fit"]
    assert solution["certified"] and solution["gap"] < 1e-6

    data = recorded(model, 4, 2.5 * PHI)
    other = tmp_path / "other.npz"
    np.savez(other, t=data.t, q=data.q, tau=data.tau)
    errors = []
    for more in ([], ["--refit-friction", "sigmoid"]):
        folder = tmp_path / f"validated{len(more)}"
        run("validate", "spatial_2r", out / "identification.json", other, "--out", folder, *more)
        errors.append(json.loads((folder / "validation.json").read_text())["relative_error"])
    assert errors[1] < 0.3 * errors[0]
    command = ("validate", "spatial_2r", out / "identification.json", other, "--refit-friction", "sticky")
    assert "sticky" in run(*command, code=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"g": None}, "array 'g' is missing"),
        ({"g": np.zeros((3, 2))}, "numbers of poses differ"),
        ({"q": np.zeros((40, 5))}, "expected shape (poses, 2)"),
        ({"M": np.triu(np.ones((40, 2, 2)))}, "mass matrix of pose 0 is not symmetric"),
    ],
)
def test_unusable_samples_are_named_and_nothing_is_written(
    tmp_path: Path, model: Model, change: dict[str, np.ndarray | None], words: str
) -> None:
    numbers = {k: v for k, v in (controller(model) | change).items() if v is not None}
    samples = tmp_path / "samples.npz"
    np.savez(samples, **numbers)
    text = run(*REVERSE, samples, "--out", tmp_path / "out", code=1)
    assert words in " ".join(text.split())
    assert not (tmp_path / "out" / "solution.json").exists()
