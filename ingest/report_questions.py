"""What the commands of the compile half say to a person."""

from __future__ import annotations

import textwrap
from typing import Any

from .report import one_line


def judged(answer: dict[str, Any]) -> str:
    """What a run did, and the count that it leaves."""
    run = answer.get("this_run")
    if run is None:
        return counted(answer) + "\n" + answer["advice"]
    lines = [f"{run['judged']:,} judged now"]
    if run["shared"]:
        lines[0] += f", {run['shared']:,} of them read the same as others"
    if run["errors"]:
        lines.append(
            f"{run['errors']:,} ended in an error; try them again with: oaken judge {answer['question_id']} --retry-errors"
        )
    if run["dropped"]:
        lines.append(f"{run['dropped']:,} changed while they were judged; run the same again for them")
    return "\n".join(lines) + "\n" + counted(answer)


def counted(answer: dict[str, Any]) -> str:
    """The count of one question, with why it changed."""
    lines = [f"{answer['question_id']}. {one_line(answer['question'])}"]
    if answer["criterion"]:
        lines.append(f"   Yes means: {one_line(answer['criterion'])}")
    lines.append(f"   Asked of: {one_line(answer['scope']) or 'all mail'}")
    lines += textwrap.wrap(one_line(answer["sentence"]), 100, initial_indent="   ", subsequent_indent="   ")
    lines += [f"   {one['changed_at'][:10]}: {one_line(one['detail'])}" for one in answer["changes"][:3]]
    return "\n".join(lines)


def listed(found: list[dict[str, Any]]) -> str:
    """Every question with its count."""
    if not found:
        return 'Nothing has been asked yet. Ask with: oaken judge "…" --judge NAME'
    return "\n\n".join(counted(answer) for answer in found)


def shown(answer: dict[str, Any]) -> str:
    """A question with the newest messages that say yes."""
    lines = [counted(answer), ""]
    for verdict in answer["yes_verdicts"]:
        sender = one_line(verdict["from_name"] or verdict["from_address"] or "unknown sender")
        lines.append(
            f"   {(verdict['sent_at'] or 'no date')[:10]}  {sender}: {one_line(verdict['subject'] or '(no subject)')}"
        )
        if verdict["quote"]:
            lines.append(f"      »{one_line(verdict['quote'])[:300]}«")
        lines.append(f"      message {verdict['message_id']}, verdict {verdict['verdict_id']}")
    return "\n".join(lines)
