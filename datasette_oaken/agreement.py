"""How far judges agree on a question: each pair of them, and each with what people said, by Cohen's kappa.

Only messages that both said yes or no to are compared, on what is asked and read now. Kappa (Cohen, Educational and
Psychological Measurement 20, 1960) is agreement beyond chance: 1 is perfect, 0 is what two who answer at random, each as often
yes as they do, would reach. Where chance alone gives perfect agreement (both always say the same one thing) it is not defined.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from datasette.utils.sqlite import sqlite3

PERSON = "a person"
_SAID = """
  select judge, model, prompt_version, message_id, verdict, status, quote, verdict_id from verdicts_by_model
  where question_id = ?1 and judge <> 'human'
  union all
  select 'a person', '', '', e.message_id, e.answer, case e.answer when 1 then 'yes' else 'no' end, null, e.verdict_id
  from recall_eligible e where e.question_id = ?1 and e.answer is not null
"""

Who = tuple[str, str, str]
"""(judge, model, prompt version)"""


def agreement(conn: sqlite3.Connection, question_id: int) -> list[dict[str, Any]]:
    """Each pair of judges: how many messages both answered, the four counts, the share they agree on, and kappa.

    A judge is judge, model and prompt version; what people said stands as the judge "a person". ``kappa`` is null where it is
    not defined. ``both_yes``, ``both_no``, ``first_only`` (the first says yes, the second no), ``second_only``.
    """
    said: dict[Who, dict[int, int]] = {}
    for judge, model, prompt, message_id, verdict, *_ in conn.execute(_SAID, (question_id,)):
        if verdict is not None:
            said.setdefault((judge, model, prompt), {})[message_id] = verdict
    found = []
    for first, second in combinations(sorted(said), 2):
        pairs = [
            (verdict, said[second][message]) for message, verdict in said[first].items() if message in said[second]
        ]
        if pairs:
            found.append(_named("first", first) | _named("second", second) | _compared(pairs))
    return found


def _named(place: str, who: Who) -> dict[str, Any]:
    return {f"{place}_judge": who[0], f"{place}_model": who[1], f"{place}_prompt_version": who[2]}


def _compared(pairs: list[tuple[int, int]]) -> dict[str, Any]:
    counts = {pair: pairs.count(pair) for pair in ((1, 1), (0, 0), (1, 0), (0, 1))}
    return {
        "both": len(pairs),
        "both_yes": counts[1, 1],
        "both_no": counts[0, 0],
        "first_only": counts[1, 0],
        "second_only": counts[0, 1],
        "agree": round((counts[1, 1] + counts[0, 0]) / len(pairs), 4),
        "kappa": kappa(counts[1, 1], counts[0, 0], counts[1, 0], counts[0, 1]),
    }


def kappa(both_yes: int, both_no: int, first_only: int, second_only: int) -> float | None:
    """Cohen's kappa of two judges' yes and no, to four places; None where chance alone gives perfect agreement, or nothing."""
    total = both_yes + both_no + first_only + second_only
    if not total:
        return None
    first_yes, second_yes = both_yes + first_only, both_yes + second_only
    # In whole numbers up to the division, so that "perfect by chance" is told exactly.
    by_chance = first_yes * second_yes + (total - first_yes) * (total - second_yes)
    if by_chance == total * total:
        return None
    return round(((both_yes + both_no) * total - by_chance) / (total * total - by_chance), 4)


def disagreements(conn: sqlite3.Connection, question_id: int, limit: int = 50, after: int = 0) -> list[dict[str, Any]]:
    """Messages on which judges (or a person) say different things, by id from ``after`` on: who said what, with quotes."""
    differing = conn.execute(
        f"select message_id from ({_SAID}) where message_id > ?2 group by message_id having count(distinct status) > 1"
        " order by message_id limit ?3",
        (question_id, after, limit),
    ).fetchall()
    found: dict[int, dict[str, Any]] = {row[0]: {"message_id": row[0], "said": []} for row in differing}
    for row in conn.execute(
        f"select * from ({_SAID}) order by judge, model, prompt_version, verdict_id", (question_id,)
    ):
        if row["message_id"] in found:
            said = {name: row[name] for name in ("judge", "model", "prompt_version", "status", "quote", "verdict_id")}
            found[row["message_id"]]["said"].append(said)
    return list(found.values())
