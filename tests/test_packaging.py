"""What ``pip install`` gives, away from the checkout: a wheel that lacks a template works for its authors and no one else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("datasette_oaken", "ingest")

MBOX = """\
From heron@example.org Mon Mar  4 09:00:00 2024
Message-ID: <m1@example.org>
Date: Mon, 04 Mar 2024 09:00:00 +0000
From: Ada Heron <heron@example.org>
To: Ben Rook <rook@example.net>
Subject: Thursday

I will collect the children from school on Thursday, so you need not leave the office early.

From rook@example.net Tue Mar  5 10:00:00 2024
Message-ID: <m2@example.org>
Date: Tue, 05 Mar 2024 10:00:00 +0000
From: Ben Rook <rook@example.net>
To: Ada Heron <heron@example.org>
Subject: Invoice

The plumber's bill for the new boiler came to four hundred pounds; I have paid it.

"""

NO_NETWORK = """\
import os, sys

def refuse(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if host not in ("127.0.0.1", "::1", "localhost", None):
        with open(os.environ["OAKEN_TEST_CALLS"], "a") as calls:
            print(event, host, sys.argv, file=calls)
        raise OSError(f"no network here: {host}")

sys.addaudithook(refuse)
"""


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, encoding="utf-8", timeout=600, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


class Built(NamedTuple):
    """A still copy of the checkout, and what was built from it; ``wheel`` by way of the sdist, ``direct`` without it."""

    source: Path
    sdist: Path
    wheel: Path
    direct: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("dist")
    source = out / "source"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in ["pyproject.toml", ".gitignore", *project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "out")
            )
        elif (ROOT / name).exists():
            source.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--outdir", out, source, cwd=out)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out / "direct", source, cwd=out)
    (sdist,), (wheel,), (direct,) = out.glob("*.tar.gz"), out.glob("*.whl"), (out / "direct").glob("*.whl")
    return Built(source, sdist, wheel, direct)


def expected_in_wheel(source: Path) -> dict[str, bytes]:
    """Every file of the two packages, links followed, as the wheel must hold it."""
    found = {}
    for package in PACKAGES:
        for folder, _, names in os.walk(source / package, followlinks=True):
            for name in names:
                path = Path(folder, name)
                found[path.relative_to(source).as_posix()] = path.read_bytes()
    return found


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_every_file_as_a_file(built: Built) -> None:
    inside = contents(built.direct)
    packaged = {name: body for name, body in inside.items() if name.split("/")[0] in PACKAGES}
    expected = expected_in_wheel(built.source)
    assert sorted(packaged) == sorted(expected)
    assert [name for name in expected if packaged[name] != expected[name]] == []
    with zipfile.ZipFile(built.direct) as archive:
        links = [info.filename for info in archive.infolist() if info.external_attr >> 16 & 0o170000 == 0o120000]
    assert links == []
    for needed in (
        "templates/oaken_search.html",
        "static/oaken.css",
        "metadata.yaml",
        "model/NOTICE",
        "model/tokenizer.json",
    ):
        assert packaged[f"datasette_oaken/{needed}"]


def test_a_wheel_made_from_the_sdist_is_the_same_wheel(built: Built) -> None:
    assert contents(built.wheel) == contents(built.direct)


def test_the_sdist_has_what_a_packager_needs(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        links = [(m.name.partition("/")[2], m.linkname) for m in archive if m.issym() or m.islnk()]
    # A link may stay one where it leads to a file of the archive itself.
    astray = [name for name, to in links if os.path.normpath(Path(name).parent / to).replace(os.sep, "/") not in names]
    assert astray == []
    tests = {f"tests/{path.name}" for path in (built.source / "tests").glob("*.py")}
    needed = {
        "pyproject.toml",
        "Makefile",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "datasette_oaken/templates/oaken_base.html",
    }
    assert (tests | needed) - names == set()


class Installed:
    """The wheel in a fresh environment, outside the checkout: no network, an empty home, nothing cached."""

    def __init__(self, folder: Path, wheel: Path, source: Path) -> None:
        self.home, self.work, self.calls = folder / "home", folder / "work", folder / "calls.txt"
        self.source = source
        for made in (self.home, self.work, folder / "site"):
            made.mkdir()
        venv.create(folder / "venv", with_pip=True, symlinks=os.name != "nt")
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run(self.bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=self.work)
        (folder / "site" / "sitecustomize.py").write_text(NO_NETWORK)
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMPDIR") if name in os.environ}
        nowhere = "http://127.0.0.1:9"
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere)
        self.env = {
            **kept,
            **proxies,
            "PATH": os.pathsep.join([str(self.bin), os.defpath]),
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(folder / "site"),
            "OAKEN_TEST_CALLS": str(self.calls),
        }

    def run(self, command: str, *arguments: str) -> str:
        return run(self.bin / command, *arguments, cwd=self.work, env=self.env).stdout


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    there = Installed(tmp_path_factory.mktemp("installed"), built.wheel, built.source)
    (there.work / "mail.mbox").write_text(MBOX)
    return there


@pytest.fixture(scope="session")
def file(installed: Installed) -> str:
    """A database, made by the installed command, by another name than the default."""
    answer = json.loads(installed.run("oaken", "ingest", "mail.mbox", "--db", "letters.db", "--json"))
    assert (answer["added"], answer["failures"], answer["embedding_backlog"]) == (2, [], 0)
    return "letters.db"


def test_the_command_is_there_and_is_the_installed_one(installed: Installed) -> None:
    help_text = installed.run("oaken", "--help")
    listed = re.findall(r"^  (\w+)  ", help_text.partition("Commands:")[2], re.MULTILINE)
    assert {"ingest", "search", "serve", "doctor"} <= set(listed)
    assert installed.run("oaken", "--version").strip() == f"oaken, version {distribution('datasette-oaken').version}"
    where = installed.run(
        "python", "-c", "import datasette_oaken, ingest; print(datasette_oaken.__file__, ingest.__file__)"
    )
    assert str(ROOT) not in where
    assert where.count(str(installed.bin.parent)) == 2


def assert_untouched(installed: Installed) -> None:
    """Nobody was called, and nothing was put in the home folder: no cache, no device id of somebody's telemetry."""
    assert not installed.calls.exists(), installed.calls.read_text()
    assert [str(path.relative_to(installed.home)) for path in installed.home.rglob("*")] == []


def test_search_by_meaning_needs_no_network_and_no_cache(installed: Installed, file: str) -> None:
    asked = ("search", "who picks up the kids after lessons", "--mode", "vector", "--json", "--db", file)
    answer = json.loads(installed.run("oaken", *asked))
    assert (answer["degraded"], answer["degraded_reason"], answer["coverage"]) == (False, None, 1.0)
    assert [hit["internet_message_id"] for hit in answer["hits"]] == ["<m1@example.org>", "<m2@example.org>"]
    assert_untouched(installed)


def test_plain_datasette_shows_the_plugin_whatever_the_file_is_called(installed: Installed, file: str) -> None:
    page = installed.run("datasette", file, "--get", "/-/oaken?q=boiler")
    assert 'href="/-/oaken/message/2' in page
    (sheet,) = re.findall(r'<link rel="stylesheet" href="(/-/static-plugins/[^"]*oaken\.css[^"]*)"', page)
    style = installed.run("datasette", file, "--get", sheet)
    assert style.strip() == (installed.source / "datasette_oaken/static/oaken.css").read_text(encoding="utf-8").strip()


def test_plain_datasette_applies_the_packaged_metadata(installed: Installed, file: str) -> None:
    assert "One row a message." in installed.run("datasette", file, "--get", "/letters/messages")
    assert_untouched(installed)


def test_an_editable_install_finds_templates_and_static_files(tmp_path: Path) -> None:
    told = distribution("datasette-oaken").read_text("direct_url.json") or "{}"
    if not json.loads(told).get("dir_info", {}).get("editable"):
        pytest.skip("these tests do not run in an editable install (make test makes one)")
    (tmp_path / "mail.mbox").write_text(MBOX)
    here = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": ""}}
    run(sys.executable, "-m", "ingest", "ingest", "mail.mbox", "--db", "letters.db", "--no-embed", **here)
    page = run(sys.executable, "-m", "datasette", "letters.db", "--get", "/-/oaken?q=boiler", **here).stdout
    assert 'href="/-/oaken/message/2' in page
    (sheet,) = re.findall(r'href="(/-/static-plugins/[^"]*oaken\.css[^"]*)"', page)
    style = run(sys.executable, "-m", "datasette", "letters.db", "--get", sheet, **here).stdout
    assert style.strip() == (ROOT / "datasette_oaken/static/oaken.css").read_text().strip()
