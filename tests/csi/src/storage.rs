//! The storage behind the driver, as a cloud's disks are: each volume is attached to one node at a time, or to none. It
//! answers VolumeAttachments as an attacher does (external-attacher, its README), and remembers what it has done.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{ATTACHED_TO, DRIVER};

/// While a VolumeAttachment has it, its volume may be attached.
pub const FINALIZER: &str = "external-attacher/volumes-nodewell-dev";

/// What was done with a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Attached,
    /// It was attached to another node.
    Refused,
    Detached,
}

/// An act, and when it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub at: Timestamp,
    pub volume: String,
    pub node: String,
    pub act: Act,
}

/// A merge patch of a VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    Object(Value),
    Status(Value),
}

/// Which node has which volume.
#[derive(Debug, Default)]
pub struct Storage {
    node_of: BTreeMap<String, String>,
    /// Nodes from which nothing can be detached.
    hanging: BTreeSet<String>,
    history: Vec<Change>,
}

/// What a VolumeAttachment asks for.
struct Request<'a> {
    volume: &'a str,
    node: &'a str,
}

impl Storage {
    /// From now on it detaches nothing from `node`.
    pub fn hang(&mut self, node: &str) {
        self.hanging.insert(node.to_owned());
    }

    /// It detaches from every node again.
    pub fn recover(&mut self) {
        self.hanging.clear();
    }

    /// All that was done, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Change] {
        &self.history
    }

    /// Does what a VolumeAttachment asks for; gives what is to be written to it, if it does not have that yet.
    pub fn answer(&mut self, attachment: &Value, now: Timestamp) -> Option<Patch> {
        if attachment["spec"]["attacher"] != DRIVER {
            return None;
        }
        let volume = attachment["spec"]["source"]["persistentVolumeName"].as_str()?;
        let request = Request { volume, node: attachment["spec"]["nodeName"].as_str()? };
        let is_over = !attachment["metadata"]["deletionTimestamp"].is_null();
        match (is_over, finalizers(attachment).contains(&FINALIZER)) {
            (true, true) => self.detach(&request, attachment, now),
            (true, false) => None,
            // Before anything is attached: an object that is deleted meanwhile stays until it is detached.
            (false, false) => Some(with_finalizer(attachment)),
            (false, true) if attachment["status"]["attached"] == true => None,
            (false, true) => self.attach(&request, attachment, now),
        }
    }

    fn attach(&mut self, request: &Request<'_>, attachment: &Value, now: Timestamp) -> Option<Patch> {
        match self.node_of.get(request.volume) {
            Some(node) if node == request.node => {}
            Some(other) => {
                let text = format!("volume {} is in use by {other}: it can be attached to one node", request.volume);
                return self.refuse(request, attachment, &text, now);
            }
            None => {
                self.node_of.insert(request.volume.to_owned(), request.node.to_owned());
                self.note(request, Act::Attached, now);
            }
        }
        let metadata = json!({ ATTACHED_TO: request.node });
        let status = json!({ "attached": true, "attachmentMetadata": metadata, "attachError": null });
        Some(Patch::Status(json!({ "status": status })))
    }

    fn refuse(&mut self, request: &Request<'_>, attachment: &Value, text: &str, now: Timestamp) -> Option<Patch> {
        let patch = error("attachError", attachment, text, now)?;
        self.note(request, Act::Refused, now);
        Some(patch)
    }

    fn detach(&mut self, request: &Request<'_>, attachment: &Value, now: Timestamp) -> Option<Patch> {
        if self.node_of.get(request.volume).is_some_and(|node| node == request.node) {
            if self.hanging.contains(request.node) {
                let text = format!("volume {} cannot be detached from {}: no answer", request.volume, request.node);
                return error("detachError", attachment, &text, now);
            }
            self.node_of.remove(request.volume);
            self.note(request, Act::Detached, now);
        }
        Some(without_finalizer(attachment))
    }

    fn note(&mut self, request: &Request<'_>, act: Act, at: Timestamp) {
        self.history.push(Change { at, volume: request.volume.to_owned(), node: request.node.to_owned(), act });
    }
}

/// Unless the VolumeAttachment has it already.
fn error(field: &str, attachment: &Value, text: &str, now: Timestamp) -> Option<Patch> {
    let status = &attachment["status"];
    let is_new = status[field]["message"] != text;
    // The API server asks for it with each status.
    let attached = status["attached"] == true;
    let error = json!({ "time": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), "message": text });
    is_new.then(|| Patch::Status(json!({ "status": { "attached": attached, field: error } })))
}

fn finalizers(attachment: &Value) -> Vec<&str> {
    let all = attachment["metadata"]["finalizers"].as_array();
    all.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn with_finalizer(attachment: &Value) -> Patch {
    let mut all = finalizers(attachment);
    all.push(FINALIZER);
    set_finalizers(attachment, &all)
}

fn without_finalizer(attachment: &Value) -> Patch {
    let others: Vec<&str> = finalizers(attachment).into_iter().filter(|one| *one != FINALIZER).collect();
    set_finalizers(attachment, &others)
}

/// Of the object as it was read: a merge patch replaces the whole list.
fn set_finalizers(attachment: &Value, all: &[&str]) -> Patch {
    let version = &attachment["metadata"]["resourceVersion"];
    Patch::Object(json!({ "metadata": { "resourceVersion": version, "finalizers": all } }))
}
