"""What the benchmarks share: mail to measure with, a process measured from outside, notmuch beside us, and a table.

Nothing here imports the model or anything else heavy: a process that is started inherits its parent's size for a moment.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
sys.path[:] = [
    path for path in sys.path if Path(path).resolve() != HERE
]  # benchmarks/ingest.py is not the package ingest
ROOT = HERE.parent
OUT = ROOT / "benchmarks" / "out"
DATA = ROOT.parent / "shared" / "data" / "real"
DEFAULT_MAIL = (DATA / "spamassassin" / "easy-ham-1.mbox", DATA / "linux-man" / "2019.mbox")
OAKEN = (sys.executable, "-m", "ingest")

mail_argument = click.argument("mail", nargs=-1, type=click.Path(exists=True, path_type=Path))
demo_option = click.option("--demo", is_flag=True, help="Use the demo mailbox.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
work_option = click.option(
    "--work", type=click.Path(path_type=Path), default=OUT, show_default=True, help="Where files are made."
)


def mail_to_use(given: Sequence[Path], demo: bool, work: Path) -> list[Path]:
    """The paths to ingest: those given, the demo mailbox, or the real mail beside the project. Exits where there is none."""
    work.mkdir(parents=True, exist_ok=True)
    if demo:
        from ingest.demo import write_mbox

        path = work / "demo.mbox"
        write_mbox(path)
        return [path]
    chosen = list(given or DEFAULT_MAIL)
    missing = [path for path in chosen if not path.exists()]
    if missing:
        raise click.UsageError(f"There is no mail at {missing[0]}: name mbox files or Maildirs, or use --demo.")
    return chosen


def corpus_name(paths: Sequence[Path], messages: int) -> str:
    """The corpus as a figure names it."""
    return f"{' + '.join(path.name for path in paths)}, {messages:,} messages"


def raw_messages(paths: Sequence[Path]) -> Iterator[bytes]:
    """Every message of ``paths``, as it came in."""
    from ingest.sources import Entry, detect

    for path in paths:
        for entry in detect(path).entries():
            if isinstance(entry, Entry):
                yield entry.load()


def write_maildir(paths: Sequence[Path], folder: Path) -> int:
    """Write the messages of ``paths`` as a new Maildir; how many there are."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True)
    count = 0
    for count, raw in enumerate(raw_messages(paths), 1):
        (folder / "cur" / f"{count:09}.oaken:2,").write_bytes(raw)
    return count


@dataclass(frozen=True)
class Measured:
    """A process that ended: its wall time, its output, and the largest that it and its children were together.

    ``rss`` counts a page that two processes share twice, ``pss`` once; both in bytes, None where there is no /proc, or where
    ``pss``, which costs more to find out, was not asked for.
    """

    seconds: float
    output: str
    rss: int | None
    pss: int | None


def measure(command: Sequence[str | Path], *, env: dict[str, str] | None = None, pss: bool = False) -> Measured:
    """Run ``command`` to its end, looking at its memory every tenth of a second. Exits when it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, encoding="utf-8"
    )
    peaks = {"rss": 0, "pss": 0}
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, ended, pss, peaks))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - started
    ended.set()
    watcher.join()
    if process.returncode:
        raise click.ClickException(f"{' '.join(map(str, command))} ended with {process.returncode}: {output[-500:]}")
    return Measured(seconds, output, peaks["rss"] or None, peaks["pss"] or None)


def _watch(pid: int, ended: threading.Event, pss: bool, peaks: dict[str, int]) -> None:
    while not ended.wait(0.1):
        family = list(_family(pid))
        peaks["rss"] = max(peaks["rss"], sum(map(_rss, family)))
        if pss:
            peaks["pss"] = max(peaks["pss"], sum(map(_pss, family)))


def _rss(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has just ended
        return 0


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _family(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))


class Notmuch:
    """notmuch over a Maildir, with a configuration of its own."""

    def __init__(self, maildir: Path, work: Path) -> None:
        if shutil.which("notmuch") is None:
            raise click.ClickException("notmuch is not installed: apt install notmuch, or use --no-notmuch.")
        self.index = maildir / ".notmuch"
        config = work / "notmuch.conf"
        config.write_text(f"[database]\npath={maildir}\n[new]\ntags=unread\n[search]\nexclude_tags=\n")
        self.env = {**os.environ, "NOTMUCH_CONFIG": str(config)}

    def new(self) -> Measured:
        """``notmuch new`` from nothing."""
        shutil.rmtree(self.index, ignore_errors=True)
        return measure(["notmuch", "new", "--quiet"], env=self.env)

    def count(self) -> int:
        """The files that it knows."""
        done = subprocess.run(
            ["notmuch", "count", "--output=files", "*"], env=self.env, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    def version(self) -> str:
        """``notmuch 0.37``"""
        return subprocess.run(["notmuch", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that at least ``share`` of all are no larger than."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def conditions() -> dict[str, Any]:
    """What a figure must be read with: when, on what, and how busy it was."""
    return {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def show(answer: dict[str, Any], rows: Sequence[Sequence[object]], notes: Sequence[str], as_json: bool) -> None:
    """Print ``answer`` as JSON, or ``rows`` (the first is the heading) as a table with ``notes`` beneath."""
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    for row in texts:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        click.echo("  ".join(cells).rstrip())
    where = answer["conditions"]
    click.echo()
    for note in notes:
        click.echo(note)
    click.echo(
        f"{where['date']}, {where['cpus']} cores, {where['machine']}, Python {where['python']}, "
        f"load {where['load_1min']} at the start"
    )


def megabytes(size: int | None) -> str:
    """``213 MB``, or a dash where it is not known."""
    return "-" if size is None else f"{size / 1e6:,.0f} MB"
