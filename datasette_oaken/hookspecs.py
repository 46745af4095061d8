"""Oaken's own hooks (pluggy, project name "oaken"): how another package adds mail sources, embedders and judges.

A plugin is a module or object with functions marked ``hookimpl``, named by an entry point in the group ``oaken``::

    [project.entry-points.oaken]
    my_mail = "my_package.my_module"
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import pluggy

PROJECT = "oaken"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Specs(Protocol):
    """Every hook that Oaken calls."""

    @hookspec
    def register_sources(self) -> list[Callable[..., Any]]:
        """Where mail comes from: a list of functions ``claim(place) -> source or None``.

        Each is shown every file and folder of the path that a person names, as an ``ingest.sources.Place``, and returns an
        ``ingest.sources.Source`` when it is of its kind. Plugins are asked before what Oaken itself knows. A folder that is
        claimed is not looked into, unless the source has ``covers``: the names in it that are dealt with.
        """

    @hookspec
    def register_embedders(self) -> list[Any]:
        """What turns text into vectors: a list of ``datasette_oaken.embedders.Embedder``, used by their ``name``.

        Making the list must be quick: load the weights at the first text, not here.
        """

    @hookspec
    def register_judges(self) -> list[Any]:
        """What answers a question about a message: a list of functions ``claim(name, allow_remote, settings) -> judge or None``.

        Each is shown the name that a person gave after ``--judge`` and returns an ``ingest.judging.base.Judge`` when it is of
        its kind. Plugins are asked before what Oaken itself knows. One that sends mail elsewhere must refuse unless
        ``allow_remote`` names the host, and must say so in its ``remote_host``.
        """


@cache
def plugins() -> pluggy.PluginManager:
    """The plugin manager of this process, with the plugins that are installed. Register others with its ``register``."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Specs)
    manager.load_setuptools_entrypoints(PROJECT)
    return manager
