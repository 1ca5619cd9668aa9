"""Pages that show a robot in three dimensions, curves to zoom, tables to sort: one file each, no network."""

from casid.report.viewer.opened import view
from casid.report.viewer.page import html_table, image, page, plot_box, robot_box
from casid.report.viewer.scene import scene, torque_charts

__all__ = ["html_table", "image", "page", "plot_box", "robot_box", "scene", "torque_charts", "view"]
