"""Identification on line: samples go in one by one, physically consistent parameters come out at any instant."""

from casid.dynamics.terms._joint_terms import GEAR_FRICTION
from casid.identification.online.change import ChangeDetector
from casid.identification.online.entropic import Entropic, entropic_estimate
from casid.identification.online.information import Information
from casid.identification.online.load import LoadEstimate, OnlineLoad
from casid.identification.online.online import Online, OnlineEstimate, entropic_fit
from casid.identification.online.plausible import Plausible

__all__ = [
    "GEAR_FRICTION",
    "ChangeDetector",
    "Entropic",
    "Information",
    "LoadEstimate",
    "Online",
    "OnlineEstimate",
    "OnlineLoad",
    "Plausible",
    "entropic_estimate",
    "entropic_fit",
]
