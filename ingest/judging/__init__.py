"""Judging: every message that a question is asked of, judged once, by a model, a rule or a person."""
