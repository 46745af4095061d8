"""How far judges agree on a question: each pair of them, and each with what people said, by Cohen's kappa.

Only messages that both said yes or no to are compared, on what is asked and read now; an error says nothing. Kappa (Cohen, Educational and
Psychological Measurement 20, 1960) is agreement beyond chance: 1 is perfect, 0 is what two who answer at random, each as often
yes as they do, would reach. Where chance alone gives perfect agreement (both always say the same one thing) it is not defined.

A person reviews a sample of each stratum, so what is found with a person holds for the messages that they answered: where a yes
is rare, these have more of them than the mail has. For all mail there is the estimate.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from datasette.utils.sqlite import sqlite3

# A person's verdicts are what they said first; what they say now is in recall_eligible, reviews of judges' verdicts too.
_SAID = """
  select message_id, judge, model, prompt_version, verdict, status, quote, verdict_id from verdicts_by_model
  where question_id = ?1 and judge <> 'human' and status <> 'error'
  union all
  select message_id, 'a person', '', '', answer, case answer when 1 then 'yes' else 'no' end, null, verdict_id
  from recall_eligible where question_id = ?1 and answer is not null
"""

Who = tuple[str, str, str]
"""(judge, model, prompt version)"""


def agreement(conn: sqlite3.Connection, question_id: int) -> list[dict[str, Any]]:
    """Each pair of judges: how many messages both answered, the four counts, the share they agree on, and kappa.

    A judge is judge, model and prompt version; what people said stands as the judge "a person". ``kappa`` is null where it is
    not defined. ``both_yes``, ``both_no``, ``first_only`` (the first says yes, the second no), ``second_only``; apart from them
    ``unclear``: messages of which both spoke and one or both could not tell.
    """
    # The messages that each says no to, yes to, and cannot tell of.
    said: dict[Who, tuple[set[int], set[int], set[int]]] = {}
    for message_id, judge, model, prompt, verdict in conn.execute(
        f"select message_id, judge, model, prompt_version, verdict from ({_SAID})",
        (question_id,),
    ):
        said.setdefault((judge, model, prompt), (set(), set(), set()))[2 if verdict is None else verdict].add(
            message_id
        )
    found = []
    for first, second in combinations(sorted(said), 2):
        (no, yes, unclear), (other_no, other_yes, other_unclear) = said[first], said[second]
        counts = len(yes & other_yes), len(no & other_no), len(yes & other_no), len(no & other_yes)
        if any(counts):
            apart = len(unclear & set().union(*said[second]) | other_unclear & (no | yes))
            found.append(_named("first", first) | _named("second", second) | _compared(*counts) | {"unclear": apart})
    return found


def _named(place: str, who: Who) -> dict[str, Any]:
    return {f"{place}_judge": who[0], f"{place}_model": who[1], f"{place}_prompt_version": who[2]}


def _compared(both_yes: int, both_no: int, first_only: int, second_only: int) -> dict[str, Any]:
    both = both_yes + both_no + first_only + second_only
    return {
        "both": both,
        "both_yes": both_yes,
        "both_no": both_no,
        "first_only": first_only,
        "second_only": second_only,
        "agree": round((both_yes + both_no) / both, 4),
        "kappa": kappa(both_yes, both_no, first_only, second_only),
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
    """Messages on which judges (or a person) say different things, by id from ``after`` on: who said what, with quotes.

    Each is ``{"message_id", "said": [{"judge", "model", "prompt_version", "status", "quote", "verdict_id"}]}``.
    """
    differing = conn.execute(
        f"select message_id from ({_SAID}) where message_id > ?2 group by message_id having min(status) <> max(status)"
        " order by message_id limit ?3",
        (question_id, after, limit),
    ).fetchall()
    found: dict[int, list[dict[str, Any]]] = {row[0]: [] for row in differing}
    for row in conn.execute(
        f"select * from ({_SAID}) where message_id in (select value from json_each(?2))"
        " order by message_id, judge, model, prompt_version, verdict_id",
        (question_id, json.dumps(list(found))),
    ):
        told = ("judge", "model", "prompt_version", "status", "quote", "verdict_id")
        found[row["message_id"]].append({name: row[name] for name in told})
    return [{"message_id": message_id, "said": said} for message_id, said in found.items()]
