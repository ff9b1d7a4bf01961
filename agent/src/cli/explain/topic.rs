//! What is asked for: a reason, or a code with its prefix.

use nodewell_faults::{
    Tables,
    reason::{self, Reason},
    smart,
    xid::Meaning,
};
use nodewell_rules::{
    RuleSet,
    explain::{explain, nearest_word},
};

use super::{Explained, condition, own};

/// The prefixes of codes.
const FAMILIES: [&str; 4] = ["xid", "sxid", "smart", "nvme"];

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topic {
    Reason(String),
    Xid(u32),
    Sxid(u32),
    Smart(u8),
    Nvme(String),
}

impl Topic {
    /// Reads the argument of the command line; the error lists what it accepts.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let Some((family, rest)) = word.split_once(':') else { return Ok(Self::Reason(word.to_owned())) };
        match family.to_ascii_lowercase().as_str() {
            "xid" => number(family, rest).map(Self::Xid),
            "sxid" => number(family, rest).map(Self::Sxid),
            "smart" => number(family, rest).map(Self::Smart),
            "nvme" => Ok(Self::Nvme(rest.to_ascii_lowercase().replace('_', "-"))),
            other => {
                let near = nearest_word(other, FAMILIES).map(|near| format!(" Did you mean {near}:{rest}?"));
                Err(format!(
                    "no codes are called {family:?}.{} There are xid, sxid, smart and nvme",
                    near.unwrap_or_default()
                ))
            }
        }
    }

    /// Everything known of it; the error names the nearest name that is known.
    pub(super) fn explain(self, set: &RuleSet) -> Result<Explained, String> {
        let tables = set.tables();
        match self {
            Self::Reason(word) => reason(set, &tables, &word),
            Self::Xid(code) => {
                let meaning =
                    tables.xids.classify(code, None).ok_or("zero is no Xid: NVML gives it for other events")?;
                Ok(code_explained(set, meaning))
            }
            Self::Sxid(code) => Ok(code_explained(set, tables.sxids.classify(code, None))),
            Self::Smart(id) => attribute(id),
            Self::Nvme(name) => field(&name),
        }
    }
}

fn number<T: std::str::FromStr>(family: &str, digits: &str) -> Result<T, String> {
    digits.parse().map_err(|_| format!("{family}: takes a number, as in {family}:{}, not {digits:?}", example(family)))
}

fn example(family: &str) -> &'static str {
    match family {
        "sxid" => "24007",
        "smart" => "197",
        _ => "79",
    }
}

fn reason(set: &RuleSet, tables: &Tables, word: &str) -> Result<Explained, String> {
    let rules = explain(set, word);
    let monitor = monitor(word);
    let code = tables.named(word);
    let condition = condition::explained(set, word);
    let own = own::named(set, word);
    let name = rules.as_ref().map(|rules| &rules.reason).or(monitor.map(|reason| &reason.name));
    let name = name.or(code.as_ref().map(|code| &code.reason)).or(condition.as_ref().map(|one| &one.condition));
    let name = name.or(own.as_ref().map(|own| &own.reason));
    let name = name.ok_or_else(|| unknown(set, tables, word))?;
    let reason = name.to_string();
    let rules = rules.map(|rules| rules.rules).unwrap_or_default();
    Ok(Explained { condition, rules, monitor, check: check(monitor), code, own, ..empty(reason) })
}

fn monitor(word: &str) -> Option<&'static Reason> {
    reason::all().iter().find(|reason| reason.name.as_str().eq_ignore_ascii_case(word))
}

fn check(monitor: Option<&Reason>) -> Option<&'static str> {
    monitor.and_then(|known| reason::check_of(&known.name))
}

fn unknown(set: &RuleSet, tables: &Tables, word: &str) -> String {
    let rules = set.rules.iter().map(|rule| rule.reason.as_str());
    let monitors = reason::all().iter().map(|reason| reason.name.as_str());
    let codes: Vec<Meaning> = tables.xids.codes().all().chain(tables.sxids.codes().all()).collect();
    let plugins = set.plugins.iter().flat_map(|monitor| &monitor.tasks).map(|task| task.reason.as_str());
    let conditions = condition::all(set);
    let conditions = conditions.iter().map(|spec| spec.condition.as_str());
    let own = own::all(set);
    let own = own.iter().map(|own| own.reason.as_str());
    let near = nearest_word(word, rules.chain(plugins).chain(monitors).chain(conditions).chain(own)).or_else(|| {
        let names = codes.iter().map(|code| code.reason.as_str());
        nearest_word(word, names)
    });
    let near = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    format!(
        "there is no reason and no condition {word:?} in the catalogue.{near} Daemons on the socket have reasons of their own; \
         `nodewell explain --list` shows all others"
    )
}

fn code_explained(set: &RuleSet, code: Meaning) -> Explained {
    let reason = code.reason.to_string();
    let rules = explain(set, &reason).map(|found| found.rules).unwrap_or_default();
    let monitor = monitor(&reason);
    Explained { monitor, check: check(monitor), rules, code: Some(code), ..empty(reason) }
}

fn attribute(id: u8) -> Result<Explained, String> {
    let known = smart::attribute(id)
        .ok_or_else(|| format!("SMART attribute {id} has no meaning that vendors share; ask the vendor of the disk"))?;
    Ok(Explained { attribute: Some(known), ..empty(format!("smart:{id}")) })
}

fn field(name: &str) -> Result<Explained, String> {
    let known = smart::field(name).ok_or_else(|| {
        let names = smart::fields().iter().flat_map(|field| &field.names).map(String::as_str);
        let near = nearest_word(name, names).map(|near| format!(" Did you mean nvme:{near}?")).unwrap_or_default();
        let all: Vec<&str> =
            smart::fields().iter().filter_map(|field| field.names.first().map(String::as_str)).collect();
        format!("NVMe's health page has no field {name:?}.{near} It has {}", all.join(", "))
    })?;
    Ok(Explained { field: Some(known), ..empty(format!("nvme:{name}")) })
}

fn empty(reason: String) -> Explained {
    let (condition, rules, monitor, check, own, code) = (None, Vec::new(), None, None, None, None);
    Explained { reason, condition, rules, monitor, check, own, code, attribute: None, field: None }
}
