"""Someone whose mail the model cannot read must be told, and no one else."""

from __future__ import annotations

import pytest

from ingest.language import language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The boiler is out again and the landlord says that he will not come before Tuesday.", "en"),
        ("Der Kessel ist wieder kaputt und der Vermieter sagt, dass er erst am Dienstag kommt.", "other"),
        ("La chaudière est encore en panne et le propriétaire ne viendra pas avant mardi matin.", "other"),
        ("La caldera se ha vuelto a romper y el casero dice que no viene hasta el martes por la tarde.", "other"),
        ("ボイラーがまた壊れました。大家さんは火曜日まで来られないそうです。", "other"),
        ("보일러가 또 고장 났어요.", "other"),
        ("Котёл снова сломался.", "other"),
        ("Thanks!", None),
        ("", None),
        ("1234 5678 -- 90", None),
    ],
)
def test_english_is_told_from_other_languages(text: str, expected: str | None) -> None:
    assert language(text) == expected
