"""Units of tests/mutants/mutant.py: each kind of change is planted once, and nothing else."""

import os
import sys
import unittest

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TREE, "tests", "mutants"))

from mutant import Source


def changed(text):
    """The text with each of its mutants."""
    return [text[:m.start] + m.new + text[m.end:] for m in Source("x.c", text).mutants()]


def places(text):
    """As a list of survivors shows them."""
    return [m.key.removeprefix("x.c: ") for m in Source("x.c", text).mutants()]


def function(body):
    return f"static int f(struct x *p)\n{{\n    {body}\n}}\n"


class Mutant(unittest.TestCase):
    def expect(self, body, *expected):
        self.assertEqual(sorted(places(function(body))), sorted(expected))

    def test_comparisons(self):
        self.expect("return a < b;", "return a [[< -> <=]] b;", "return a [[< -> >=]] b;")
        self.expect("return !a && b;", "return [[! -> ]]a && b;", "return !a [[&& -> ||]] b;")

    def test_arithmetic(self):
        self.expect("return a - b;", "return a [[- -> +]] b;")
        self.expect("return lesser(a, -b);", "return [[lesser -> greater]](a, -b);")

    def test_a_pointer_is_no_arithmetic(self):
        self.expect("struct x *q = *p->at(&a);")
        self.expect("uint8_t *at = (uint8_t *)a;")

    def test_constants(self):
        self.expect("return 0x0F;", "return [[0x0F -> 0x10]];", "return [[0x0F -> 0xe]];")
        self.expect("return 0;", "return [[0 -> 1]];")
        self.assertEqual(places("static const int A = 1u;\n"),
                         ["static const int A = [[1u -> 2u]];", "static const int A = [[1u -> 0u]];"])
        self.assertEqual(places("enum {\n    A = 1,\n};"), ["A = [[1 -> 2]],", "A = [[1 -> 0]],"])

    def test_the_size_of_an_array_is_no_constant(self):
        self.expect("int a[4];")
        self.expect("int a[4] = {0};", "int a[4] = {[[0 -> 1]]};")

    def test_statements(self):
        self.expect("a = b;\n    g(a);", "[[a = b; -> ;]]", "[[g(a); -> ;]]")
        self.expect("for (;;)\n        break;", "[[break; -> ;]]")

    def test_branches(self):
        self.expect("if (a)\n        return b;", "if ([[a -> !(a)]])")
        self.expect("return a ? b : c ? d : e;", "return a ? [[b : c ? d : e -> (c ? d : e) : (b)]];",
                    "return a ? b : c ? [[d : e -> (e) : (d)]];")
        self.expect("return g(a ? b ? c : d : e);", "return g(a ? [[b ? c : d : e -> (e) : (b ? c : d)]]);",
                    "return g(a ? b ? [[c : d -> (d) : (c)]] : e);")

    def test_tests_are_left_alone(self):
        self.expect("CHECK(a < b);")
        self.assertEqual(places("void x_check(int a)\n{\n    a = 1;\n}\n"), [])

    def test_lines_keep_their_numbers(self):
        text = function("g(a,\n      b);\n    return h(\n        c);")
        self.assertEqual({other.count("\n") for other in changed(text)}, {text.count("\n")})

    def test_equal_lines_are_told_apart(self):
        self.expect("g();\n    g();", "[[g(); -> ;]]", "[[g(); -> ;]] #2")

    def test_those_that_nothing_finds_are_there(self):
        with open(os.path.join(TREE, "tests", "mutants", "known.txt"), encoding="utf-8") as file:
            listed = {line.rstrip("\n") for line in file if line.startswith("src/")}
        self.assertTrue(listed)
        for path in {key.partition(":")[0] for key in listed}:
            with open(os.path.join(TREE, path), encoding="utf-8") as file:
                listed -= {m.key for m in Source(path, file.read()).mutants()}
        self.assertEqual(listed, set())


if __name__ == "__main__":
    unittest.main()
