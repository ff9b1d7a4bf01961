#!/usr/bin/python
"""The gate between two batches of a rollout, on one host: it compares what the agent shows with what it showed before.

Pure functions judge, a thin layer asks. It needs nothing but Python's standard library, 3.6 or later.
"""

import calendar
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time

DOCUMENTATION = r"""
module: nodewell_gate
short_description: Compares a nodewell agent with what it was before a change
description:
  - Asks the agent's socket for its version, its readiness and its conditions. The metrics C(nodewell_condition),
    C(nodewell_build_info) and C(nodewell_config_loaded_timestamp_seconds) are made from the same account.
  - It fails at once where a condition is True that was not before, where the service is started again while it
    settles, and where it has failed for good.
  - It fails after O(timeout_secs) where the agent does not answer, is another version, is not ready, has not taken its
    configuration, or has a larger share of Unknown conditions.
  - Where no agent answered before there is nothing to compare. What is True there is returned, and stops nothing.
  - In check mode it looks once, writes nothing, and does not fail.
options:
  step:
    description:
      - V(save) writes what the agent shows to O(path) with C(.open), unless that is there, from a change whose gate has
        not passed. So a second try, or a better version after a bad one, is compared with what was good.
      - V(compare) looks until all is well for O(settle_secs) in a row.
      - V(close) ends the change. What was saved goes to O(path), or away if nothing was changed.
      - V(read) returns what was saved before the change that is open, else before the last one.
    type: str
    choices: [save, compare, close, read]
    required: true
  path:
    description: The file on the host that has what the agent showed before the last change.
    type: path
    default: /var/lib/nodewell-rollout/before.json
  host:
    description: How messages call the host.
    type: str
    default: this host
  way_back:
    description: How to go back, for the message of a gate that fails.
    type: str
    default: ''
  package:
    description: With V(save), the package's version before the change; empty where there is none.
    type: str
    default: ''
  is_change:
    description: With V(close), whether anything was changed.
    type: bool
    default: true
  version:
    description: The version that the agent has to report; empty for any.
    type: str
    default: ''
  loaded_since:
    description:
      - The agent has to have taken its configuration after this moment, in seconds since 1970 by the host's clock, such
        as RV(started) of V(save); 0 for whenever. Agents that do not show when they took it are not asked.
    type: float
    default: 0
  settle_secs:
    description: For so long all has to be well.
    type: int
    default: 120
  timeout_secs:
    description: Within this time all has to become well. With V(save), for so long a ready agent is waited for.
    type: int
    default: 180
  unknown_growth_percent:
    description: By so many percentage points the share of Unknown conditions may grow.
    type: int
    default: 0
  socket:
    description: The agent's socket.
    type: path
    default: /run/nodewell/nodewell.sock
  unit:
    description: The agent's service, asked for what became of it.
    type: str
    default: nodewell.service
"""

EXAMPLES = r"""
- nodewell_gate:
    step: save
    package: 0.1.0-1
- nodewell_gate:
    step: compare
    version: 0.2.0
    settle_secs: 300
"""

RETURN = r"""
before:
  description: What was saved (C(taken), C(package), C(agent), which is null where none answered), or null.
  type: dict
  returned: always
kept:
  description: Whether a change was open, so that the account from before it was kept.
  type: bool
  returned: with step=save
started:
  description: The moment of the call, in seconds since 1970 by the host's clock.
  type: float
  returned: always
agent:
  description: What the agent shows now.
  type: dict
  returned: with step=compare, if it answers
true_conditions:
  description: Types of conditions that are True now.
  type: list
  elements: str
  returned: with step=compare, if it answers
"""

FORMAT = 1
# The agent answers within milliseconds; one that is being restarted lets its clients wait.
ANSWER_SECS = 10
LOOK_EVERY_SECS = 1
REMEDY = "remove it to take what is there now for the state before"


class Silent(Exception):
    """The agent does not answer, or not as an agent does."""


class Unusable(Exception):
    """What was saved before the change cannot be gone by."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, target):
    """The code and the JSON of one answer."""
    connection = UnixConnection(path, ANSWER_SECS)
    try:
        connection.request("GET", target, headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read().decode("utf-8"))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Silent("{0} on {1}: {2}".format(target, path, error))
    finally:
        connection.close()


def account(path):
    """What the agent shows now, as far as the gate compares it."""
    _, version = ask(path, "/v1/version")
    _, status = ask(path, "/v1/status")
    ready, health = ask(path, "/readyz")
    try:
        return {
            "version": version["version"],
            "ready": ready == 200,
            "waiting": [str(one) for one in health["waiting"]],
            "conditions": {one["type"]: shown(one) for one in status["conditions"]},
            "configuration": taken(status.get("configuration")),
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Silent("the answers on {0} are not those of an agent: {1!r}".format(path, error))


def shown(condition):
    return {key: condition[key] for key in ("status", "reason", "message")}


def taken(configuration):
    """The configuration that the agent shows. Agents of before this field have none."""
    if configuration is not None:
        # One that says nothing that is understood is no answer.
        instant(configuration["loaded"])
    return configuration


def service(unit):
    """What systemd knows of the service; empty where there is no systemd."""
    names = "ActiveState,SubState,Result,ExecMainStatus,MainPID"
    argv = ["systemctl", "show", "--property", names, unit]
    try:
        output = subprocess.check_output(argv, stderr=subprocess.DEVNULL, timeout=ANSWER_SECS)
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = output.decode("utf-8", "replace").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def look(params):
    """The agent and its service at one moment."""
    seen = {"agent": None, "service": service(params["unit"]), "why": ""}
    try:
        seen["agent"] = account(params["socket"])
    except Silent as error:
        seen["why"] = str(error)
    return seen


def judge(before, seen, params):
    """What is wrong for good, and what may still come right."""
    faults, pending = failed(seen["service"], params["unit"]), []
    agent = seen["agent"]
    if agent is None:
        state = state_of(seen["service"], params["unit"])
        return faults, ["the agent does not answer ({0}){1}".format(seen["why"], state)]
    if params["version"] and agent["version"] != params["version"]:
        pending.append("the agent is version {0}, wanted is {1}".format(agent["version"], params["version"]))
    pending += not_taken(agent["configuration"], params["loaded_since"])
    known = before["agent"]
    # An agent that was not ready before may have a monitor that never will be.
    if not agent["ready"] and (known is None or known["ready"]):
        pending.append("the agent is not ready: {0}".format(", ".join(agent["waiting"])))
    if not agent["conditions"]:
        pending.append("the agent shows no condition yet")
    if known is not None:
        faults += newly_true(known["conditions"], agent["conditions"])
        pending += more_unknown(known["conditions"], agent["conditions"], params["unknown_growth_percent"])
    return faults, pending


def failed(properties, unit):
    """systemd starts it again after a crash; what has failed stays so."""
    if properties.get("ActiveState") != "failed":
        return []
    return ["{0} has failed{1}".format(unit, ended(properties))]


def process(properties):
    """The number of the one that runs; nothing where none does, and where systemd did not answer."""
    number = properties.get("MainPID", "0")
    return None if number == "0" else number


def state_of(properties, unit):
    if not properties:
        return ""
    state = "{0} ({1})".format(properties.get("ActiveState"), properties.get("SubState"))
    return "; {0} is {1}{2}".format(unit, state, ended(properties))


def ended(properties):
    if properties.get("Result", "success") == "success":
        return ""
    return ", its last run ended with {0} {1}: see journalctl --unit nodewell".format(
        properties["Result"], properties.get("ExecMainStatus", "")
    )


def not_taken(configuration, since):
    # Whole seconds do: what was taken before is older than that.
    if configuration is None or instant(configuration["loaded"]) >= int(since):
        return []
    return ["the agent has not taken its new configuration: see `nodewell check` and journalctl --unit nodewell"]


def instant(text):
    """Seconds since 1970 of a time as the agent writes it, such as 2026-11-21T02:00:00.5Z."""
    return calendar.timegm(time.strptime(text.split(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S"))


def newly_true(known, now):
    faults = []
    for name in sorted(now):
        was = known.get(name, {}).get("status", "not there")
        if now[name]["status"] == "True" and was != "True":
            why = "{0}: {1}".format(now[name]["reason"], now[name]["message"])
            faults.append("{0} is True ({1}), before the change it was {2}".format(name, why, was))
    return faults


def more_unknown(known, now, growth_percent):
    unknown, before = unknown_of(now), unknown_of(known)
    # An agent that had not looked has no share.
    if not known or not now:
        return []
    # By whole numbers: u/n > b/m + growth/100.
    if (len(unknown) * len(known) - len(before) * len(now)) * 100 <= growth_percent * len(known) * len(now):
        return []
    more = [name for name in unknown if name not in before]
    text = "{0} of {1} conditions are Unknown, before the change {2} of {3} were; new are {4}"
    return [text.format(len(unknown), len(now), len(before), len(known), ", ".join(more) or "none of them")]


def unknown_of(conditions):
    return sorted(name for name, one in conditions.items() if one["status"] == "Unknown")


def watch(look_once, before, params, clock=time):
    """Looks until all is well for long enough, or cannot become so: what was seen last, and what is wrong with it."""
    began = clock.monotonic()
    well_since, settling, last_end = None, None, ""
    while True:
        seen = look_once()
        faults, pending = judge(before, seen, params)
        now = clock.monotonic()
        running = process(seen["service"])
        # Of a run that is over systemd knows how it ended until the next one begins.
        last_end = ended(seen["service"]) or last_end
        if settling is not None and running not in (None, settling):
            faults.append("{0} was started again while it settled{1}".format(params["unit"], last_end))
        elif not faults and not pending:
            settling, last_end = settling or running, ""
            well_since = now if well_since is None else well_since
            if now - well_since >= params["settle_secs"]:
                return seen, []
        else:
            well_since = None
        if faults:
            return seen, faults
        if pending and now - began >= params["timeout_secs"]:
            return seen, ["after {0} s {1}".format(params["timeout_secs"], "; ".join(pending))]
        clock.sleep(LOOK_EVERY_SECS)


def wait_until_ready(look_once, timeout_secs, clock=time):
    """An agent that has just been started has everything Unknown: what is saved then would let anything pass."""
    began = clock.monotonic()
    while True:
        agent = look_once()["agent"]
        if (agent is not None and agent["ready"]) or clock.monotonic() - began >= timeout_secs:
            return agent
        clock.sleep(LOOK_EVERY_SECS)


def opened(path):
    """Where the record of a change is that has not passed its gate; the last one that has is at `path`."""
    return path + ".open"


def load(path):
    """What was saved before a change; none where nothing was."""
    try:
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Unusable("{0} cannot be read: {1}; {2}".format(path, error, REMEDY))
    if not isinstance(saved, dict):
        raise Unusable("{0} is no record of this role; {1}".format(path, REMEDY))
    if saved.get("format") != FORMAT:
        raise Unusable("{0} was written by another version of this role: finish that rollout by that one".format(path))
    missing = [key for key in ("taken", "package", "agent") if key not in saved]
    if missing:
        raise Unusable("{0} has no {1}; {2}".format(path, ", ".join(missing), REMEDY))
    return saved


def store(path, saved):
    """Whole or not at all, and for root alone."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(saved, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.rename(unfinished, path)


def read(params, check_mode):
    """The record that a way back goes by: of the change that is open, else of the last one."""
    saved = load(opened(params["path"])) or load(params["path"])
    return {"changed": False, "before": saved}


def save(params, check_mode):
    saved = load(opened(params["path"]))
    if saved is not None:
        return {"changed": False, "kept": True, "before": saved}
    saved = {"format": FORMAT, "taken": time.time(), "package": params["package"], "agent": None}
    # What is not installed does not answer.
    if params["package"]:
        saved["agent"] = wait_until_ready(lambda: look(params), 0 if check_mode else params["timeout_secs"])
    if not check_mode:
        store(opened(params["path"]), saved)
    return {"changed": True, "kept": False, "before": saved}


def compare(params, check_mode):
    before = read(params, check_mode)["before"]
    if check_mode:
        seen, faults = look(params), []
    elif before is None:
        raise Unusable("{0} is not there: nothing was saved before the change, by step=save".format(params["path"]))
    else:
        seen, faults = watch(lambda: look(params), before, params)
    result = {"changed": False, "before": before}
    if seen["agent"] is not None:
        conditions = seen["agent"]["conditions"]
        result["agent"] = seen["agent"]
        result["true_conditions"] = sorted(name for name, one in conditions.items() if one["status"] == "True")
    if faults:
        result["msg"] = message(params, faults)
    return result


def message(params, faults):
    """Names the host, what is wrong, and how to go back."""
    what = "{0} did not pass: {1}.".format(params["host"], "; ".join(faults))
    return "{0} {1}".format(what, params["way_back"]).strip()


def close(params, check_mode):
    """A change that was none leaves the record of the last one, or there would be no way back from that."""
    path = params["path"]
    if load(opened(path)) is None:
        return {"changed": False, "before": load(path)}
    if not check_mode and params["is_change"]:
        os.rename(opened(path), path)
    elif not check_mode:
        os.remove(opened(path))
    return {"changed": True, "before": load(path)}


STEPS = {"save": save, "compare": compare, "close": close, "read": read}


def main():
    # Here, so that the tests of what is above need no Ansible.
    from ansible.module_utils.basic import AnsibleModule

    module = AnsibleModule(
        argument_spec={
            "step": {"type": "str", "choices": sorted(STEPS), "required": True},
            "path": {"type": "path", "default": "/var/lib/nodewell-rollout/before.json"},
            "host": {"type": "str", "default": "this host"},
            "way_back": {"type": "str", "default": ""},
            "package": {"type": "str", "default": ""},
            "is_change": {"type": "bool", "default": True},
            "version": {"type": "str", "default": ""},
            "loaded_since": {"type": "float", "default": 0},
            "settle_secs": {"type": "int", "default": 120},
            "timeout_secs": {"type": "int", "default": 180},
            "unknown_growth_percent": {"type": "int", "default": 0},
            "socket": {"type": "path", "default": "/run/nodewell/nodewell.sock"},
            "unit": {"type": "str", "default": "nodewell.service"},
        },
        supports_check_mode=True,
    )
    started = time.time()
    try:
        result = STEPS[module.params["step"]](module.params, module.check_mode)
    except (Unusable, OSError) as error:
        module.fail_json(msg=str(error), started=started)
    end = module.fail_json if "msg" in result else module.exit_json
    end(started=started, **result)


if __name__ == "__main__":
    main()
