"""OpenStack's sushy-emulator over machines that are processes, which takes orders as the file `manner` says.

emulator.py FOLDER: a folder for each system, named as its UUID, with its machine.sh; account, cert.pem, key.pem and manner
beside them. It writes `port` once it listens, a line to `log` for each request, and ends when its stdin does.
"""

import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time

import bcrypt
from sushy_tools.emulator import main
from sushy_tools.emulator.resources.systems import fakedriver
from werkzeug.serving import WSGIRequestHandler, make_server

FOLDER = pathlib.Path(sys.argv[1])
# Longer than any client waits.
FOR_EVER = 600
LATE = 3


def manner():
    return (FOLDER / "manner").read_text().strip()


def machine(uuid, word):
    script = str(FOLDER / uuid / "machine.sh")
    return subprocess.run([script, word], stdin=subprocess.DEVNULL, check=False).returncode == 0


class Machines(fakedriver.FakeDriver):
    """The emulator's own driver, except that its power is a process's life and changes at once."""

    def get_power_state(self, identity):
        uuid = self._get(identity)["uuid"]
        if manner() == "lies":
            return "Off"
        return "On" if machine(uuid, "alive") else "Off"

    def set_power_state(self, identity, state):
        uuid = self._get(identity)["uuid"]
        if manner() not in ("ignores", "lies"):
            machine(uuid, "1" if "On" in state else "0")


class Manners:
    def __init__(self, app):
        self.app = app

    def __call__(self, env, start_response):
        with open(FOLDER / "log", "a", encoding="utf-8") as log:
            log.write(f"{env['REQUEST_METHOD']} {env['PATH_INFO']}\n")
        how, is_order = manner(), env["REQUEST_METHOD"] == "POST"
        if how == "late":
            time.sleep(LATE)
        if how == "hangs" or (how == "hangs-at-orders" and is_order):
            start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", "4096")])
            return stalled()
        if how == "forbids" and is_order:
            start_response("403 Forbidden", [("Content-Type", "application/json"), ("Content-Length", "2")])
            return [b"{}"]
        return self.app(env, start_response)


def stalled():
    """The beginning of an answer that never comes to its end."""
    yield b'{"PowerState": "Off", '
    time.sleep(FOR_EVER)


class Quiet(WSGIRequestHandler):
    def log(self, *_):
        pass


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


def write_users():
    user, password = (FOLDER / "account").read_text().strip().split(":", 1)
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=4)).decode()
    (FOLDER / "users").write_text(f"{user}:{digest}\n")


def serve():
    threading.Thread(target=end_with_stdin, daemon=True).start()
    fakedriver.FakeDriver = Machines
    uuids = [entry.name for entry in FOLDER.iterdir() if (entry / "machine.sh").exists()]
    systems = [{"uuid": uuid, "name": f"machine-{uuid}", "power_state": "On", "nics": []} for uuid in uuids]
    write_users()
    main.app.configure(extra_config={
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
        "SUSHY_EMULATOR_STATE_DIR": str(FOLDER),
        "SUSHY_EMULATOR_AUTH_FILE": str(FOLDER / "users"),
    })
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
    app = Manners(main.app)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet, ssl_context=context)
    (FOLDER / "port.new").write_text(str(server.server_port))
    (FOLDER / "port.new").rename(FOLDER / "port")
    server.serve_forever()


serve()
