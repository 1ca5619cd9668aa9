"""The identified coefficients that a problem was made from: what reports show and what tells the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Linear forms of the parameters with their identified values.

    Attributes
    ----------
    forms : ndarray, shape (r, N)
        K; fewer columns are those of the first unknowns.
    values : ndarray, shape (r,)
        Identified.
    sd : ndarray, shape (r,), or None
        Standard deviations of the values, same units.
    used : ndarray of bool, shape (r,)
        Which ones the objective contains; default all.
    samples : int or None
        Number of samples that the values were estimated from.

    Raises
    ------
    ProblemError
        For shapes that do not match, NaN, or negative standard deviations.
    """

    forms: Any
    values: Any
    sd: Any = None
    used: Any = None
    samples: int | None = None

    def __post_init__(self) -> None:
        forms, values = np.array(self.forms, dtype=float), np.array(self.values, dtype=float)
        if values.ndim != 1 or forms.ndim != 2 or len(forms) != len(values):
            raise ProblemError(f"coefficients: expected forms (r, N), values (r,), got {forms.shape}, {values.shape}")
        if not (np.isfinite(forms).all() and np.isfinite(values).all()):
            raise ProblemError("coefficients: forms and values must be finite")
        sd = None if self.sd is None else np.array(self.sd, dtype=float)
        used = np.ones(len(values), dtype=bool) if self.used is None else np.array(self.used, dtype=bool)
        for name, array in (("sd", sd), ("used", used)):
            if array is not None and array.shape != values.shape:
                raise ProblemError(f"coefficients: expected {len(values)} entries of '{name}', got shape {array.shape}")
        if sd is not None and not (np.isfinite(sd) & (sd >= 0)).all():
            raise ProblemError("coefficients: standard deviations must be finite and >= 0")
        if self.samples is not None and self.samples < 1:
            raise ProblemError(f"coefficients: the number of samples must be positive, got {self.samples}")
        for name, array in (("forms", forms), ("values", values), ("sd", sd), ("used", used)):
            if array is not None:
                array.setflags(write=False)
            object.__setattr__(self, name, array)
