"""Entropic estimates: the physically consistent bodies of least log-det divergence from plausible ones."""

# Estimates from quadratic information, with a bound of their suboptimality
from casid.inertia.entropic._estimate import Plausible as Plausible

# between rooms
from casid.inertia.entropic._estimate import Entropic as Entropic
from casid.inertia.entropic._estimate import DECREASE as DECREASE
from casid.inertia.entropic._estimate import FIRST as FIRST
from casid.inertia.entropic._estimate import KEPT as KEPT
from casid.inertia.entropic._estimate import SETTLED as SETTLED
from casid.inertia.entropic._estimate import SLOW as SLOW
from casid.inertia.entropic._estimate import SMALLEST as SMALLEST
from casid.inertia.entropic._estimate import STEEPEST as STEEPEST
from casid.inertia.entropic._estimate import WARM as WARM
from casid.inertia.entropic._estimate import entropic_estimate as entropic_estimate
from casid.inertia.entropic._estimate import nearest_bodies as nearest_bodies
from casid.inertia.entropic._estimate import nearest_right_side as nearest_right_side
