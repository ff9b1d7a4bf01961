"""What the gate lets pass and what it stops: python3 -m unittest discover packaging/ansible/tests (without Ansible)."""

import importlib.util
import json
import os
import socketserver
import stat
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(FOLDER, "../roles/nodewell/library/nodewell_gate.py")


def imported(path):
    spec = importlib.util.spec_from_file_location("nodewell_gate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gate = imported(MODULE)

PARAMS = {
    "host": "worker-7",
    "way_back": "To go back: rollback.yml.",
    "package": "0.1.0-1",
    "is_change": True,
    "version": "0.2.0",
    "loaded_since": 0,
    "settle_secs": 10,
    "timeout_secs": 30,
    "unknown_growth_percent": 0,
    "unit": "nodewell.service",
}
RUNNING = {"ActiveState": "active", "SubState": "running", "Result": "success", "ExecMainStatus": "0", "MainPID": "40"}
CRASHED = dict(RUNNING, ActiveState="activating", SubState="auto-restart", Result="exit-code", ExecMainStatus="1")


def agent(version="0.2.0", ready=True, configuration=None, **statuses):
    conditions = {name: {"status": status, "reason": "IOError", "message": "sdb"} for name, status in statuses.items()}
    waiting = [] if ready else ["kernel-monitor has gone silent"]
    shown = {"version": version, "ready": ready, "waiting": waiting, "conditions": conditions}
    return dict(shown, configuration=configuration)


def before(known=None, taken=1000.0):
    return {"format": gate.FORMAT, "taken": taken, "package": "0.1.0-1", "agent": known}


def seen(shown, **properties):
    return {"agent": shown, "service": dict(RUNNING, **properties), "why": "" if shown else "timed out"}


class Clock:
    """One on which sleeping takes no time."""

    def __init__(self):
        self.now = 500.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Judge(unittest.TestCase):
    def judge(self, known, shown, **params):
        return gate.judge(before(known), seen(shown), dict(PARAMS, **params))

    def test_the_same_passes(self):
        known = agent("0.1.0", Disk="True", Kernel="False", Gpu="Unknown")
        now = agent(Disk="True", Kernel="False", Gpu="Unknown")
        self.assertEqual(self.judge(known, now), ([], []))

    def test_what_ended_or_is_known_again_passes(self):
        self.assertEqual(self.judge(agent(Disk="True", Gpu="Unknown"), agent(Disk="False", Gpu="False")), ([], []))

    def test_a_new_true_condition_is_a_fault_whatever_it_was(self):
        for status in ("False", "Unknown"):
            faults, _ = self.judge(agent(Disk=status), agent(Disk="True"))
            self.assertEqual(faults, ["Disk is True (IOError: sdb), before the change it was " + status])
        faults, _ = self.judge(agent(Kernel="False"), agent(Kernel="False", Disk="True"))
        self.assertIn("Disk is True (IOError: sdb), before the change it was not there", faults)

    def test_a_larger_share_of_unknown_conditions_may_still_come_right(self):
        known = agent(A="Unknown", B="False", C="False", D="False")
        faults, pending = self.judge(known, agent(A="Unknown", B="Unknown", C="False", D="False"))
        self.assertEqual(faults, [])
        expected = "2 of 4 conditions are Unknown, before the change 1 of 4 were; new are B"
        self.assertEqual(pending, [expected])

    def test_the_share_counts_and_not_the_number(self):
        known = agent(A="Unknown", B="False")
        self.assertEqual(self.judge(known, agent(A="Unknown", B="False", C="Unknown", D="False")), ([], []))
        _, pending = self.judge(known, agent(A="Unknown"))
        self.assertEqual(len(pending), 1, "half of them were Unknown, now all are")
        self.assertIn("new are none of them", pending[0])

    def test_growth_is_allowed_up_to_the_limit(self):
        known = agent(A="False", B="False", C="False", D="False")
        now = agent(A="Unknown", B="False", C="False", D="False")
        self.assertEqual(self.judge(known, now, unknown_growth_percent=25), ([], []))
        self.assertEqual(len(self.judge(known, now, unknown_growth_percent=24)[1]), 1)

    def test_another_version_is_waited_for_unless_any_will_do(self):
        old = agent("0.1.0", Disk="False")
        self.assertEqual(self.judge(old, old)[1], ["the agent is version 0.1.0, wanted is 0.2.0"])
        self.assertEqual(self.judge(old, old, version=""), ([], []))

    def test_an_agent_that_was_never_ready_need_not_become_so(self):
        lame = agent(ready=False, Disk="False")
        expected = ["the agent is not ready: kernel-monitor has gone silent"]
        self.assertEqual(self.judge(agent(Disk="False"), lame)[1], expected)
        self.assertEqual(self.judge(lame, lame), ([], []))

    def test_without_an_agent_before_nothing_is_compared(self):
        self.assertEqual(self.judge(None, agent(Disk="True", Gpu="Unknown")), ([], []))
        self.assertEqual(len(self.judge(None, agent(ready=False, Disk="True"))[1]), 1)

    def test_no_condition_is_no_health(self):
        self.assertEqual(self.judge(None, agent())[1], ["the agent shows no condition yet"])
        self.assertEqual(self.judge(agent(Disk="False"), agent())[1], ["the agent shows no condition yet"])

    def test_a_configuration_that_was_not_taken_is_waited_for(self):
        loaded = {"hash": "sha256:0a", "rules_hash": "sha256:0b", "loaded": "1970-01-01T00:16:40.5Z"}
        now = agent(configuration=loaded, Disk="False")
        for since, waits in ((0, 0), (999.9, 0), (1000.4, 0), (1001.0, 1)):
            self.assertEqual(len(self.judge(agent(Disk="False"), now, loaded_since=since)[1]), waits, since)
        old = agent(Disk="False")
        self.assertEqual(self.judge(old, old, version="", loaded_since=1001.0), ([], []), "one that does not show it")

    def test_a_silent_agent_is_waited_for_and_one_that_failed_is_not(self):
        params = dict(PARAMS)
        silent = {"agent": None, "service": CRASHED, "why": "timed out"}
        faults, pending = gate.judge(before(agent()), silent, params)
        self.assertEqual(faults, [])
        state = "nodewell.service is activating (auto-restart), its last run ended with exit-code 1"
        self.assertIn(state, pending[0])
        silent["service"] = dict(CRASHED, ActiveState="failed", SubState="failed", ExecMainStatus="78")
        faults, _ = gate.judge(before(agent()), silent, params)
        self.assertIn("nodewell.service has failed, its last run ended with exit-code 78", faults[0])
        silent["service"] = {}
        self.assertEqual(gate.judge(before(agent()), silent, params)[1], ["the agent does not answer (timed out)"])


class Watch(unittest.TestCase):
    """Looks come from a list; the last one stays."""

    def watch(self, looks, **params):
        clock, left = Clock(), list(looks)
        known = agent("0.1.0", Disk="False")
        look = lambda: left.pop(0) if len(left) > 1 else left[0]
        last, faults = gate.watch(look, before(known), dict(PARAMS, **params), clock)
        return last, faults, clock.now - 500.0

    def test_it_passes_after_the_settling_time_and_not_before(self):
        well = seen(agent(Disk="False"))
        last, faults, took = self.watch([well])
        self.assertEqual((last, faults, took), (well, [], 10.0))
        self.assertEqual(self.watch([well], settle_secs=0)[2], 0.0)

    def test_settling_begins_again_after_a_gap(self):
        well, silent = seen(agent(Disk="False")), seen(None)
        _, faults, took = self.watch([well] * 5 + [silent] + [well])
        self.assertEqual((faults, took), ([], 16.0))

    def test_a_fault_ends_it_at_once(self):
        well, sick = seen(agent(Disk="False")), seen(agent(Disk="True"))
        last, faults, took = self.watch([well] * 4 + [sick, well])
        self.assertEqual((last, took), (sick, 4.0))
        self.assertIn("Disk is True", faults[0])

    def test_what_does_not_come_right_in_time_is_a_fault(self):
        _, faults, took = self.watch([seen(agent("0.1.0", Disk="False"))])
        self.assertEqual(took, 30.0)
        self.assertEqual(faults, ["after 30 s the agent is version 0.1.0, wanted is 0.2.0"])

    def test_one_that_comes_and_goes_does_not_settle(self):
        well, silent = seen(agent(Disk="False")), seen(None)
        _, faults, took = self.watch([well, silent] * 40)
        self.assertLessEqual(took, 31.0)
        self.assertIn("does not answer", faults[0])

    def test_a_new_process_while_it_settles_is_a_fault(self):
        well, again = seen(agent(Disk="False")), seen(agent(Disk="False"), MainPID="41")
        _, faults, _ = self.watch([well] * 3 + [again])
        self.assertEqual(faults, ["nodewell.service was started again while it settled"])

    def test_one_that_crashed_and_is_up_again_between_two_well_looks_is_a_fault(self):
        well, again = seen(agent(Disk="False")), seen(agent(Disk="False"), MainPID="41")
        crashed = {"agent": None, "service": dict(CRASHED, MainPID="0"), "why": "timed out"}
        starting = seen(agent(ready=False, Disk="False"), MainPID="41")
        for looks in ([crashed, again], [crashed, starting, again]):
            _, faults, took = self.watch([well] * 3 + looks)
            how = "its last run ended with exit-code 1: see journalctl --unit nodewell"
            self.assertEqual(faults, ["nodewell.service was started again while it settled, " + how])
            self.assertLess(took, 6.0)

    def test_what_is_started_again_before_it_is_well_is_none(self):
        first, second = seen(None), seen(agent(Disk="False"), MainPID="41")
        self.assertEqual(self.watch([first, second])[1], [])

    def test_a_systemd_that_does_not_answer_is_no_new_process(self):
        well, unheard = seen(agent(Disk="False")), dict(seen(agent(Disk="False")), service={})
        _, faults, took = self.watch([well, unheard, well])
        self.assertEqual((faults, took), ([], 10.0))
        self.assertEqual(self.watch([unheard])[1], [], "where there is none")

    def test_a_ready_agent_is_waited_for_before_it_is_saved(self):
        clock = Clock()
        looks = [seen(None), seen(agent(ready=False)), seen(agent(Disk="False"))]
        saved = gate.wait_until_ready(lambda: looks.pop(0), 30, clock)
        self.assertEqual((saved, clock.now), (agent(Disk="False"), 502.0))
        lame = seen(agent(ready=False))
        self.assertEqual(gate.wait_until_ready(lambda: lame, 5, clock), lame["agent"])


class Answers(BaseHTTPRequestHandler):
    """What an agent answers, from the server's table."""

    def do_GET(self):
        code, body = self.server.answers.get(self.path, (404, {"error": "there is no such path"}))
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "a Unix socket"

    def log_message(self, *_):
        pass


class Steps(unittest.TestCase):
    """The whole of it, against a socket and a file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state", "before.json")
        self.socket = os.path.join(folder.name, "socket")
        self.server = socketserver.ThreadingUnixStreamServer(self.socket, Answers)
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.shutdown)
        self.shows("0.1.0", "False")

    def shows(self, version, disk, ready=200):
        view = {"type": "DiskUnhealthy", "status": disk, "reason": "IOError", "message": "sdb", "problems": []}
        self.server.answers = {
            "/v1/version": (200, {"version": version, "api": "v1", "features": []}),
            "/v1/status": (200, {"node": "n", "conditions": [view], "daemons": []}),
            "/readyz": (ready, {"ok": ready == 200, "waiting": [], "degraded": []}),
        }

    def step(self, name, check_mode=False, **params):
        # No such unit anywhere: what systemd says of it is nothing, or that it is inactive.
        own = {"path": self.path, "socket": self.socket, "unit": "nodewell-no-such.service"}
        at_once = {"settle_secs": 0, "timeout_secs": 0}
        return gate.STEPS[name](dict(PARAMS, **dict(own, **dict(at_once, **params))), check_mode)

    def test_saved_changed_compared_closed(self):
        saved = self.step("save")
        self.assertTrue(saved["changed"])
        self.assertEqual(saved["before"]["agent"]["version"], "0.1.0")
        mode = stat.S_IMODE(os.stat(self.path + ".open").st_mode)
        self.assertEqual(mode, 0o600)
        self.shows("0.2.0", "False")
        passed = self.step("compare")
        self.assertNotIn("msg", passed)
        self.assertEqual((passed["agent"]["version"], passed["true_conditions"]), ("0.2.0", []))
        closed = self.step("close")
        self.assertEqual((closed["changed"], closed["before"]), (True, saved["before"]))
        self.assertFalse(self.step("close")["changed"])
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["before.json"])
        self.assertEqual(self.step("read")["before"], saved["before"], "the way back stays")

    def test_a_failure_names_host_condition_and_the_way_back(self):
        self.step("save")
        self.shows("0.2.0", "True")
        failure = self.step("compare")
        why = "DiskUnhealthy is True (IOError: sdb), before the change it was False"
        self.assertEqual(failure["msg"], "worker-7 did not pass: {0}. To go back: rollback.yml.".format(why))
        self.assertEqual(failure["true_conditions"], ["DiskUnhealthy"])

    def test_an_open_change_is_compared_with_the_last_good_state(self):
        self.step("save")
        self.shows("0.2.0", "True")
        again = self.step("save", package="0.2.0-1")
        self.assertEqual((again["changed"], again["kept"]), (False, True))
        self.assertEqual((again["before"]["package"], again["before"]["agent"]["version"]), ("0.1.0-1", "0.1.0"))
        self.step("close")
        after = self.step("save", package="0.2.0-1")
        self.assertEqual((after["before"]["package"], after["before"]["agent"]["version"]), ("0.2.0-1", "0.2.0"))

    def test_a_change_that_was_none_leaves_the_way_back_from_the_last_one(self):
        first = self.step("save")["before"]
        self.step("close")
        self.shows("0.2.0", "False")
        again = self.step("save", package="0.2.0-1")
        self.assertEqual(self.step("read")["before"], again["before"], "while it is open")
        self.assertEqual(self.step("close", is_change=False)["before"], first)
        self.assertEqual(self.step("read")["before"], first)
        self.assertIsNone(gate.load(self.path + ".open"))

    def test_a_host_without_the_package_is_not_asked(self):
        saved = self.step("save", package="", timeout_secs=1000)
        self.assertIsNone(saved["before"]["agent"])
        self.shows("0.2.0", "True")
        self.assertEqual(self.step("compare")["true_conditions"], ["DiskUnhealthy"])

    def test_check_mode_writes_nothing_and_stops_nothing(self):
        self.assertTrue(self.step("save", check_mode=True)["changed"])
        self.assertEqual(self.step("read")["before"], None)
        self.assertNotIn("msg", self.step("compare", check_mode=True))
        self.step("save")
        self.shows("0.2.0", "True")
        self.assertNotIn("msg", self.step("compare", check_mode=True))
        self.assertTrue(self.step("close", check_mode=True)["changed"])
        self.assertTrue(self.step("close")["changed"])

    def test_what_is_no_agent_does_not_answer(self):
        self.step("save")
        for answers in ({}, {"/v1/version": (200, b"\xff")}, {"/v1/version": (200, [])}):
            self.server.answers = answers
            failure = self.step("compare")
            self.assertIn("after 0 s the agent does not answer (", failure["msg"], answers)
            self.assertNotIn("agent", failure)

    def test_an_agent_that_does_not_say_when_it_took_its_configuration_does_not_answer(self):
        self.step("save")
        for configuration in ({}, [], {"loaded": None}, {"loaded": "yesterday"}, {"hash": "sha256:0a"}, 7):
            self.shows("0.2.0", "False")
            self.server.answers["/v1/status"][1]["configuration"] = configuration
            failure = self.step("compare")
            self.assertIn("are not those of an agent", failure["msg"], configuration)

    def test_a_missing_agent_does_not_answer(self):
        self.step("save")
        failure = self.step("compare", socket=self.socket + "-none")
        self.assertIn("No such file or directory", failure["msg"])

    def test_what_was_saved_is_not_guessed(self):
        with self.assertRaisesRegex(gate.Unusable, "nothing was saved before the change"):
            self.step("compare")
        self.step("save")
        unusable = ["{", "null", "[]", "7", '"x"']
        unusable += [json.dumps({"format": number}) for number in (gate.FORMAT, gate.FORMAT + 1)]
        for text in unusable:
            with open(self.path + ".open", "w") as file:
                file.write(text)
            for name in ("save", "compare", "close", "read"):
                with self.assertRaises(gate.Unusable):
                    self.step(name)


class Documentation(unittest.TestCase):
    def test_every_parameter_is_documented_with_its_default(self):
        with open(MODULE, encoding="utf-8") as file:
            spec = file.read().split("argument_spec={", 1)[1]
        documented = gate.DOCUMENTATION.split("options:", 1)[1]
        names = [line[2:-1] for line in documented.splitlines() if line.startswith("  ") and line[2] not in " -"]
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn('"{0}": '.format(name), spec)
            self.assertIn(name, dict(PARAMS, step="", path="", socket=""))


if __name__ == "__main__":
    unittest.main()
