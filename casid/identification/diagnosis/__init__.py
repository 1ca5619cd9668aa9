"""Is the model right: findings about recordings, and the verdict on an identification."""

from casid.identification.diagnosis._findings import Finding as Finding
from casid.identification.diagnosis._verdict import Verdict as Verdict
