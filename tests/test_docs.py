"""Documentation that is not true is worse than none: every command, option, setting, link and figure in it is checked."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shlex
import tomllib
import types
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from making import ingest

from datasette_oaken import agent_tools, db, embedders, filters, hookspecs, query, settings, vector
from ingest.cli import oaken

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])
BY_NAME = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in PAGES]


def fences(text: str, language: str = "") -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, headings included, rules left out."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-: ")]


def doc(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# Commands


def shown_commands(text: str) -> Iterator[tuple[str, bool]]:
    """Every ``oaken …`` that a reader could type, and whether it is whole: a line of a fenced block, not code in a sentence."""
    for block in fences(text):
        for line in block.splitlines():
            found = re.match(r"\s*(?:\$ )?(?:\S*/)?(oaken\s.*)", line)
            if found and "[options]" not in line:
                yield found[1], True
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from ((command, False) for command in re.findall(r"`(oaken [^`]+)`", plain) if "VERB" not in command)


def parse(command: str, whole: bool = True) -> None:
    """Raise click.UsageError unless ``command`` is understood; one that is not ``whole`` may lack arguments. Nothing is run."""
    arguments = shlex.split(command, comments=True)[1:]
    group: click.Command = oaken
    context = click.Context(oaken, info_name="oaken")
    while isinstance(group, click.Group) and arguments and arguments[0] not in ("--help", "--version"):
        name, found, arguments = group.resolve_command(context, arguments)
        assert found is not None
        group, context = found, click.Context(found, parent=context, info_name=name)
    try:
        group.make_context(context.info_name, arguments, parent=context.parent)
    except click.exceptions.Exit:  # --help
        pass
    except click.MissingParameter:
        if whole:
            raise


def verbs(group: click.Group = oaken, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from verbs(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


@pytest.mark.parametrize("page", BY_NAME)
def test_every_command_shown_can_be_typed(page: Path) -> None:
    wrong = []
    for command, whole in shown_commands(page.read_text(encoding="utf-8")):
        try:
            parse(command, whole)
        except (click.UsageError, ValueError) as error:
            wrong.append(f"{command}: {error}")
    assert wrong == []


def test_the_reader_of_commands_finds_them_and_finds_them_wrong() -> None:
    text = "Run `oaken guess` or `oaken embed`.\n\n```\n$ .venv/bin/oaken search 'a b' --mode vector  # so\noaken serve --prot 1\n```\n"
    commands = list(shown_commands(text))
    assert commands == [
        ("oaken search 'a b' --mode vector  # so", True),
        ("oaken serve --prot 1", True),
        ("oaken guess", False),
        ("oaken embed", False),
    ]
    parse(*commands[0])
    parse(*commands[3])
    for wrong in (commands[1], commands[2], ("oaken search", True)):
        with pytest.raises(click.UsageError):
            parse(*wrong)


def test_every_verb_gives_an_example_that_can_be_typed() -> None:
    for name, command in verbs():
        _, marker, examples = (command.help or "").partition("\b\n")
        assert marker, f"oaken {name} has no example"
        for line in examples.strip().splitlines():
            assert line.strip().startswith(f"oaken {name}"), line
            parse(line.strip())


def test_the_page_of_commands_is_made_from_the_commands() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]()
    assert doc("docs/cli.md") == made, "run: python docs/make_cli.py"
    sections = dict(re.findall(r"^## oaken (.+?)\n(.*?)(?=^## |\Z)", made, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted(name for name, _ in verbs())
    for name, command in verbs():
        options = {opt for p in command.params if isinstance(p, click.Option) for opt in p.opts}
        assert options == set(re.findall(r"`(--[a-z-]+)`", sections[name].partition("| option |")[2])), name


def said(path: Path) -> Iterator[str]:
    """The text of a source file that people may be shown: string constants but docstrings, f-strings with gaps."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_advice_given_by_the_program_names_verbs_that_exist() -> None:
    known = {name.split()[0] for name, _ in verbs()}
    advised = [
        (path.name, verb)
        for package in ("ingest", "datasette_oaken")
        for path in (ROOT / package).rglob("*.py")
        for text in said(path)
        for verb in re.findall(r"(?<![\w/.-])oaken ([a-z]+)", text)
    ]
    assert ("report.py", "serve") in advised or ("cli.py", "serve") in advised
    assert [found for found in advised if found[1] not in known] == []


# Settings, operators, codes, hooks


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {
        row[0].strip("`"): row[1] for row in table_rows(doc("docs/search.md")) if re.fullmatch("`[a-z_]+`", row[0])
    }
    documented = {name: default for name, default in documented.items() if name not in DEGRADED}
    expected = {}
    for field in fields(settings.SearchSettings):
        default: Any = field.default
        if isinstance(default, tuple):
            expected[field.name] = " ".join(f"`{value}`" for value in default)
        else:
            expected[field.name] = "none" if default is None else f"`{json.dumps(default)}`"
    assert documented == expected


DEGRADED = ("no_embedder", "no_extension", "no_vectors", "stale_index", "timeout", "error")
"""The design's codes."""


def test_every_reason_to_degrade_is_documented() -> None:
    rows = [row[0].strip("`") for row in table_rows(doc("docs/search.md"))]
    assert [row for row in rows if row in DEGRADED] == list(DEGRADED)
    used = {
        text
        for module in (vector, embedders)
        for text in said(Path(str(module.__file__)))
        if text in DEGRADED or text.startswith(("no_", "stale"))
    }
    assert used == set(DEGRADED)


def test_every_operator_is_documented() -> None:
    typed = " ".join(row[0] for row in table_rows(doc("docs/search.md")))
    assert set(re.findall(r"`([a-z]+):`", typed)) == set(query.OPERATORS)
    (values,) = [row[1] for row in table_rows(doc("docs/search.md")) if row[0] == "`in:`"]
    assert [value for value in filters.DISPOSITIONS if f"`{value}`" not in values] == []


def test_the_settings_shown_can_be_read(tmp_path: Path) -> None:
    for block in fences(doc("docs/search.md"), "toml"):
        (tmp_path / "oaken.toml").write_text(block)
        settings.load(tmp_path / "oaken.toml", None)


def test_every_hook_is_documented_and_the_plugin_shown_works() -> None:
    hooks = [name for name in vars(hookspecs.Specs) if name.startswith("register_")]
    assert [row[0].strip("`") for row in table_rows(doc("docs/plugins.md"))[1:]] == hooks
    shown = fences(doc("docs/plugins.md"), "python")[0]
    module: dict[str, Any] = {}
    exec(compile(shown, "docs/plugins.md", "exec"), module)
    (embedder,) = module["register_embedders"]()
    assert (embedder.name, embedder.embed_query("an oak").shape) == ("letters", (embedder.dimension,))
    assert [round(float(vector @ vector), 5) for vector in embedder.embed_documents(["oak", "elm"])] == [1.0, 1.0]


def test_the_source_shown_brings_its_mail_in_and_reads_nothing_twice(tmp_path: Path) -> None:
    shown = fences(doc("docs/plugins.md"), "python")[1]
    module = types.ModuleType("notes_source")
    exec(compile(shown, "docs/plugins.md", "exec", dont_inherit=True), vars(module))
    said = [
        {"id": n, "from": "Ada <ada@example.org>", "date": "Mon, 05 Mar 2018 09:00:00 +0000", "text": f"Note {n}."}
        for n in (1, 2)
    ]
    path = tmp_path / "export.notes"
    path.write_text("".join(json.dumps(one) + "\n" for one in said) + "not JSON\n")
    read: list[int] = []
    whole = module.raw
    module.raw = lambda one: read.append(one["id"]) or whole(one)
    hookspecs.plugins().register(module)
    try:
        conn, report = ingest(tmp_path / "o.db", path)
        assert (report.added, read, [f["key"].rpartition("#")[2] for f in report.failures]) == (2, [1, 2], ["2"])
        conn, report = ingest(tmp_path / "o.db", path)
        assert (report.unchanged, read) == (2, [1, 2])
    finally:
        hookspecs.plugins().unregister(module)
    found = conn.execute(
        "select m.from_address, m.internet_message_id, c.text, b.name from messages m join recall_chunks c on c.message_id = m.id"
        " join message_locations l on l.message_id = m.id join mailboxes b on b.id = l.mailbox_id order by m.id"
    )
    assert [tuple(row) for row in found] == [
        ("ada@example.org", f"<{n}@notes.example>", f"Note {n}.", "Notes") for n in (1, 2)
    ]


# The file


def test_the_sql_shown_runs_and_the_tables_named_exist(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "oaken.db", create=True)
    tables = {row[0] for row in conn.execute("select name from sqlite_master where type in ('table', 'view')")}
    named = [name for row in table_rows(doc("docs/file.md"))[1:] for name in re.findall(r"`(\w+)`", row[0])]
    assert [name for name in named if name not in tables] == []
    statements = fences(doc("docs/file.md"), "sql")
    assert statements
    for statement in statements:
        conn.execute(statement).fetchall()
    conn.close()


# Agents


def test_the_agents_tools_are_the_documented_ones() -> None:
    rows = [row for row in table_rows(doc("docs/agents.md")) if row[0].startswith("`")]
    documented = {row[0].strip("`"): re.findall(r"`(\w+)`", row[1]) for row in rows}
    assert documented == {tool.name: list(tool.parameters) for tool in agent_tools.TOOLS}
    assert f"{agent_tools.MOST_SECTION:,} characters" in doc("docs/agents.md")


# Dependencies


def test_every_dependency_has_its_line_and_no_line_is_left_over() -> None:
    project = tomllib.loads(doc("pyproject.toml"))["project"]
    declared = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = [re.split(r"[^\w.-]", requirement)[0] for requirement in declared]
    rows = [row for row in table_rows(doc("docs/dependencies.md")) if row[0].startswith("`")]
    assert sorted(row[0].strip("`") for row in rows) == sorted(set(names))
    assert [row[0] for row in rows if len(row) != 2 or len(row[1]) < 10] == []


# Links


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", BY_NAME)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        there = (page.parent / path) if path else page
        if not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).resolve()
            if there.exists() and there not in reached:
                waiting.append(there)
    assert [page.relative_to(ROOT).as_posix() for page in PAGES if page not in reached] == []


# Figures

FIGURE = re.compile(
    r"\d(?:[\d,.]*\d)?\s?(?:ms\b|milliseconds|messages (?:a|per) second|messages/s|passages (?:a|per) second"
    r"|MB of memory|times (?:the|as))",
    re.IGNORECASE,
)
"""What a measured figure looks like: a speed, a time, a size, a ratio."""
SOURCED = (re.compile(r"benchmarks/\w+\.py"), re.compile(r"messages\b|\.mbox|demo"), re.compile(r"20\d\d-\d\d-\d\d"))
"""Its script, its corpus, its date."""


def unsourced(text: str) -> list[str]:
    """The lines with a figure that do not name where it is from, and the rows of a table of figures that leave a cell empty."""
    lines = [line for line in text.splitlines() if FIGURE.search(line) and not all(s.search(line) for s in SOURCED)]
    rows = table_rows(text)
    for at, row in enumerate(rows):
        if row[0] == "figure":
            for figure in rows[at + 1 :]:
                if len(figure) == len(row) and not (
                    "".join(figure[2:]) and all(s.search("|".join(figure)) for s in SOURCED)
                ):
                    lines.append("|".join(figure))
    return lines


@pytest.mark.parametrize("page", BY_NAME)
def test_every_figure_names_its_script_corpus_and_date(page: Path) -> None:
    assert unsourced(page.read_text(encoding="utf-8")) == []


def test_a_figure_without_its_source_is_noticed() -> None:
    sourced = "Ingest: 520 messages a second (`benchmarks/ingest.py`, 2019.mbox, 2026-11-30).\n"
    assert unsourced(sourced) == []
    assert unsourced("It answers in 18 ms.\n") == ["It answers in 18 ms."]
    assert unsourced(sourced.replace("2026-11-30", "lately")) == [sourced.replace("2026-11-30", "lately").strip()]
    table = "| figure | value | script | corpus | date |\n|---|---|---|---|---|\n| p95 | 21 | `benchmarks/search.py` | | 2026-11-30 |\n"
    assert unsourced(table) == ["p95|21|`benchmarks/search.py`||2026-11-30"]
