"""Where mail comes from. ``detect`` finds out what a path is; what it returns yields an ``Entry`` a message, light until it is
loaded, and a ``Failure`` for what could not be read. How they are used, and how a plugin adds a source: ``base``."""

from __future__ import annotations

from .base import Claim, Entry, Failure, Place, Source
from .detection import detect

__all__ = ["Claim", "Entry", "Failure", "Place", "Source", "detect"]
