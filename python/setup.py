"""The extension module; all else is in pyproject.toml. What is built lies in build/ with the rest."""
import os
import re

from setuptools import setup

if not os.path.exists("../include/zcrp.h"):
    raise SystemExit("zcrp: the package is built from libzcrp's source tree: pip install ./python")
with open("../include/zcrp.h", encoding="utf-8") as header:
    version = re.search(r'^#define ZCRP_VERSION_TEXT "(.*)"', header.read(), re.M).group(1)
room = os.path.abspath("../build/python/setuptools")
os.makedirs(room, exist_ok=True)

setup(version=version, cffi_modules=["native/build.py:builder"],
      options={"bdist_wheel": {"py_limited_api": "cp39"}, "build": {"build_base": room},
               "egg_info": {"egg_base": room}})
