"""What data prove: the one comparison at the one confidence; noise, and residuals that repeat themselves."""

# Which of two accounts is surely better
from casid.evidence._statistics import CONFIDENCE as CONFIDENCE
from casid.evidence._statistics import NOTICEABLE as NOTICEABLE
from casid.evidence._statistics import PARTS as PARTS
from casid.evidence._statistics import Comparison as Comparison
from casid.evidence._statistics import compared as compared
from casid.evidence._statistics import jackknife as jackknife

# What was found, in words
from casid.evidence._finding import Finding as Finding

# Noise
from casid.evidence._statistics import REPEATED as REPEATED
from casid.evidence._statistics import LEFT as LEFT
from casid.evidence._statistics import robust_sd as robust_sd
from casid.evidence._statistics import white_sd as white_sd

# Residuals that are correlated in time
from casid.evidence._statistics import Batches as Batches
from casid.evidence._statistics import ResidualNoise as ResidualNoise
