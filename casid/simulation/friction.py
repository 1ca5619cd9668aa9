"""Treatments of dry friction of earlier versions: they are in `casid.simulation` now."""

from casid._earlier import earlier_names

__getattr__ = earlier_names(__name__)
