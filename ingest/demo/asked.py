"""A question about the demo mailbox, judged and reviewed, so that there is a count to look at.

The judge is a rule, the weakest there is, and it shows what a count by phrasing misses: it finds about a quarter of what was
truly asked. The review, which knows the truth as whoever made the mailbox does, is of a random sample; the estimate that comes
of it brackets the true number.
"""

from __future__ import annotations

from pathlib import Path

from datasette.utils.sqlite import sqlite3

from datasette_oaken import questions, sampling, verdicts
from datasette_oaken.db import transaction

from ..judge import judge
from . import counts

ASKED = "ruth-asks-weekend"
SCOPE = "from:ruth"
RULE = r"rule:(swap|take|have|move|change|instead|switch)[^.?!]{0,80}weekend|weekend[^.?!]{0,80}(swap|instead|move|work|difficult)"
REVIEWED = {"yes": 14, "no": 60}
REVIEWER = "whoever made this mailbox"


def ask_one(conn: sqlite3.Connection, db_path: Path, seed: int) -> None:
    """Ask one question of the demo's mail, judge it, and review a sample; nothing where that was done before."""
    asked = next(count for count in counts(seed) if count.id == ASKED)
    if any(question["question"] == asked.question for question in questions.all_of(conn)):
        return
    with transaction(conn):
        question_id = questions.ask(conn, asked.question, criterion=asked.criterion, scope=SCOPE, seed=seed)
    judge(conn, db_path, str(question_id), judge_name=RULE, quiet=True)
    wanted = set(asked.message_ids)
    truly = {id_ for id_, header in conn.execute("select id, internet_message_id from messages") if header in wanted}
    with transaction(conn):
        for stratum, number in REVIEWED.items():
            for message_id in sampling.queue(conn, question_id, stratum, number):
                verdict_id, said = conn.execute(
                    "select v.id, v.verdict from recall_eligible e join recall_verdicts v on v.id = e.verdict_id"
                    " where e.question_id = ? and e.message_id = ?",
                    (question_id, message_id),
                ).fetchone()
                right = message_id in truly
                verdicts.review(conn, verdict_id, agrees=bool(said) == right, reviewer=REVIEWER)
