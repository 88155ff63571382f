"""The proofs' mistakes still change the code, also where nobody has CBMC to find them."""
import glob
import os
import subprocess
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROOFS = os.path.join(TOP, "tests", "proofs")


def mistakes():
    with open(os.path.join(PROOFS, "mistakes"), encoding="ascii") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split(" ", 2)


class Mistakes(unittest.TestCase):
    def test_each_changes_its_file(self):
        for proof, name, expression in mistakes():
            with self.subTest(proof=proof, expression=expression):
                path = os.path.join(TOP, "src", name)
                with open(path, "rb") as file:
                    before = file.read()
                self.assertNotEqual(subprocess.run(["sed", expression, path], check=True, capture_output=True).stdout,
                                    before)

    def test_each_proof_has_one(self):
        proofs = {os.path.basename(path)[:-2] for path in glob.glob(os.path.join(PROOFS, "*.c"))}
        self.assertEqual({proof for proof, _, _ in mistakes()}, proofs)


if __name__ == "__main__":
    unittest.main()
