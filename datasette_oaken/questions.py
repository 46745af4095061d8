"""Questions: asking, finding, changing and removing them, and whose verdicts count. Writing functions run inside the caller's
transaction."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import date
from typing import Any

from datasette.utils.sqlite import sqlite3

from . import eligible, readings, verdicts
from .changes import changed
from .db import OakenError
from .rows import now
from .scope import read_scope
from .settings import DEFAULT_CATEGORIES

MAX_CHARS = 4_000
_COLUMNS = "id, question, criterion, scope, scope_resolved, judge, model, prompt_version, remote_host, created_at"


def get(conn: sqlite3.Connection, question_id: int) -> dict[str, Any] | None:
    """A question: id, question, criterion, scope, scope_resolved, judge, model, prompt_version, remote_host, created_at."""
    row = conn.execute(f"select {_COLUMNS} from recall_questions where id = ?", (question_id,)).fetchone()
    return dict(row) if row else None


def all_of(conn: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every question, the newest first."""
    return [dict(row) for row in conn.execute(f"select {_COLUMNS} from recall_questions order by id desc")]


def find(conn: sqlite3.Connection, which: str, scope: str | None = None) -> int:
    """The id of a question, by its number or its words as they were asked; ``scope`` where the same is asked of different mail.

    Raises OakenError no_question (naming what there is), ambiguous_question.
    """
    text = _clean(which)
    if text.isascii() and text.isdigit():
        if get(conn, int(text[:18])) is None:
            raise OakenError(f"There is no question {text}. {_there_are(conn)}", "no_question")
        return int(text)
    found = conn.execute(
        "select id, scope from recall_questions where question = ?1 and (?2 is null or scope = ?2) order by id",
        (text, scope),
    ).fetchall()
    if not found:
        raise OakenError(f"This has not been asked yet: {text!r}. {_there_are(conn)}", "no_question")
    if len(found) > 1:
        asked_of = "; ".join(f"{row['id']}: {row['scope'] or 'all mail'}" for row in found)
        raise OakenError(f"This is asked of different mail; name one by its number ({asked_of}).", "ambiguous_question")
    return int(found[0]["id"])


def _there_are(conn: sqlite3.Connection) -> str:
    known = [
        f"{row[0]}: {row[1][:80]}"
        for row in conn.execute("select id, question from recall_questions order by id limit 20")
    ]
    return f"Questions so far: {'; '.join(known)}." if known else 'Ask one with: oaken judge "…" --judge NAME'


def _clean(text: str) -> str:
    return "".join(c for c in text if c == "\n" or c.isprintable()).strip()


def ask(
    conn: sqlite3.Connection,
    question: str,
    *,
    criterion: str = "",
    scope: str = "",
    categories: Sequence[str] = DEFAULT_CATEGORIES,
    today: date | None = None,
    seed: int | None = None,
) -> int:
    """Keep a question and work out which messages it is asked of. Returns its id.

    ``seed``: of the order of its random sample; drawn at random unless something must come out the same each time.

    Raises OakenError bad_question (empty, or longer than MAX_CHARS), question_exists, bad_scope.
    """
    text = _checked(question)
    resolved, _ = read_scope(scope, categories=categories, today=today)
    if conn.execute(
        "select 1 from recall_questions where question = ? and scope = ?", (text, scope.strip())
    ).fetchone():
        raise OakenError(f"This is asked already: {text!r}.", "question_exists")
    id_ = conn.execute(
        "insert into recall_questions (question, criterion, scope, scope_resolved, seed, created_at) values (?, ?, ?, ?, ?, ?)",
        (text, _clean(criterion), scope.strip(), resolved, secrets.randbits(62) if seed is None else seed, now()),
    ).lastrowid
    assert id_ is not None
    eligible.refresh(conn, id_)
    return id_


def _checked(question: str) -> str:
    text = _clean(question)
    if not text:
        raise OakenError(
            'The question is empty. Ask something, such as: oaken judge "Does she ask to change the weekend?"',
            "bad_question",
        )
    if len(text) > MAX_CHARS:
        raise OakenError(f"The question has {len(text):,} characters; {MAX_CHARS:,} are the most.", "bad_question")
    if text.isascii() and text.isdigit():
        raise OakenError("A question cannot be a mere number: that is how questions are named.", "bad_question")
    return text


def edit(
    conn: sqlite3.Connection, question_id: int, *, question: str | None = None, criterion: str | None = None
) -> bool:
    """Change what is asked, or what counts as a yes. Verdicts on the old words stay as history and are stale. False: no change.

    Raises OakenError no_question, bad_question, question_exists.
    """
    before = get(conn, question_id)
    if before is None:
        raise OakenError(f"There is no question {question_id}. {_there_are(conn)}", "no_question")
    text = before["question"] if question is None else _checked(question)
    yes = before["criterion"] if criterion is None else _clean(criterion)
    if (text, yes) == (before["question"], before["criterion"]):
        return False
    try:
        conn.execute("update recall_questions set question = ?, criterion = ? where id = ?", (text, yes, question_id))
    except sqlite3.IntegrityError as error:
        raise OakenError(f"This is asked already, of the same mail: {text!r}.", "question_exists") from error
    if text != before["question"]:
        changed(conn, question_id, "question", f"It was asked as {before['question']!r} before.")
    if yes != before["criterion"]:
        changed(
            conn,
            question_id,
            "criterion",
            f"A yes was {before['criterion']!r} before." if before["criterion"] else "A criterion was given.",
        )
    verdicts.settle(conn, question_id)
    return True


def activate(
    conn: sqlite3.Connection,
    question_id: int,
    *,
    judge: str,
    model: str,
    prompt_version: str,
    remote_host: str | None = None,
) -> bool:
    """Make this judge, model and prompt the one whose verdicts count. False: it was already."""
    before = get(conn, question_id)
    if before is None:
        raise OakenError(f"There is no question {question_id}. {_there_are(conn)}", "no_question")
    if remote_host and remote_host != before["remote_host"]:
        conn.execute("update recall_questions set remote_host = ? where id = ?", (remote_host, question_id))
    if (before["judge"], before["model"], before["prompt_version"]) == (judge, model, prompt_version):
        return False
    conn.execute(
        "update recall_questions set judge = ?, model = ?, prompt_version = ? where id = ?",
        (judge, model, prompt_version, question_id),
    )
    if before["judge"] is not None:
        changed(
            conn,
            question_id,
            "judge",
            f"It was judged by {before['model']} (prompt {before['prompt_version']}) before; now by {model} (prompt {prompt_version}).",
        )
    verdicts.settle(conn, question_id)
    return True


def activate_known(conn: sqlite3.Connection, question_id: int, judge: str, model: str | None = None) -> None:
    """Make a judge that has judged this question the one whose verdicts count: its newest model and prompt, or ``model``'s.

    Raises OakenError no_verdict (naming who has judged).
    """
    found = conn.execute(
        "select model, prompt_version, remote_host from recall_verdicts where question_id = ?1 and judge = ?2"
        " and (?3 is null or model = ?3) order by judged_at desc, id desc limit 1",
        (question_id, judge, model),
    ).fetchone()
    if found is None:
        who = [
            f"{row[0]} ({row[1]})"
            for row in conn.execute(
                "select distinct judge, model from recall_verdicts where question_id = ? order by judge, model",
                (question_id,),
            )
        ]
        raise OakenError(
            f"{judge} has not judged question {question_id}. {'Judges so far: ' + ', '.join(who) if who else 'No one has'}.",
            "no_verdict",
        )
    activate(conn, question_id, judge=judge, **dict(found))


def remove(conn: sqlite3.Connection, question_id: int) -> int:
    """Delete a question with its verdicts, reviews and the readings that nothing else rests on. Returns how many verdicts went."""
    read = [
        row[0]
        for row in conn.execute(
            "select reading_sha256 from recall_verdicts where question_id = ?1"
            " union select reading_sha256 from recall_eligible where question_id = ?1 and reading_sha256 is not null",
            (question_id,),
        )
    ]
    (count,) = conn.execute("select count(*) from recall_verdicts where question_id = ?", (question_id,)).fetchone()
    conn.execute("delete from recall_eligible where question_id = ?", (question_id,))
    conn.execute("delete from recall_verdicts where question_id = ?", (question_id,))
    conn.execute("delete from recall_questions where id = ?", (question_id,))
    readings.drop_unused(conn, read)
    return int(count)


def mail_moved(conn: sqlite3.Connection, moved: Sequence[eligible.Moved]) -> None:
    """Note that mail came into questions' scopes or left them."""
    for one in moved:
        parts = [
            f"{n:,} {'message' if n == 1 else 'messages'} {what}"
            for n, what in ((one.added, "came in"), (one.removed, "left"))
            if n
        ]
        if parts:
            changed(conn, one.question_id, "mail", " and ".join(parts) + ".")
