"""The processing of a recording by what the model explains: the delay of its torques, and the filters.

A torque that is logged d too late fits the model best when it is taken from d later. For every d in a range,

    J(d) = min_beta  sum_j w_j^2 ||tau_j(t + d) - W_j(t) beta||^2 / sum_j w_j^2 ||tau_j(t + d)||^2 .

Filtered torques are so smooth that ``tau(t + d)`` is a polynomial in d over the range, given by its values at a few
nodes d_k: ``tau(t + d) = sum_k l_k(d) tau(t + d_k)``. One pass over the data then gives J for all d.

**Torques.** A residual cannot choose their cut-off by its size: a lower one deletes the signal that is to be explained,
and wins. So the question is asked band by band. Let F_a, F_b be the filters of two neighbouring candidates a < b, which
torques and columns pass alike, and beta_a the weighted least squares fit of the data below a. Of the band between them

    r_ab = ||t - B beta_a||_w^2 / (||t||_w^2 + ||B_m beta_a||_w^2 + ||B_f beta_a||_w^2),
    t = (F_b - F_a) tau,  B = F_b W - F_a W = [B_m, B_f],

is what the torques of the drives t, of the masses B_m beta and of friction B_f beta leave unbalanced, over what acts: 1
where they have nothing to do with each other, 0 where they cancel. The fit has not seen the band: the error is held out
in frequency. What acts is there whatever is chosen, so deleting it gains nothing, and where friction's jumps and
accelerations cancel, so that the drives have nothing in the band, it is balanced all the same. The cut-off climbs while
bands are balanced, r_ab <= PASS; beyond a band that is not, a resonance may look explained, at the cost of the bands
below. The bands are weighted with the joints' weights of the fit below (WLS).

**Motion.** Columns of the regressor are not linear in the motion: the sign of a velocity that is filtered as hard as
the torques jumps at the wrong moment. With the torques' filter settled, every way to smooth the motion predicts the
same torques, so that held-out errors can be compared (`casid.evidence.compared`): the cut-off of the positions is
doubled from the torques' one while parts of the motion are predicted better from the others, for differences of the
positions and for velocities as measured; what is surely better than the best before it is taken.

Each recording is compared with its own fit: a noisy one has no say in the band of a quiet one. Only where the lowest
band that a recording can fit by itself is not balanced, lower ones are asked about with the fit of all recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.polynomial.chebyshev import chebpts1
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import PARTS
from casid.measurement import LONGEST_TRIM, Dataset, Processing, find_defects, is_motion, repaired, without_rest
from casid.regression._compress import RIDGE, CompressedData, FullRateColumns, compress, lengths, observation_blocks
from casid.regression._fit import Fit, wls

# ------------------------------------------------------------------ delay

#: Chebyshev nodes of the first range.
NODES = 11
#: Range that is searched at first: so many samples, at least so many seconds; and how often it is doubled while the
#: least residual lies at its end.
REACH_SAMPLES, SECONDS, DOUBLED = 12.0, 0.03, 3


@dataclass(frozen=True)
class Delay:
    """By how much torques lag behind positions.

    Attributes
    ----------
    seconds : float
        Positive: the torques are late; `casid.measurement.Processing` (``delay=``) takes it out.
    sd : float
        Standard deviation [s].
    samples : float
        The same at the recordings' rate.
    gain : float
        Share of the residual's norm that goes away when the delay is taken out.
    at_limit : bool
        Whether it lies at the end of the range that was searched: the search found no best delay.
    """

    seconds: float
    sd: float
    samples: float
    gain: float
    at_limit: bool


def estimate_delay(model: Model, datasets: Dataset | Sequence[Dataset], weights: ArrayLike) -> Delay:
    """The common delay of all torques with the least residual.

    It is searched within 12 samples, at least 0.03 s, both ways, doubled up to three times while the least residual
    lies at the end.

    Parameters
    ----------
    model
        Its base parameters are fitted anew for each delay.
    datasets
        Processed recordings whose torques are filtered (they carry `Dataset.full`).
    weights
        Of the joints, e.g. `Fit.weights`; shape (n,).

    Raises
    ------
    DatasetError
        If a recording was not filtered, or they have different rates.
    """
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    rate = _rate(recordings)
    w = np.asarray(weights, dtype=float)
    reach, nodes = max(REACH_SAMPLES / rate, SECONDS), NODES
    found = _within(model, recordings, w, rate, reach, nodes)
    for _ in range(DOUBLED):
        if not found.at_limit:
            break
        reach, nodes = 2 * reach, 2 * nodes
        found = _within(model, recordings, w, rate, reach, nodes)
    return found


def _within(model: Model, recordings: Sequence[Dataset], w: Array, rate: float, reach: float, count: int) -> Delay:
    """The delay of least residual within ``reach`` [s], from torques at so many nodes."""
    from scipy.interpolate import BarycentricInterpolator  # slow to import
    from scipy.optimize import minimize_scalar  # slow to import

    nodes = reach * chebpts1(count)
    rank = model.base.rank
    G, independent = _products(model, recordings, w, nodes, rate)
    scale = lengths(np.diagonal(G))
    G = G / np.outer(scale, scale)
    A, cross = G[:rank, :rank] + RIDGE * np.eye(rank), G[:rank, rank:]
    left = (G[rank:, rank:] - cross.T @ np.linalg.solve(A, cross)) * np.outer(scale[rank:], scale[rank:])
    whole = G[rank:, rank:] * np.outer(scale[rank:], scale[rank:])
    basis = BarycentricInterpolator(nodes, np.eye(count))

    def cost(d: float) -> float:
        x = np.asarray(basis(d)).ravel()
        return float(x @ left @ x) / float(x @ whole @ x)

    grid = np.linspace(-reach, reach, 241)
    values = np.array([cost(d) for d in grid])
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = float(minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-4 / rate}).x)
    step = 0.1 / rate
    least = max(cost(found), np.finfo(float).tiny)
    curvature = (cost(found + step) - 2 * cost(found) + cost(found - step)) / step**2
    freedom = max(independent - rank, 1.0)
    sd = float(np.sqrt(2 * least / (freedom * curvature))) if curvature > 0 else float("inf")
    gain = 1.0 - float(np.sqrt(least / max(cost(0.0), np.finfo(float).tiny)))
    return Delay(found, sd, found * rate, gain, best in (0, len(grid) - 1))


def _rate(recordings: Sequence[Dataset]) -> float:
    """Common rate of filtered recordings [Hz]."""
    rates = set()
    for data in recordings:
        if data.full is None:
            raise DatasetError(f"{data.name}: a delay is estimated from filtered torques; process it with a cut-off")
        rates.add(float(f"{data.full.low_pass.rate:.4g}"))
    if len(rates) != 1:
        raise DatasetError(f"recordings have different rates: {', '.join(f'{r:g} Hz' for r in sorted(rates))}")
    return rates.pop()


def _products(model: Model, recordings: Sequence[Dataset], w: Array, nodes: Array, rate: float) -> tuple[Array, float]:
    """``X' X`` of the weighted columns ``X = [Y, tau(t + d_k) ...]``, and the number of independent samples."""
    from scipy.interpolate import CubicSpline  # slow to import

    size = model.base.rank + len(nodes)
    G, independent = np.zeros((size, size)), 0.0
    for data in recordings:
        assert data.full is not None
        moments = np.arange(len(data.full)) / rate
        smooth = CubicSpline(moments, data.full.low_pass(data.full.tau), axis=0)
        at = np.clip(moments[data.full.index][:, None] + nodes, 0.0, moments[-1])
        shifted = smooth(at)  # samples, nodes, joints
        for first, block in observation_blocks(model, data):
            rows = slice(first, first + len(block))
            for k in range(model.n):
                keep = data.counted[rows, k]
                X = w[k] * np.hstack([block[:, k][keep], shifted[rows, :, k][keep]])
                G += X.T @ X
                independent += len(X) / data.full.correlation
    return G, independent


# ------------------------------------------------------------------ filters

#: Candidates [Hz].
CANDIDATES = (0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0)
#: Largest unbalanced share of a band that is worth its noise; set on the AR5, Rokae, UR10e and Panda.
PASS = 0.2
#: Largest candidate over the sampling rate, and largest cut-off of the positions over it.
HIGHEST, HIGHEST_MOTION = 0.2, 0.4
#: The lowest candidate leaves so many independent torques for each base parameter, and so many periods to a recording.
PER_PARAMETER, FEWEST_PERIODS = 3.0, 5.0
#: Samples a second that are compared, over the largest candidate: what passes it has half that rate at least.
SAMPLES = 2.5
#: Longest stretch of a recording that is looked at [s].
LONGEST = 120.0


def choose_processing(model: Model, raw: Sequence[Dataset], processing: Processing) -> tuple[Processing, ...]:
    """A processing for each recording, with its filters chosen by what the model explains.

    Parameters
    ----------
    model
        With terms that are linear in their parameters.
    raw
        Recordings as read, in the order of the robot's joints.
    processing
        Settings; what is not ``cutoff="auto"`` is returned as it is, and so where the candidates cannot be compared
        (too short, too few samples): the spectra decide then.
    """
    if processing.cutoff != "auto" or processing.torque_cutoff != "same" or not processing.filter_columns:
        return tuple(processing for _ in raw)
    return tuple(_of_one(model, data, processing, [*raw[:k], *raw[k + 1 :]]) for k, data in enumerate(raw))


def _of_one(model: Model, data: Dataset, processing: Processing, others: Sequence[Dataset]) -> Processing:
    """The processing of one recording; the others help where it is too short."""
    bottom, top = _lowest(model, [data]), HIGHEST / data.period
    ladder = [c for c in CANDIDATES if bottom <= c <= top]
    lower = [c for c in CANDIDATES if others and _lowest(model, [data, *others]) <= c < bottom and c <= top]
    if len(lower) + len(ladder) < 2:
        return processing
    try:
        data = _thinned(_middle(data))
        cutoff = _climbed(model, data, processing, ladder, ()) if ladder else None
        if cutoff is None or (lower and cutoff == ladder[0]):
            rest = [_thinned(_middle(other)) for other in others]
            cutoff = _climbed(model, data, processing, [*lower, *ladder], rest)
        motion, velocity = _smoothing(model, data, processing, cutoff)
    except DatasetError:
        return processing
    return replace(processing, cutoff=motion, torque_cutoff=cutoff, velocity=velocity, cutoff_reason=REASON)


def processing_of_each(
    model: Model, raw: Sequence[Dataset], processing: Processing | bool | Sequence[Processing | bool | None] | None
) -> tuple[Processing | bool | None, ...]:
    """How each recording is processed: as given for all or for each, with what is left to be chosen chosen.

    Parameters
    ----------
    model, raw
        As `choose_processing`.
    processing
        For all recordings, or one for each; default and ``True``: `Processing()`.

    Raises
    ------
    DatasetError
        If there are more or fewer settings than recordings.
    """
    given = tuple(processing) if isinstance(processing, Sequence) else (processing,) * len(raw)
    if len(given) != len(raw):
        raise DatasetError(f"{len(given)} settings of processing for {len(raw)} recordings: give one, or one for each")
    made = list(given)
    for settings in dict.fromkeys(given):
        if settings is False:
            continue
        places = [k for k, one in enumerate(given) if one == settings and _processed_at_all(raw[k], one)]
        wanted = settings if isinstance(settings, Processing) else Processing()
        if places:
            for k, found in zip(places, choose_processing(model, [raw[k] for k in places], wanted), strict=True):
                made[k] = found
    return tuple(made)


def _processed_at_all(data: Dataset, settings: Processing | bool | None) -> bool:
    """Whether a recording goes through filters: what is no motion does not by default (`prepare`)."""
    if settings is None:
        return data.dq is None or data.ddq is None or is_motion(data)
    return settings is not False


#: Stated in the steps of a recording.
REASON = "the highest below which the model explains the torques"


def _lowest(model: Model, recordings: Sequence[Dataset]) -> float:
    """Lowest candidate of the first recording that all together determine [Hz]."""
    torques = 0.0
    for data in recordings:
        torques += _duration(data) * max(int(data.counted.any(axis=0).sum()), 1)
    return max(PER_PARAMETER * model.base.rank / (2.0 * torques), FEWEST_PERIODS / _duration(recordings[0]))


def _duration(data: Dataset) -> float:
    return float(data.t[-1] - data.t[0])


def _middle(data: Dataset) -> Dataset:
    """The middle of a long recording, without rest."""
    data = without_rest(data, find_defects(data).defects, LONGEST_TRIM, within=True)
    first = float(data.t[0]) + (_duration(data) - LONGEST) / 2
    return data if first <= data.t[0] else data.between(first, first + LONGEST)


def _climbed(
    model: Model, data: Dataset, processing: Processing, ladder: Sequence[float], others: Sequence[Dataset]
) -> float:
    """Cut-off of the torques [Hz]; the fits are of the others, too."""
    top = ladder[-1]
    columns: FullRateColumns | None = None
    below: tuple[Dataset, Array, Fit] | None = None
    chosen = ladder[0]
    for cutoff in ladder:
        made = _processed(data, processing, top, cutoff, top)
        columns = FullRateColumns(model, made) if columns is None else columns
        W = columns.of(made)
        if below is not None and _unbalanced(model, below, made, W) > PASS:
            break
        fit = wls(
            compress(model, [made, *(_processed(other, processing, cutoff, cutoff, top) for other in others)])
            if others
            else compress(model, made, columns=[W])
        )
        chosen, below = cutoff, (made, W, fit)
    return chosen


def _unbalanced(model: Model, below: tuple[Dataset, Array, Fit], high: Dataset, W: Array) -> float:
    """What a fit of the lower of two cut-offs leaves unbalanced between them, over what acts there."""
    low, W_low, fit = below
    brakes = [c in model.term_columns and model.term_columns[c][0].dissipative for c in model.base.independent]
    band = W - W_low
    friction = band[:, :, brakes] @ fit.beta[brakes]
    masses = band @ fit.beta - friction
    drives = high.tau - low.tau
    weights = np.where(low.counted & high.counted, fit.weights**2, 0.0)
    acting = float(np.sum(weights * (drives**2 + masses**2 + friction**2)))
    return float(np.sum(weights * (drives - masses - friction) ** 2)) / acting if acting > 0 else 1.0


def _smoothing(
    model: Model, data: Dataset, processing: Processing, cutoff: float
) -> tuple[float, Literal["auto", "differentiate", "measured"]]:
    """Cut-off of the positions [Hz], and the source of the velocity, whose held-out errors are surely less."""
    sources: list[Literal["auto", "differentiate", "measured"]] = [processing.velocity]
    if processing.velocity == "auto" and data.dq is not None:
        sources = ["differentiate", "measured"]
    best, weights, motion, velocity = np.inf, None, cutoff, sources[0]
    for source in sources:
        candidate, last = cutoff, np.inf
        while candidate <= HIGHEST_MOTION / data.period:
            settings = replace(processing, velocity=source)
            made = compress(model, _processed(data, settings, candidate, cutoff, 4.0 * cutoff))
            weights = wls(made).weights if weights is None else weights
            error = float((held_out_squares(made, PARTS, weights) @ weights**2).sum())
            if error < best:
                best, motion, velocity = error, candidate, source
            if not error < last:
                break
            candidate, last = 2.0 * candidate, error
    return motion, velocity


def held_out_squares(data: CompressedData, parts: int, weights: ArrayLike | None = None) -> Array:
    """Squared errors of each stretch of the motion, predicted by least squares from others, shape (stretches, n).

    Parameters
    ----------
    data
    parts
        Number of parts; every so many-th stretch belongs to one.
    weights
        Of the joints; default: those of each fit.

    Raises
    ------
    DatasetError
        If there are fewer stretches than parts.
    """
    count = len(data.segments)
    if count < parts:
        raise DatasetError(f"{count} stretches of the motion cannot be divided into {parts} parts")
    errors = np.zeros((count, data.n))
    for part in range(parts):
        beta = wls(data.only([i for i in range(count) if i % parts != part]), weights).beta
        for i in range(part, count, parts):
            errors[i] = data.only([i]).plain.squared_errors(beta)
    return errors


def _thinned(data: Dataset) -> Dataset:
    """Means of blocks of samples, at the least rate that allows all candidates; positions and torques alike."""
    data, _ = repaired(data)
    block = int(1.0 / (data.period * (CANDIDATES[-1] / HIGHEST)))
    if block < 2:
        return data
    count = len(data) // block

    def mean(values: Array | None) -> Array | None:
        return None if values is None else values[: count * block].reshape(count, block, -1).mean(axis=1)

    q, tau, t = mean(data.q), mean(data.tau), mean(data.t[:, None])
    assert q is not None and tau is not None and t is not None
    mask = None if data.mask is None else np.asarray(data.mask[: count * block].reshape(count, block, -1).all(axis=1))
    return replace(data, t=t[:, 0], q=q, tau=tau, dq=mean(data.dq), ddq=mean(data.ddq), tau_raw=None, mask=mask)


def _processed(data: Dataset, processing: Processing, motion: float, torque: float, top: float) -> Dataset:
    """The recording filtered, at samples that are the same for all cut-offs of the torques up to the highest."""
    rate = 1.0 / data.period
    settings = replace(
        processing, cutoff=motion, torque_cutoff=torque, slowest=0.0, between=None,
        every=max(1, int(rate / (SAMPLES * top))), rate="auto" if processing.rate is not None else None,
    )  # fmt: skip
    return settings.apply(data)
