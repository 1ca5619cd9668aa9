"""What a solution and its data imply: explanations, intervals, what further knowledge would settle."""

# between rooms
from casid.retrieval.insight._explain import WhatIf as WhatIf
from casid.retrieval.insight._explain import weigh_each_link as weigh_each_link
from casid.retrieval.insight._explain import what_if as what_if
from casid.retrieval.insight._intervals import Intervals as Intervals
from casid.retrieval.insight._intervals import ParameterInterval as ParameterInterval
