"""Ansible's way into a machine that a test has booted: programs run there as the harness runs them, by nsenter."""

import subprocess

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = r"""
name: machine
short_description: Into a booted container, by its first process
description:
  - The containers of these tests have no network and no SSH server.
author: the nodewell authors
extends_documentation_fragment:
  - connection_pipelining
options:
  leader:
    description: PID 1 of the machine, as the outer machine numbers it.
    type: int
    required: true
    vars:
      - name: machine_leader
"""

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}


class Connection(ConnectionBase):
    transport = "machine"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def run(self, argv, data=None):
        way = ["nsenter", "--all", "--target", str(self.get_option("leader")), "--"]
        done = subprocess.run(way + argv, input=data or b"", capture_output=True, env=ENVIRONMENT)
        return done.returncode, done.stdout, done.stderr

    def copy(self, argv, data, what):
        code, stdout, stderr = self.run(argv, data)
        if code != 0:
            raise AnsibleConnectionFailure("{0}: {1}".format(what, stderr.decode("utf-8", "replace")))
        return stdout

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return self.run(["/bin/sh", "-c", cmd], in_data)

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        with open(in_path, "rb") as file:
            self.copy(["/bin/sh", "-c", 'cat >"$1"', "sh", out_path], file.read(), out_path)

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        content = self.copy(["cat", in_path], None, in_path)
        with open(out_path, "wb") as file:
            file.write(content)

    def close(self):
        self._connected = False
