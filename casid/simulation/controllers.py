"""Controllers of earlier versions: they are in `casid.control` now."""

from casid._earlier import earlier_names

__getattr__ = earlier_names(__name__)
