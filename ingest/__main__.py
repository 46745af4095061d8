"""``python -m ingest`` is ``oaken``."""

from .cli import main

main()
