"""Entropic estimates: the physically consistent bodies of least log-det divergence from plausible ones."""

# Estimates from quadratic information, with a bound of their suboptimality
from casid.inertia.entropic._estimate import Plausible as Plausible
