"""Maps from unconstrained numbers to a link's parameters, from no structure at all to every physical body.

Each is had by its name, `parametrisation`: the ladder of Sutanto et al. (2020, Sec. 3), ``nostr symm spd tri cov``; and
two that reach every body (``log-cholesky``, one-to-one) or whose steps are relative (``spectral``). A new one is one
subclass of `Parametrisation` and one line of the catalogue.
"""

# The contract, and the catalogue by name
from casid.inertia.parametrisations._maps import Parametrisation as Parametrisation
from casid.inertia.parametrisations._maps import parametrisation as parametrisation
