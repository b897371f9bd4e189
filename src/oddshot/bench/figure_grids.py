"""The grids of runs that a figure needs, for `oddshot bench figures --run`."""

import dataclasses
from collections.abc import Sequence

from oddshot.bench import paper
from oddshot.bench.curves import SWEEPS, Sweep
from oddshot.bench.grid import Grid


def grids_for_figure(name: str, grid: Grid, methods: Sequence[str] | None) -> list[Grid]:
    """The grids whose runs a figure is drawn from, derived from the given grid.

    methods: None for the figure's default methods.
    """
    if name in SWEEPS:
        return sweep_grids(SWEEPS[name], grid, methods or paper.FIGURE3_METHODS)
    if name == "ranks":
        return [dataclasses.replace(grid, methods=tuple(methods or paper.TABLE1_METHODS))]
    return []


def sweep_grids(sweep: Sweep, grid: Grid, methods: Sequence[str]) -> list[Grid]:
    """For every value of a sweep, the given grid with the setting at this value."""
    grids = []
    for value in sweep.values:
        names = tuple(dict.fromkeys(sweep.methods_at(value, methods).values()))
        overrides = tuple(override for override in grid.settings.overrides if override[0] in names)
        settings = dataclasses.replace(grid.settings, overrides=overrides)
        ((name, changed),) = sweep.where(value).items()
        if name.startswith("sizes."):
            sizes = dataclasses.replace(settings.sizes, **{name.removeprefix("sizes."): changed})
            settings = dataclasses.replace(settings, sizes=sizes)
        else:
            settings = dataclasses.replace(settings, **{name: changed})
        grids.append(dataclasses.replace(grid, methods=names, settings=settings))
    return grids
