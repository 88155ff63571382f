"""Control groups of tools/lab, in a directory that is none."""

import os
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "lab"))

import groups


class Groups(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = directory.name

    def mounts(self, version):
        if version == 1:
            return f"cgroup {self.place} cgroup rw,relatime,cpu 0 0\nproc /proc proc rw 0 0\n"
        groups.write(f"{self.place}/cgroup.controllers", "cpuset cpu io\n")
        groups.write(f"{self.place}/cgroup.subtree_control", "io\n")
        return f"cgroup2 {self.place} cgroup2 rw 0 0\n"

    def test_limits(self):
        self.assertEqual(groups.limits(2, 2043), {"cpu.max": "2043 10000"})
        self.assertEqual(groups.limits(1, 2043), {"cpu.cfs_period_us": "10000",
                                                  "cpu.cfs_quota_us": "2043"})

    def test_both_versions_are_found(self):
        for version in (1, 2):
            self.assertEqual(list(groups.candidates(self.mounts(version))), [(version, self.place)])

    def test_a_mount_without_the_processor_is_none(self):
        self.assertEqual(list(groups.candidates("cgroup /c cgroup rw,cpuset 0 0\n")), [])
        mounts = self.mounts(2)
        groups.write(f"{self.place}/cgroup.controllers", "cpuset\n")
        self.assertEqual(list(groups.candidates(mounts)), [])

    def test_what_was_enabled_is_disabled(self):
        with unittest.mock.patch.object(groups, "permits", return_value=True):
            with groups.available(self.mounts(2)) as made:
                self.assertEqual(made.version, 2)
                self.assertEqual(groups.read(f"{self.place}/cgroup.subtree_control"), "+cpu")
        self.assertEqual(groups.read(f"{self.place}/cgroup.subtree_control"), "-cpu")

    def test_where_none_can_be_made(self):
        with unittest.mock.patch.object(groups.os, "mkdir", side_effect=PermissionError):
            with groups.available(self.mounts(1)) as made:
                self.assertIsNone(made.version)
                with made.group("sender", 1000) as path:
                    self.assertEqual(path, "")

    def test_a_group_is_removed_whatever_happens(self):
        with unittest.mock.patch.object(groups, "limits", return_value={}):
            with self.assertRaises(KeyError), groups.Groups(1, self.place).group("a", 1000) as path:
                self.assertTrue(os.path.isdir(path))
                raise KeyError
        self.assertEqual(os.listdir(self.place), [])

    def test_removing_waits_for_the_last_process(self):
        busy = OSError(groups.errno.EBUSY, "busy")
        with unittest.mock.patch.object(groups.os, "rmdir", side_effect=[busy, busy, None]) as rmdir:
            groups.remove("/x")
        self.assertEqual(rmdir.call_count, 3)

    def test_orphans_are_removed_and_others_are_not(self):
        for pid in ("999999999", str(os.getpid())):
            os.mkdir(f"{self.place}/{groups.PREFIX}.{pid}.sender")
        groups.remove_orphans(self.place)
        self.assertEqual(os.listdir(self.place), [f"{groups.PREFIX}.{os.getpid()}.sender"])


if __name__ == "__main__":
    unittest.main()
