"""What ``oaken forget`` says to a person."""

from __future__ import annotations

from .forget import Plan, Report


def planned(plan: Plan) -> str:
    """What would go, table by table, and what stays."""
    if not plan.messages and not any(plan.tables.values()):
        return "Nothing matches, so there is nothing to forget."
    count = len(plan.messages)
    lines = [f"{count:,} {'message' if count == 1 else 'messages'}{_dates(plan)}"]
    lines += [f"  {account}: {number:,}" for account, number in plan.accounts.items()]
    lines += ["Rows that would be deleted:", *_tables(plan.tables)]
    return "\n".join(lines + plan.notes())


def forgotten(report: Report) -> str:
    """What was deleted, and whether anything of it is left in the file."""
    lines = [f"{report.forgotten:,} {'message' if report.forgotten == 1 else 'messages'} forgotten."]
    if any(report.deleted.values()):
        lines += ["Rows deleted:", *_tables(report.deleted)]
    return "\n".join(lines + report.notes + _due(report))


def finished(report: Report) -> str:
    """Whether the file is clean."""
    return "\n".join(_due(report)) or "Nothing of what was forgotten is left in the file."


def _due(report: Report) -> list[str]:
    if not report.due:
        return []
    return [
        "Some of its bytes may still be in the file:",
        *(f"  {reason}" for reason in report.due),
        "  Then run: oaken forget --finish",
    ]


def _dates(plan: Plan) -> str:
    dates = ""
    if plan.first_at and plan.last_at:
        first, last = plan.first_at[:10], plan.last_at[:10]
        dates = f", {first}" if first == last else f", {first} to {last}"
    return dates + (f", {plan.undated:,} with no date" if plan.undated else "")


def _tables(tables: dict[str, int]) -> list[str]:
    width = max((len(f"{count:,}") for count in tables.values()), default=0)
    return [f"  {count:{width},}  {table}" for table, count in tables.items() if count]
