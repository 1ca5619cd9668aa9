"""What data prove: the one comparison at the one confidence; noise, and residuals that repeat themselves."""

# Which of two accounts is surely better
from casid.evidence._comparison import CONFIDENCE as CONFIDENCE
from casid.evidence._comparison import NOTICEABLE as NOTICEABLE
from casid.evidence._comparison import PARTS as PARTS
from casid.evidence._comparison import Comparison as Comparison
from casid.evidence._comparison import as_good as as_good
from casid.evidence._comparison import compared as compared
from casid.evidence._comparison import jackknife as jackknife

# What was found, in words
from casid.evidence._finding import Finding as Finding

# Noise
from casid.evidence._noise import robust_sd as robust_sd
from casid.evidence._noise import white_sd as white_sd

# Residuals that are correlated in time
from casid.evidence._correlation import Batches as Batches
from casid.evidence._correlation import ResidualNoise as ResidualNoise
