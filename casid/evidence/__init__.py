"""What data prove: one comparison of two accounts of the same stretches of a motion, at one confidence."""

from casid.evidence._comparison import CONFIDENCE as CONFIDENCE
from casid.evidence._comparison import Comparison as Comparison
from casid.evidence._comparison import compared as compared
