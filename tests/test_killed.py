"""Whatever kills a writer, and whenever: the file is sound, and the next run ends where an undisturbed one does."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("verb", "times"), [("ingest", 34), ("embed", 33), ("forget", 33)])
def test_a_writer_killed_at_a_hundred_random_moments_harms_nothing(tmp_path: Path, verb: str, times: int) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")  # pytest shows it when this fails
    command = [sys.executable, str(TESTS / "killing.py"), str(tmp_path), verb, str(times), str(seed)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=900, check=False, cwd=TESTS.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {"killed": times, "wrong": [], "differing": 0}
