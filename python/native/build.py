"""The extension module zcrp._zcrp: door.c and queue.c, by cffi in API mode. setup.py adds libzcrp.

The declarations come from the headers themselves, so a new error, option or statistic of zcrp.h is known here
without a change.
"""
import os
import re

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
#: Beside the package's folder, or in an sdist in it (setup.py).
INCLUDE = next(folder for folder in (os.path.join(PACKAGE, "vendor", "include"), os.path.join(PACKAGE, "..", "include"))
               if os.path.exists(folder))
HEADER = os.path.join(INCLUDE, "zcrp.h")
SOURCES = ["door.c", "queue.c"]


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def rows(header, macro):
    """The names in a table of the header."""
    table = re.search(rf"^#define {macro}\(X\)(.*?[^\\])$", header, re.M | re.S).group(1)
    return re.findall(r"^\s*X\((\w+),", table, re.M)


def fields(header, struct):
    """The fields of a struct that are numbers, texts, or structs of the library."""
    body = re.search(rf"^struct {struct} \{{(.*?)^\}};", header, re.M | re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return re.findall(r"^\s*((?:u?int(?:32|64)_t |int |struct zcrp_\w+ \*?|const char \*)\w+;)", body, re.M)


def key_functions(header):
    """What makes keys, and the type of the function that looks one up."""
    lookup = re.findall(r"^typedef size_t \(\*zcrp_keys_lookup\)\(.*?\);", header, re.M | re.S)
    return lookup + re.findall(r"^ZCRP_PUBLIC (?:ZCRP_MUST_USE )?((?:int|void) zcrp_keys_\w+\(.*?\);)", header, re.M | re.S)


def constants(header, enum):
    body = re.search(rf"^enum {enum} \{{(.*?)^\}};", header, re.M | re.S).group(1)
    return re.findall(r"^\s*(ZCRP_\w+) =", body, re.M)


def door_declarations():
    """What door.h declares, without comments and directives."""
    text = re.sub(r"/\*.*?\*/", "", read(os.path.join(HERE, "door.h")), flags=re.S)
    return re.sub(r"^#.*$", "", text, flags=re.M)


def declarations():
    header = read(HEADER)
    errors = [f"ZCRP_ERROR_{name}" for name in rows(header, "ZCRP_ERRORS")]
    names = errors + constants(header, "zcrp_congestion") + constants(header, "zcrp_channel")
    names += constants(header, "zcrp_completion_kind") + constants(header, "zcrp_option_flags") + ["ZCRP_COPY_MOST", "ZCRP_PIECES_MOST", "ZCRP_KEYS_PSK_LEAST", "ZCRP_KEYS_PSK_MOST", "ZCRP_KEYS_IDENTITY_MOST"]
    return "\n".join([
        *(f"#define {name} ..." for name in ["ZCRP_OK", "ZCRP_ERROR_COUNT", *names]),
        "struct zcrp_stats {", *(f"uint64_t {name};" for name in rows(header, "ZCRP_STATS")), "...; };",
        *(line for struct in ("zcrp_listener_stats", "zcrp_atm_faults", "zcrp_aal5", "zcrp_options")
          for line in (f"struct {struct} {{", *fields(header, struct), "...; };")),
        "struct iovec { void *iov_base; size_t iov_len; };",
        "struct zcrp_keys;", *key_functions(header),
        'extern "Python" size_t look_up_key(void *context, const char *identity, uint8_t *key, size_t size);',
        "struct zcrp_msg;", "void zcrp_free_msg(struct zcrp_msg *message);",
        "const char *zcrp_strerror(int code);", "const char *zcrp_explain(int code);", "int zcrp_version(void);",
        door_declarations()])


def make_builder():
    """The package goes with the library of its own tree, whatever is installed beside it."""
    builder = cffi.FFI()
    builder.cdef(declarations())
    builder.set_source(
        "zcrp._zcrp", '#include "door.h"', sources=[os.path.relpath(os.path.join(HERE, name)) for name in SOURCES],
        include_dirs=[HERE, INCLUDE], define_macros=[("_GNU_SOURCE", None)],
        extra_compile_args=["-std=c11", "-pthread", "-fvisibility=hidden"], extra_link_args=["-pthread"],
        depends=[HEADER, os.path.join(HERE, "door.h"), os.path.join(HERE, "inside.h")])
    return builder


builder = make_builder()
