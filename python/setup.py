"""The extension module, and where the library's sources are; all else is in pyproject.toml.

In libzcrp's tree they are one folder up, and what is built lies in build/ there with the rest. An sdist has a copy of
what its Makefile needs for the library, in vendor/, and builds it there. So there is one description of how the
library is built, and the sdist's cannot differ from it.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
VENDOR = os.path.join(HERE, "vendor")
IS_SDIST = os.path.exists(VENDOR)
TOP = VENDOR if IS_SDIST else os.path.dirname(HERE)
#: What an sdist has of the tree: patterns.
VENDORED = ["LICENSE", "Makefile", "include/*", "src/**", "tools/*.mk", "tools/install/*"]

if not os.path.exists(os.path.join(TOP, "include", "zcrp.h")):
    raise SystemExit("zcrp: the package is built from libzcrp's source tree (pip install ./python) or from an sdist")
with open(os.path.join(TOP, "include", "zcrp.h"), encoding="utf-8") as header:
    version = re.search(r'^#define ZCRP_VERSION_TEXT "(.*)"', header.read(), re.M).group(1)


def make_library():
    """Builds libzcrp.a, unless ZCRP_BUILT says that it has been. What it is linked with."""
    command = ["make", "--no-print-directory", "-C", TOP, "VARIANT=plain"]
    jobs = str(os.cpu_count() or 1)
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    if "ZCRP_BUILT" not in environment:
        subprocess.run([*command, "-j", jobs, "build/libzcrp.a"], check=True, env=environment)
    found = subprocess.run([*command, "-s", "libraries"], check=True, env=environment, capture_output=True, text=True)
    return shlex.split(found.stdout)


class BuildWithLibrary(build_ext):
    """The library is linked statically, and its names stay hidden."""

    def pre_run(self, extension, _):
        """Called by cffi before it writes the module."""
        library = os.path.join(TOP, "build", "libzcrp.a")
        extension.extra_link_args += [library, *make_library(), "-Wl,--exclude-libs,ALL"]
        extension.depends.append(library)


class SdistWithSources(sdist):
    """Has in vendor/ what the library is built from."""

    def make_release_tree(self, base_dir, files):
        # Those with another path belong to build/.
        super().make_release_tree(base_dir, [file for file in files if not os.path.isabs(file)])
        if IS_SDIST:
            shutil.copytree(VENDOR, os.path.join(base_dir, "vendor"), ignore=shutil.ignore_patterns("build"))
            return
        for pattern in VENDORED:
            for path in glob.glob(os.path.join(TOP, pattern), recursive=True):
                if os.path.isfile(path):
                    copy = os.path.join(base_dir, "vendor", os.path.relpath(path, TOP))
                    os.makedirs(os.path.dirname(copy), exist_ok=True)
                    shutil.copy2(path, copy)
        shutil.copy2(os.path.join(TOP, "LICENSE"), base_dir)


options = {"bdist_wheel": {"py_limited_api": "cp39"}}
if not IS_SDIST:
    room = os.path.join(TOP, "build", "python", "setuptools")
    os.makedirs(room, exist_ok=True)
    options.update(build={"build_base": room}, egg_info={"egg_base": room})

setup(version=version, cffi_modules=["native/build.py:builder"], options=options,
      cmdclass={"build_ext": BuildWithLibrary, "sdist": SdistWithSources})
