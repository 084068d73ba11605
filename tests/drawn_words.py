"""What words in a figure lie over; a conftest cannot be imported by its name."""

from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.figure import Figure
from matplotlib.path import Path


def covered(figure: Figure) -> list[str]:
    """The words in panels that lie over a drawn curve."""
    figure.draw_without_rendering()
    return [
        text.get_text()
        for panel in figure.axes
        for text in panel.texts
        if any(
            curve.intersects_bbox(text.get_window_extent(), filled=False) for curve in curves(panel)
        )
    ]


def curves(panel) -> list[Path]:
    """The data lines of a panel as they are drawn, steps and all, in pixels."""
    return [
        panel.transData.transform_path(Path(list(zip(*as_drawn(line), strict=True))))
        for line in panel.lines
        if line.get_transform() == panel.transData
        and line.get_linestyle().lower() != "none"
        and len(line.get_xdata()) > 1
    ]


def as_drawn(line):
    return STEP_LOOKUP_MAP[line.get_drawstyle()](line.get_xdata(), line.get_ydata())
