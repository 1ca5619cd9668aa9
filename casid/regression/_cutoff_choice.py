"""The filter's cut-off by what the model explains: a ladder of bands, each predicted from below.

A residual cannot choose a cut-off by its size: a lower one deletes the signal that is to be explained, and wins. So the
question is asked band by band. Let F_a, F_b be the filters of two neighbouring candidates a < b, which torques and
columns pass alike, and beta_a the plain least squares fit of the data below a. Of the band between them

    r_ab = || (F_b - F_a) tau - (F_b W_b - F_a W_a) beta_a ||_w^2 / || (F_b - F_a) tau ||_w^2

is the share that the model does not explain. The fit has not seen the band: the error is held out in frequency. The
band's torques are there whatever is chosen, so deleting them gains nothing; and a band of noise has r_ab near 1, or
above it where differentiated noise enters the columns. The cut-off is the b with the largest sum of log(PASS / r_ab)
over the bands below it: it climbs while bands are explained, one bad band between good ones does not stop it.
The bands are weighted with the joints' weights of the fit below (WLS), so that every joint counts by its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import CasidError, DatasetError
from casid.measurement import Dataset, Processing
from casid.measurement._processing import is_motion
from casid.measurement._repair import repaired
from casid.regression._compress import compress
from casid.regression._fit import Fit, wls
from casid.regression._observation import torques

Array = NDArray[np.float64]

#: Candidates [Hz].
CANDIDATES = (0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0, 22.0, 33.0, 50.0)
#: Unexplained share below which a band is worth its noise; set on the AR5, Rokae, UR10e and Panda.
PASS = 0.6
#: Bands in a row without a gain after which the search ends.
PATIENCE = 2
#: Largest candidate over the sampling rate.
HIGHEST = 0.2
#: The lowest candidate leaves so many independent torques for each base parameter, and so many periods to a recording.
PER_PARAMETER, FEWEST_PERIODS = 3.0, 5.0
#: Least rate at which they are compared [Hz].
RATE = 5.0 * CANDIDATES[-1]
#: Samples a second that are compared, over the largest candidate.
SAMPLES = 2.5


def choose_processing(model: Model, raw: Sequence[Dataset], processing: Processing) -> tuple[Processing, ...]:
    """A processing for each recording, with its cut-off chosen by what the model explains.

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
    ladder = [c for c in CANDIDATES if _lowest(model, raw) <= c <= HIGHEST / max(data.period for data in raw)]
    if len(ladder) < 2:
        return tuple(processing for _ in raw)
    try:
        chosen = _climbed(model, raw, processing, ladder)
    except CasidError:
        return tuple(processing for _ in raw)
    return tuple(replace(processing, cutoff=cutoff, cutoff_reason=REASON) for cutoff in chosen)


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


def _lowest(model: Model, raw: Sequence[Dataset]) -> float:
    """Lowest candidate [Hz]."""
    lengths = [float(data.t[-1] - data.t[0]) for data in raw]
    counted = sum(length * _joints(data) for length, data in zip(lengths, raw, strict=True))
    return max(PER_PARAMETER * model.base.rank / (2.0 * counted), FEWEST_PERIODS / max(lengths))


def _joints(data: Dataset) -> int:
    return data.n if data.mask is None else int(data.mask.any(axis=0).sum())


def _climbed(model: Model, raw: Sequence[Dataset], processing: Processing, ladder: Sequence[float]) -> list[float]:
    """Cut-off of each recording [Hz]."""
    gains = np.zeros(len(raw))
    best, idle = np.zeros(len(raw)), np.zeros(len(raw), dtype=int)
    chosen = [ladder[0]] * len(raw)
    raw = [_thinned(data) for data in raw]
    below = _processed(raw, processing, ladder[0])
    for cutoff in ladder[1:]:
        fit = wls(compress(model, below))
        above = _processed(raw, processing, cutoff)
        for k, (low, high) in enumerate(zip(below, above, strict=True)):
            if idle[k] >= PATIENCE:
                continue
            gains[k] += np.log(PASS / max(_unexplained(fit, low, high), 1e-6))
            idle[k] = 0 if gains[k] > best[k] else idle[k] + 1
            if gains[k] > best[k]:
                best[k], chosen[k] = gains[k], cutoff
        if (idle >= PATIENCE).all():
            break
        below = above
    return chosen


def _thinned(data: Dataset) -> Dataset:
    """Means of blocks of samples, at `RATE` at least: enough for the candidates, and positions and torques alike."""
    data, _ = repaired(data)
    block = int(1.0 / (data.period * RATE))
    if block < 2:
        return data
    count = len(data) // block

    def mean(values: Array | None) -> Array | None:
        return None if values is None else values[: count * block].reshape(count, block, -1).mean(axis=1)

    q, tau, t = mean(data.q), mean(data.tau), mean(data.t[:, None])
    assert q is not None and tau is not None and t is not None
    mask = None if data.mask is None else np.asarray(data.mask[: count * block].reshape(count, block, -1).all(axis=1))
    return replace(data, t=t[:, 0], q=q, tau=tau, dq=mean(data.dq), ddq=mean(data.ddq), tau_raw=None, mask=mask)


def _processed(raw: Sequence[Dataset], processing: Processing, cutoff: float) -> list[Dataset]:
    """The recordings filtered alike, at samples that are the same for all cut-offs."""
    made = []
    for data in raw:
        rate = 1.0 / data.period
        every = max(1, int(rate / (SAMPLES * min(CANDIDATES[-1], HIGHEST * rate))))
        settings = replace(
            processing, cutoff=cutoff, every=every, slowest=0.0, between=None,
            rate="auto" if processing.rate is not None else None,
        )  # fmt: skip
        made.append(settings.apply(data))
    return made


def _unexplained(fit: Fit, low: Dataset, high: Dataset) -> float:
    """Share of the torques between two cut-offs that a fit of the lower one leaves."""
    model = fit.data.model
    parameters = np.zeros(len(model.parameter_names))
    parameters[list(model.base.independent)] = fit.beta
    band = high.tau - low.tau
    left = band - (torques(model, parameters, high) - torques(model, parameters, low))
    counts = np.ones(band.shape, dtype=bool)
    for data in (low, high):
        counts &= True if data.mask is None else data.mask
    weights = np.where(counts, fit.weights**2, 0.0)
    whole = float(np.sum(weights * band**2))
    return float(np.sum(weights * left**2)) / whole if whole > 0 else 1.0
