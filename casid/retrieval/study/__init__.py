"""Many starts of one problem or of several: in memory, or streamed to a file that a killed study continues."""

# Over starts and parameters
from casid.retrieval.study._study import study as study

# between rooms
from casid.retrieval.study._study import Study as Study
from casid.retrieval.study._study import multistart as multistart
