"""Bodies of links: a table, and a picture as ellipsoids of uniform density on the robot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import numeric_array
from casid.inertia import LinkParameters, from_standard, link_slice
from casid.report._shapes import Shape, link_placements, shapes_found
from casid.report._style import FAINT, INK, MUTED, Figure, link_colours, new_figure
from casid.report._tables import NAME, PlainTable, numbers

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox
    from mpl_toolkits.mplot3d import Axes3D


def links_table(links: Iterable[LinkParameters], title: str = "Links") -> Table:
    """Mass, centre of mass and principal moments of inertia about it, one row for each link."""
    links = tuple(links)
    rows = []
    for link in links:
        com = "  ".join(f"{round(value, 4) + 0.0:+.4f}" for value in link.com)
        moments = "  ".join(f"{value:.2e}" for value in link.principal_moments)
        rows.append((link.name, f"{link.mass:.4f}", com, moments))
    total = ("total", f"{sum(link.mass for link in links):.4f}", "", "")
    columns = {"link": NAME} | numbers("mass [kg]", "centre of mass [m]", "principal moments [kg m²]")
    return PlainTable(title, columns, [*rows, None, total])


def links_figure(robot: Robot, parameters: ArrayLike, posture: ArrayLike | None = None, title: str = "") -> Figure:
    """Skeleton of the robot with each link's centre of mass and equivalent ellipsoid, from two sides, axes equal.

    The ellipsoid is the body of uniform density with the link's mass and inertia: semi-axes ``sqrt(5 lambda_i / m)``
    along the eigenvectors of ``Sigma = tr(I)/2 1 - I``, the second moment of mass about the centre of mass. A negative
    ``lambda_i`` (no real body) counts as zero. Behind them the shapes of the robot's file, where its meshes are found.

    Parameters
    ----------
    parameters
        Standard parameters, shape (10 links,).
    posture
        Joint positions, shape (n,) [rad or m]; default: the middle of the limits.
    """
    where, size = f"robot '{robot.name}': parameters", len(robot.parameter_names())
    parameters = numeric_array(parameters, where, DatasetError, shape=(size,))
    q = robot.limits.middle if posture is None else np.asarray(posture, dtype=float)
    placements = link_placements(robot, q)
    colours = link_colours(len(robot.links))
    labels = [f"{link.name}  {mass:.3g} kg" for link, mass in zip(robot.links, parameters[9::10], strict=True)]
    columns = max(1, min(len(labels), 150 // (max(map(len, labels)) + 6)))
    head = 0.55 + 0.22 * -(-len(labels) // columns)  # inches that title and legend take
    height = 6.0 + head
    title = title or f"{robot.name}: links as ellipsoids of uniform density"
    figure = new_figure(10.0, height, title, layout=None)

    bodies = [_ellipsoid(parameters[link_slice(k)], placements[k]) for k in range(len(robot.links))]
    points = [np.zeros((1, 3)), np.stack([T[:3, 3] for T in placements])]
    points += [body.surface.reshape(3, -1).T for body in bodies]
    drawn = [_moved(shape, placements) for shape in shapes_found(robot)]
    points += [shape.vertices for shape in drawn]
    cloud = np.concatenate(points)
    for k, (elevation, azimuth) in enumerate(((18.0, -62.0), (12.0, 28.0))):  # two sides [deg]
        axes = figure.add_axes((0.5 * k, 0.0, 0.5, 6.0 / height), projection="3d", computed_zorder=False)
        axes = cast("Axes3D", axes)
        axes.view_init(elevation, azimuth)
        for shape in drawn:
            faces, grey = shape.faces, "#8b93a1"
            axes.plot_trisurf(*shape.vertices.T, triangles=faces, color=grey, alpha=0.18, linewidth=0, zorder=1)
        _skeleton(axes, robot, placements)
        for colour, body in zip(colours, bodies, strict=True):
            axes.plot_surface(*body.surface, color=colour, alpha=0.30, linewidth=0, antialiased=True, zorder=2)
            for half in body.semi_axes.T:  # flat bodies and needles stay visible
                axes.plot(*np.stack([body.centre - half, body.centre + half], axis=1), color=colour, lw=1.2, zorder=2)
            axes.plot(*body.centre[:, None], "o", color=colour, ms=5.5, mec="white", mew=0.8, zorder=5)
        _equal(axes, cloud)
        _fill(figure, axes, (0.5 * k + 0.01, 0.02, 0.47, 5.85 / height))
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], marker="o", linestyle="", color=colour, ms=7) for colour in colours]
    figure.legend(
        marks, labels, loc="upper left", bbox_to_anchor=(0.005, 1 - 0.42 / height), ncols=columns, frameon=False,
        fontsize=9, handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
    return figure


def _moved(shape: Shape, placements: Array) -> Shape:
    """The shape in the base frame."""
    placement = placements[shape.joint] if shape.joint >= 0 else np.eye(4)
    return Shape(shape.joint, shape.vertices @ placement[:3, :3].T + placement[:3, 3], shape.faces)


def semi_axes(parameters: Array) -> Array:
    """Semi-axes of the uniform ellipsoid that a link's parameters are of, as columns in its frame, shape (3, 3) [m]."""
    mass, _, inertia = from_standard(parameters)
    values, vectors = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    lengths = np.sqrt(5.0 * np.maximum(values, 0.0) / mass) if mass > 0 else np.zeros(3)
    return np.asarray(lengths * vectors)


class _Ellipsoid(NamedTuple):
    """In the base frame: centre (3,), semi-axes as columns (3, 3), surface (3, u, v) [m]."""

    centre: Array
    semi_axes: Array
    surface: Array


def _ellipsoid(parameters: Array, placement: Array) -> _Ellipsoid:
    """Uniform ellipsoid of a link whose frame has the given placement."""
    rotation, origin = placement[:3, :3], placement[:3, 3]
    centre, axes = rotation @ from_standard(parameters)[1] + origin, rotation @ semi_axes(parameters)
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 33), np.linspace(0, np.pi, 17), indexing="ij")
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    return _Ellipsoid(centre, axes, np.einsum("ij,juv->iuv", axes, sphere) + centre[:, None, None])


def _skeleton(axes: Axes3D, robot: Robot, placements: Array) -> None:
    """Lines from each link's origin to its parent's, the base as a square."""
    for joint, T in zip(robot.joints, placements, strict=True):
        start = placements[joint.parent][:3, 3] if joint.parent >= 0 else np.zeros(3)
        line = np.stack([start, T[:3, 3]], axis=1)
        axes.plot(*line, color=INK, linewidth=2.0, solid_capstyle="round", zorder=3)
        axes.plot(*T[:3, 3:], "o", color="white", mec=INK, mew=1.1, ms=4.0, zorder=4)
    axes.plot([0], [0], [0], "s", color=INK, ms=6, zorder=4)


def _equal(axes: Axes3D, cloud: Array) -> None:
    """The same scale on all three axes, around the drawn points; few, plain ticks."""
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    low, high = cloud.min(axis=0), cloud.max(axis=0)
    span = np.maximum(high - low, 0.35 * (high - low).max()) * 1.06
    middle = (low + high) / 2
    step = np.diff(MaxNLocator(9, steps=(1, 2, 5, 10)).tick_values(0.0, span.max()))[0]
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - span[k] / 2, middle[k] + span[k] / 2)
        axis = getattr(axes, f"{name}axis")
        if name == "z":  # matplotlib would print it upside down in one of the views
            axis.set_rotate_label(False)
        getattr(axes, f"set_{name}label")(f"{name} [m]", fontsize=9, color=INK, rotation=90.0 * (name == "z"))
        axis.set_major_locator(MultipleLocator(step))
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color=FAINT, linewidth=0.5)
    axes.tick_params(labelsize=8, colors=MUTED, pad=1)
    axes.set_box_aspect(tuple(span))


def _fill(figure: Figure, axes: Axes3D, place: tuple[float, float, float, float]) -> None:
    """Zoom and move the drawn box, labels included, into a rectangle: left, bottom, width, height of the figure."""
    left, bottom, width, height = place
    span = tuple(np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim()))
    zoom = 1.0
    for _ in range(3):  # perspective and fixed label sizes: later passes correct the first
        drawn = _drawn(figure, axes)
        zoom *= min(width / drawn.width, height / drawn.height)
        axes.set_box_aspect(span, zoom=zoom)
    drawn, own = _drawn(figure, axes), axes.get_position(original=True)
    shift_x = left + width / 2 - (drawn.x0 + drawn.x1) / 2
    shift_y = bottom + height / 2 - (drawn.y0 + drawn.y1) / 2
    axes.set_position((own.x0 + shift_x, own.y0 + shift_y, own.width, own.height))


def _drawn(figure: Figure, axes: Axes3D) -> Bbox:
    """Rectangle that the box and its labels take, in fractions of the figure."""
    from matplotlib.transforms import Bbox
    from mpl_toolkits.mplot3d import proj3d

    figure.draw_without_rendering()
    corners = np.array(np.meshgrid(axes.get_xlim(), axes.get_ylim(), axes.get_zlim())).reshape(3, -1)
    projected = np.transpose(proj3d.proj_transform(*corners, axes.get_proj())[:2])
    box = Bbox.null()
    box.update_from_data_xy(axes.transData.transform(projected))
    renderer = cast("FigureCanvasAgg", figure.canvas).get_renderer()
    labels = [axis.get_tightbbox(renderer) for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
    return Bbox.union([box, *(label for label in labels if label)]).transformed(figure.transFigure.inverted())
