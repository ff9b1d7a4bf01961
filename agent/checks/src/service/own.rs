//! `[[service]]`: a unit or an endpoint that the operator wants watched.

use std::time::Duration;

use nodewell_settings::{
    Kind, ListedKey, ListedTable, Report, Schema, Section, TableAt,
    kind::{Bool, Number, Time},
    section,
};

use super::{
    service_probe::ProbeTiming,
    settings::{ANSWERS, INTERVALS, OwnService, OwnTiming, check_timeout},
    target::{HttpTarget, Target, TargetError, socket_address, socket_path},
};

const WHAT: [&str; 6] = ["unit", "http", "tcp", "unix", "cri", "docker"];
/// The names of the node's own services: the state of each is saved under its name.
const TAKEN: [&str; 8] = [
    "kubelet",
    "kube-proxy",
    "container-runtime",
    "docker",
    "FrequentKubeletRestart",
    "FrequentContainerdRestart",
    "FrequentDockerRestart",
    "FrequentCrioRestart",
];
/// A subject of a condition is shown in lists.
const NAME_LIMIT_BYTES: usize = 64;
const NAMES: &str = "up to 64 letters, digits and : - _ . @ /";
/// How long a unit may start or stop. Without a limit it would never be missed.
const FOR: (Duration, Duration) = (Duration::from_secs(5), Duration::from_hours(24));
/// systemd's own limit (`UNIT_NAME_MAX`).
const UNIT_LIMIT_BYTES: usize = 255;
const UNIT_TYPES: [&str; 6] = [".service", ".socket", ".mount", ".timer", ".target", ".path"];

impl OwnService {
    /// The keys of the table.
    #[must_use]
    pub fn listed() -> ListedTable {
        let unit = Schema::Text(r"^[A-Za-z0-9:_.\\@-]+\.(service|socket|mount|timer|target|path)$");
        let units = format!("a unit's whole name that ends in {}", section::listed(&UNIT_TYPES));
        let socket = |name, help| ListedKey::new(name, "an absolute path", Schema::NOT_EMPTY, help);
        let answers = Number(ANSWERS);
        let (least, most) = FOR;
        let keys = vec![
            ListedKey::new(
                "name",
                NAMES,
                Schema::Text("^[A-Za-z0-9:_.@/-]+$"),
                "The subject of its problems. Required but for a unit, which is called by its own name.",
            ),
            ListedKey::new("unit", &units, unit, "A unit, such as etcd.service."),
            ListedKey::new(
                "http",
                "a URL, such as http://127.0.0.1:5000/v2/",
                Schema::NOT_EMPTY,
                "A status of 200 to 399 is a good answer. The host is an IP address or localhost; there is no https.",
            ),
            ListedKey::new(
                "tcp",
                "an IP address or localhost, and a port",
                Schema::NOT_EMPTY,
                "What has to take a connection.",
            ),
            socket("unix", "A socket that has to take a connection."),
            socket("cri", "A container runtime's socket."),
            socket("docker", "Docker's socket."),
            ListedKey::camel_case("condition", "One that a rule file declares; if unset, ServiceUnhealthy."),
            ListedKey::of("required", &Bool, "Whether it is missed also where it is not installed or was stopped.")
                .usual(Bool.shown(&false)),
            ListedKey::of(
                "for",
                &Time::from(least).to(most),
                "Only with unit: it is a problem once it starts or stops for so long.",
            )
            .usual(Time::ANY.shown(&Self::DEFAULT_FOR)),
            ListedKey::of("interval", &INTERVALS, "How often it is asked; if unset, as [services] has it."),
            ListedKey::new(
                "timeout",
                "a duration from 100ms to the interval",
                Schema::DURATION,
                "For one answer; if unset, as [services] has it.",
            ),
            ListedKey::of(
                "failures",
                &answers,
                "So many bad answers in a row are a problem; if unset, as [services] has it.",
            ),
            ListedKey::of("successes", &answers, "So many good ones in a row end it; if unset, as [services] has it."),
        ];
        let about = "A service of your own that is asked whether it answers: by exactly one of unit, http, tcp, unix, \
                     cri and docker. One of a later file takes the place of one with the same name.";
        ListedTable { name: "service", about, keys }
    }

    /// Every table without an error.
    pub fn read_all(tables: Vec<TableAt<'_>>, report: &mut Report<'_>) -> Vec<Self> {
        let mut read: Vec<Self> = Vec::new();
        for table in tables {
            let at = table.at;
            let Some(own) = one(table, report) else { continue };
            if read.iter().any(|other| other.name == own.name) {
                report.error(at, format!("[[service]] {:?} stands twice", own.name));
            } else {
                read.push(own);
            }
        }
        read
    }
}

fn one(table: TableAt<'_>, report: &mut Report<'_>) -> Option<OwnService> {
    let section = Section::new("[[service]]", table, &OwnService::listed().names(), report);
    let target = target(section, report);
    let name = name(section, target.as_ref(), report);
    let condition = section.has("condition").then(|| section.required_name("condition", report)).flatten();
    let is_required = section.boolean("required", report).unwrap_or(false);
    let for_duration = for_duration(section, target.as_ref(), report);
    let timing = timing(section, report);
    Some(OwnService {
        name: name?,
        target: target?,
        condition,
        is_required,
        timing,
        for_duration: for_duration.unwrap_or(OwnService::DEFAULT_FOR),
    })
}

fn target(section: Section<'_>, report: &mut Report<'_>) -> Option<Target> {
    let present: Vec<&str> = WHAT.into_iter().filter(|key| section.has(key)).collect();
    let [key] = present.as_slice() else {
        report.error(
            section.at,
            "[[service]] takes exactly one of \"unit\", \"http\", \"tcp\", \"unix\", \"cri\" and \"docker\"",
        );
        return None;
    };
    let word = section.required(key, report)?;
    let read: Result<Target, TargetError> = match *key {
        "unit" => return unit(word.text, word.at, report),
        "http" => HttpTarget::parse(word.text).map(Target::Http),
        "tcp" => socket_address(word.text).map(Target::Tcp),
        "unix" => socket_path(word.text).map(Target::Unix),
        "cri" => socket_path(word.text).map(Target::Cri),
        _ => socket_path(word.text).map(Target::Docker),
    };
    read.map_err(|error| report.error(word.at, format!("{key:?}: {error}"))).ok()
}

fn unit(name: &str, at: usize, report: &mut Report<'_>) -> Option<Target> {
    let is_known = UNIT_TYPES.iter().any(|suffix| name.len() > suffix.len() && name.ends_with(suffix));
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte));
    if !is_known || !is_plain || name.len() > UNIT_LIMIT_BYTES {
        let message = format!("\"unit\" takes the name of a unit with its suffix, such as etcd.service, not {name:?}");
        report.error(at, message);
        return None;
    }
    Some(Target::Unit(name.to_owned()))
}

/// A unit is called by its own name unless another one is set.
fn name(section: Section<'_>, target: Option<&Target>, report: &mut Report<'_>) -> Option<String> {
    if !section.has("name") && section.has("unit") {
        // A unit that was refused has been reported already.
        return target.map(ToString::to_string);
    }
    let word = section.required("name", report)?;
    let is_plain = word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.@/".contains(&byte));
    if !is_plain || word.text.len() > NAME_LIMIT_BYTES {
        report.error(word.at, format!("\"name\" takes {NAMES}"));
        return None;
    }
    if TAKEN.contains(&word.text) {
        report.error(word.at, format!("{:?} is what the node's own is called: see [services]", word.text));
        return None;
    }
    Some(word.text.to_owned())
}

fn for_duration(section: Section<'_>, target: Option<&Target>, report: &mut Report<'_>) -> Option<Duration> {
    let for_duration = section.duration("for", report)?;
    let (least, most) = FOR;
    if !(least..=most).contains(&for_duration) {
        report.error(section.position("for"), "\"for\" is from 5s to a day (24h)");
    }
    if target.is_some_and(|target| !matches!(target, Target::Unit(_))) {
        report.error(section.position("for"), "\"for\" needs a \"unit\": how long it may start or stop");
    }
    Some(for_duration)
}

fn timing(section: Section<'_>, report: &mut Report<'_>) -> OwnTiming {
    let interval = section.has("interval").then(|| INTERVALS.read(section, "interval", report)).flatten();
    let timeout = section.duration("timeout", report);
    if let Some(timeout) = timeout {
        check_timeout(section, timeout, interval.unwrap_or(ProbeTiming::default().interval), report);
    }
    let mut answers = |key| section.has(key).then(|| Number(ANSWERS).read(section, key, report)).flatten();
    OwnTiming { interval, timeout, failures: answers("failures"), successes: answers("successes") }
}
