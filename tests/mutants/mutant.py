"""Small mistakes in a file of C: of each the place, what stands there, and what stands there instead.

Another comparison, another arithmetic, a number one larger or smaller, a removed statement, a swapped branch; in
functions, and in the values of constants. CHECK and the functions that only check invariants are left alone, because
they are tests. Lines keep their numbers."""

import collections
import re

TOKEN = re.compile(r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*|\#(?:/\*.*?\*/|\\.|[^\n\\])*)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|.)""", re.S | re.X)
OTHER = {"==": ("!=",), "!=": ("==",), "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
         "&&": ("||",), "||": ("&&",), "!": ("",),
         "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",), "&": ("|",),
         "|": ("&",), "^": ("|",), "+=": ("-=",), "-=": ("+=",), "*=": ("+=",), "/=": ("*=",), "|=": ("&=",), "&=": ("|=",),
         "<<=": (">>=",), ">>=": ("<<=",), "++": ("--",), "--": ("++",), "lesser": ("greater",), "greater": ("lesser",),
         "true": ("false",), "false": ("true",)}
ALONE = ("!", "++", "--", "lesser", "greater", "true", "false") # the others stand between two operands, and spaces
COMPARED = ("==", "!=", "<", "<=", ">", ">=", "&&", "||", "!")
NOT_MUTATED = ("CHECK", "static_assert", "_Static_assert", "sizeof", "offsetof")
TYPES = ("const", "static", "struct", "union", "enum", "unsigned", "signed", "int", "char", "bool", "void", "long", "short")

Mutant = collections.namedtuple("Mutant", "path line kind is_inside start end new key") # inside a function


class Source:
    """A file of C, the lines of its functions, and its mutants. clang-format decides layout: an operator of two operands
    has spaces around it."""

    def __init__(self, path, text):
        self.path, self.text, self.found, self.functions, self.is_inside = path, text, [], [], False
        self.tokens = [m for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.partner, opened = {}, []
        for i in range(len(self.tokens)):
            if self.at(i) in ("(", "[", "{"):
                opened.append(i)
            elif self.at(i) in (")", "]", "}"):
                self.partner[opened.pop()] = i
        self.file()

    def at(self, i):
        return self.tokens[i].group() if 0 <= i < len(self.tokens) else ""

    def line(self, place):
        return self.text.count("\n", 0, place) + 1

    def behind(self, i, ends, is_nested=lambda text: 0):
        """The first token from i on, on the same level, that is one of these or closes the level."""
        level = 0
        while self.at(i) not in (")", "]", "}") and (level > 0 or self.at(i) not in ends) and i < len(self.tokens):
            level += is_nested(self.at(i))
            i = self.partner.get(i, i) + 1
        return i

    def add(self, kind, first, end, new):
        """`new` stands for the text from token `first` to in front of token `end`."""
        start, stop = self.tokens[first].start(), self.tokens[end - 1].end()
        new += "\n" * (self.text.count("\n", start, stop) - new.count("\n"))
        self.found.append((kind, self.is_inside, start, stop, new))

    def file(self):
        i = 0
        while i < len(self.tokens):
            if self.at(i) == "{" and self.at(i - 1) == ")":
                opened = next(o for o, closed in self.partner.items() if closed == i - 1)
                self.functions.append((self.line(self.tokens[opened - 1].start()), self.line(self.tokens[self.partner[i]].start())))
                if not re.search(r"_check$|^check_", self.at(opened - 1)):
                    self.is_inside = True
                    self.statement(i)
                    self.is_inside = False
            elif self.at(i) == "{" and "enum" in (self.at(i - 1), self.at(i - 2)):
                self.expression(i + 1, self.partner[i])
            elif self.at(i) == "=":
                self.expression(i + 1, self.behind(i, ";"))
                i = self.behind(i, ";")
            i = self.partner.get(i, i) + 1 if self.at(i) in ("{", "(") else i + 1

    def statement(self, i):
        """Returns the token behind the statement that begins with token i."""
        word, head = self.at(i), self.partner.get(i + 1)
        if word == "{":
            end, i = self.partner[i], i + 1
            while i < end:
                i = self.statement(i)
            return end + 1
        if word in ("if", "while", "for", "switch"):
            if word == "if":
                inner = self.text[self.tokens[i + 2].start():self.tokens[head - 1].end()]
                self.add("branch", i + 2, head, f"!({inner})")
            self.expression(i + 2, head)
            i = self.statement(head + 1)
            return self.statement(i + 1) if word == "if" and self.at(i) == "else" else i
        if word == "do":
            i = self.statement(i + 1)
        elif word in ("case", "default") or self.at(i + 1) == ":":
            return self.behind(i, ":") + 1
        end = self.behind(i, ";")
        is_pointer = self.at(i + 1) == "*" and self.text[self.tokens[i + 1].end()] != " "
        is_declared = word in TYPES or (self.tokens[i].lastgroup == "name" and word != "return" and
                                        (self.tokens[i + 1].lastgroup == "name" or is_pointer))
        if word not in NOT_MUTATED and not is_declared and word != "while" and (word != "return" or end == i + 1):
            self.add("statement", i, end + 1, ";")
        self.expression(i, end, is_declared)
        return end + 1

    def expression(self, i, end, is_declared=False):
        while i < end:
            token = self.tokens[i]
            word, has_spaces = token.group(), self.text[token.start() - 1].isspace() and self.text[token.end()].isspace()
            number = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", word)
            is_declared = is_declared and word != "="
            if word in NOT_MUTATED and self.at(i + 1) == "(" or word == "[" and is_declared:
                i = self.partner[i if word == "[" else i + 1]
            elif number and not is_declared:
                value = int(number[1], 0)
                for other in (value + 1, value - 1)[:1 + (value > 0)]:
                    self.add("constant", i, i + 1, (hex(other) if "x" in word.lower() else str(other)) + number[2])
            elif word in OTHER and (has_spaces or word in ALONE):
                kind = "comparison" if word in COMPARED else "constant" if word in ("true", "false") else "arithmetic"
                for other in OTHER[word]:
                    self.add(kind, i, i + 1, other)
            elif word == "?":
                colon = self.behind(i + 1, ":", lambda text: {"?": 1, ":": -1}.get(text, 0))
                last = self.behind(colon + 1, (",", ";", ":"), lambda text: {"?": 1, ":": -1}.get(text, 0))
                one, other = (self.text[self.tokens[a].end():self.tokens[b].start()].strip() for a, b in ((i, colon), (colon, last)))
                self.add("branch", i + 1, last, f"({other}) : ({one})")
            i += 1

    def mutants(self):
        seen = collections.Counter()
        for kind, is_inside, start, end, new in self.found:
            line, rest = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
            key = f"{self.path}: {self.text[line:start]}[[{self.text[start:end]} -> {new}]]{self.text[end:rest]}"
            key = " ".join(re.sub(r"/\*.*?(\*/|$)", "", key, flags=re.S).split())
            seen[key] += 1
            yield Mutant(self.path, self.line(start), kind, is_inside, start, end, new,
                         key if seen[key] == 1 else f"{key} #{seen[key]}")
