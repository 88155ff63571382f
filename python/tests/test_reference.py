"""Each name that a docstring refers to exists: `make python-api` makes links of these names."""
import builtins
import importlib
import inspect
import operator
import pkgutil
import re

import pytest

import zcrp

REFERENCE = re.compile(r":(?:class|exc|func|meth|mod):`([\w.]+)`")


def is_there(module, name):
    roots = [zcrp] if name.startswith("zcrp") else [
        builtins, zcrp, module, *(kind for kind in vars(module).values() if inspect.isclass(kind))]
    for root in roots:
        try:
            operator.attrgetter(re.sub(r"^zcrp\.?", "", name) or "__name__")(root)
            return True
        except AttributeError:
            pass
    return False


@pytest.mark.parametrize("name", sorted(found.name for found in pkgutil.iter_modules(zcrp.__path__, "zcrp.")
                                        if found.name != "zcrp._zcrp") + ["zcrp"])
def test_names_that_docstrings_refer_to(name):
    if name == "zcrp.dask":
        pytest.importorskip("distributed")
    module = importlib.import_module(name)
    for reference in REFERENCE.findall(inspect.getsource(module)):
        assert is_there(module, reference), reference


def test_names_that_are_not_there_are_found():
    assert not is_there(zcrp, "zcrp.Connection.recieve") and not is_there(zcrp, "Conection")
    with pytest.warns(DeprecationWarning):
        is_there(zcrp, "zcrp.Timeout")
