"""On-line identification: samples are added one by one, and physically consistent parameters follow at any instant."""

# The robot's own parameters
from casid.identification.online._estimator import Online as Online
from casid.identification.online._estimator import entropic_fit as entropic_fit
