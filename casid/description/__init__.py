"""What the machine is: frozen robot descriptions and the readers that make them."""

from casid.description.robot import Frame, Inertial, Joint, Limits, Link, LinkBounds, Robot

__all__ = ["Frame", "Inertial", "Joint", "Limits", "Link", "LinkBounds", "Robot"]
