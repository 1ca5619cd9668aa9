"""Maps from unconstrained numbers to a link's parameters, from no structure at all to every physical body.

The ladder of Sutanto et al. (2020, Sec. 3): `NoStr`, `Symm`, `SPD`, `Tri`, `Cov`; and two that every body has
(`LogCholesky`, one-to-one) or that steps relatively (`Spectral`). A new one is one new file and an entry here.
"""

from casid.errors import ProblemError
from casid.inertia.parametrisations.contract import BIAS, Parametrisation
from casid.inertia.parametrisations.covariance import Cov
from casid.inertia.parametrisations.damping import non_negative
from casid.inertia.parametrisations.definite import SPD
from casid.inertia.parametrisations.log_cholesky import LogCholesky
from casid.inertia.parametrisations.no_structure import NoStr
from casid.inertia.parametrisations.spectral import Spectral
from casid.inertia.parametrisations.symmetric import Symm
from casid.inertia.parametrisations.triangle import Tri

#: By name, from least to most structure.
PARAMETRISATIONS: dict[str, Parametrisation] = {
    p.name: p for p in (NoStr(), Symm(), SPD(), Tri(), Cov(), LogCholesky(), Spectral())
}


def parametrisation(name: str) -> Parametrisation:
    """The parametrisation of a name; ProblemError lists the known ones."""
    if name not in PARAMETRISATIONS:
        raise ProblemError(f"unknown parametrisation '{name}'; known: {', '.join(PARAMETRISATIONS)}")
    return PARAMETRISATIONS[name]


__all__ = [
    "BIAS",
    "PARAMETRISATIONS",
    "SPD",
    "Cov",
    "LogCholesky",
    "NoStr",
    "Parametrisation",
    "Spectral",
    "Symm",
    "Tri",
    "non_negative",
    "parametrisation",
]
