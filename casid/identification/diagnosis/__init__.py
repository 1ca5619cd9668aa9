"""Is the model right: findings about recordings, and the verdict on an identification."""

from casid.identification.diagnosis._findings import CAUSES as CAUSES
from casid.identification.diagnosis._findings import Finding as Finding
from casid.identification.diagnosis._findings import Trial as Trial
from casid.identification.diagnosis._findings import Verdict as Verdict
