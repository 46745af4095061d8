"""Breaks real messages in every way that it can think of, for as long as it is told to, and says what could not be stored.

    python tests/fuzz.py                      ten minutes over the mail in ../shared/data
    python tests/fuzz.py ~/Mail/box.eml --seconds 60 --seed 7

Not collected by pytest: what it finds becomes a test in ``test_any_bytes.py``. Each message is taken from the mail, pieces of it
are cut out, doubled, moved, swapped with pieces of others, put in from a list of what parsers trip over, and bytes are changed; what
comes of it is prepared as ingest does, and must hold together: storable, the same twice, sections that tile the text, at least one
passage, nothing of the text lost when it is packed. A message may take a second and ten microseconds a byte. Prints one JSON
document; exit code 1 when anything was found.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import click
from test_any_bytes import DATA, assert_storable

from datasette_oaken import stored
from ingest.identity import content_hash
from ingest.message import parse_message
from ingest.prepare import prepare
from ingest.sources import mbox as mboxes
from ingest.sources import separators

PIECES = [
    b"\n", b"\r\n", b"\r", b"\n\n", b"\0", b"\xff\xfe", b"--", b"=", b"=\n", b"=?utf-8?q?", b"?=", b"=?utf-7?b?+", b'"', b"<", b">", b"(",
    b")", b"@", b";", b":", b",", b"\n ", b"\n\t", b"\nFrom ", b"\n>From ", b"\nContent-Type: multipart/mixed; boundary=x\n",
    b"\nContent-Type: message/rfc822\n\n", b"\nContent-Type: text/html\n\n", b"\nContent-Type: multipart/alternative; boundary=\n",
    b"\nContent-Transfer-Encoding: base64\n", b"\nContent-Transfer-Encoding: quoted-printable\n", b"\nContent-Transfer-Encoding: x-uuencode\n",
    b"; charset=utf-16", b"; charset=iso-2022-jp", b"; charset=utf-7", b"; charset=hz-gb-2312", b"; charset=x-none", b"\x1b$B", b"\x1b(B",
    b"; name*0*=utf-8''%", b"; name*1=a", b"; format=flowed; delsp=yes", b"\nDate: Mon, 99 Foo 99999 99:99:99 +9999\n", b"\nReferences: <a> <",
    b"\nSubject: ", b"\nbegin 644 a\n", b"\n`\nend\n", b"\x78\x9f\x3e\x22", b"<blockquote>", b"</div>", b"<table><tr><td>", b"<!--",
    b"<style>", b"<div class=gmail_quote>", b"&#x110000;", b"&nbsp;", b"\n> ", b"\n>>>>>> ", b"\n-- \n", b"\n-----Original Message-----\n",
    b"\nOn Monday, Sam wrote:\n", b"\n________________________________\nFrom: ", "\u202e\u0000\u2028\ufeff".encode(), b"\xf0\x9f\x98", b"\xed\xa0\x80",
]  # fmt: skip
LARGEST = 60_000
"""Bytes of a message that are worked on: short ones are broken more often in the time that there is."""


@click.command()
@click.argument("mail", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--seconds", type=click.IntRange(1), default=600, show_default=True)
@click.option("--seed", type=int, default=None, help="The same seed and mail, the same messages.")
@click.option(
    "--keep", type=click.Path(path_type=Path), default=None, help="A folder for the messages that were found."
)
def main(mail: Sequence[Path], seconds: int, seed: int | None, keep: Path | None) -> None:
    """Fuzz what reads mail."""
    seed = random.randrange(2**32) if seed is None else seed
    chance = random.Random(seed)
    samples = _samples(mail or [DATA / "mime", DATA / "reply", DATA / "html", DATA / "real/spamassassin"], chance)
    found: dict[str, dict[str, object]] = {}
    started, tried, slowest = time.monotonic(), 0, (0.0, 0)
    while time.monotonic() - started < seconds:
        raw = broken(chance.choice(samples), samples, chance)
        before = time.perf_counter()
        try:
            check(raw)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            if name not in found:
                digest = hashlib.sha256(raw).hexdigest()[:12]
                found[name] = {"error": str(error)[:300], "bytes": len(raw), "file": f"{digest}.eml"}
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{digest}.eml").write_bytes(raw)
        slowest = max(slowest, (time.perf_counter() - before, len(raw)))
        tried += 1
    answer = {
        "seconds": seconds,
        "seed": seed,
        "samples": len(samples),
        "tried": tried,
        "slowest_seconds": round(slowest[0], 3),
        "slowest_bytes": slowest[1],
        "found": found,
    }
    click.echo(json.dumps(answer, indent=2))
    sys.exit(bool(found))


def _samples(places: Sequence[Path], chance: random.Random) -> list[bytes]:
    samples: list[bytes] = []
    for place in places:
        files = [path for path in sorted(place.rglob("*")) if path.is_file()] if place.is_dir() else [place]
        for path in files:
            data = path.read_bytes()
            if separators.begins(data[:65_536]) is not None:
                spans = mboxes.Splitter(path.open("rb").read, separators.examine(data[: 1 << 20], complete=False))
                samples += [span.raw for span in spans if span.raw and len(span.raw) <= LARGEST]
            elif 0 < len(data) <= LARGEST:
                samples.append(data)
    chance.shuffle(samples)
    return samples


def broken(raw: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """``raw`` with one to eight things wrong."""
    for _ in range(chance.randint(1, 8)):
        at, length = chance.randrange(len(raw) + 1), int(chance.paretovariate(0.7))
        piece = raw[at : at + length]
        kind = chance.randrange(9)
        if kind == 0:
            raw = raw[:at] + raw[at + length :]
        elif kind == 1:
            raw = raw[:at] + piece * chance.randint(2, 50) + raw[at + length :]
        elif kind == 2:
            to = chance.randrange(len(raw) + 1)
            raw = raw[:to] + piece + raw[to:]
        elif kind == 3:
            other = chance.choice(others)
            start = chance.randrange(len(other) + 1)
            raw = raw[:at] + other[start : start + int(chance.paretovariate(0.4))] + raw[at:]
        elif kind == 4:
            raw = raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
        elif kind == 5:
            raw = raw[:at]
        elif kind == 6:
            raw = raw.replace(b"\n", chance.choice([b"\r\n", b"\r", b"\n\n", b"\n "]), chance.randint(1, 100))
        else:
            raw = raw[:at] + chance.choice(PIECES) * chance.choice([1, 1, 1, 2, 40]) + raw[at:]
        raw = raw[: LARGEST * 3]
    return raw


def check(raw: bytes) -> None:
    """Raises AssertionError, or whatever it is, when the message does not come out as any message must."""
    before = time.perf_counter()
    prepared = prepare(raw, content_hash(raw))
    took = time.perf_counter() - before
    assert took < 1 + len(raw) * 1e-5, f"{took:.1f} s for {len(raw)} bytes"
    assert_storable(raw)
    text = stored.unpack_text("raw", prepared.text, raw)
    assert text == parse_message(raw).text
    assert stored.unpack_raw(prepared.codec, prepared.raw) == raw
    at = 0
    for _, start, stop, why in prepared.sections:
        assert start == at < stop and why
        at = stop
    assert at == len(text) or not prepared.sections
    assert prepared.chunks
    for piece in prepared.chunks:
        assert (
            (piece.text.strip() or piece.section == "headers")
            and "\0" not in piece.text
            and piece.text.encode() is not None
        )


if __name__ == "__main__":
    main()
