"""Maps from unconstrained numbers to a link's parameters, from no structure at all to every physical body.

The ladder of Sutanto et al. (2020, Sec. 3): `NoStr`, `Symm`, `SPD`, `Tri`, `Cov`; and two that reach every body
(`LogCholesky`, one-to-one) or whose steps are relative (`Spectral`). A new one is one subclass of `Parametrisation` and
one line of the catalogue.
"""

from typing import TYPE_CHECKING

from casid import _earlier

# The contract, and the catalogue by name
from casid.inertia.parametrisations._contract import Parametrisation as Parametrisation
from casid.inertia.parametrisations._maps import parametrisation as parametrisation

# From least to most structure
from casid.inertia.parametrisations._maps import NoStr as NoStr
from casid.inertia.parametrisations._maps import Symm as Symm
from casid.inertia.parametrisations._maps import SPD as SPD
from casid.inertia.parametrisations._maps import Tri as Tri
from casid.inertia.parametrisations._maps import Cov as Cov
from casid.inertia.parametrisations._maps import LogCholesky as LogCholesky
from casid.inertia.parametrisations._maps import Spectral as Spectral

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
