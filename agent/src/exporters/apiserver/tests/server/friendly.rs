//! What the scripted server answers without a script.

use serde_json::{Value, json};

use super::{ReceivedRequest, State};

impl State {
    pub(super) fn friendly(&mut self, seen: &ReceivedRequest) -> (u16, Value) {
        self.version += 1;
        if seen.path.contains("/nodes/") {
            return self.node(seen);
        }
        if seen.path.contains("/leases") {
            return self.lease(seen);
        }
        if seen.method == "POST" {
            return self.create(&seen.body);
        }
        let path = seen.path.split('?').next().unwrap_or_default();
        let Some(event) = path.rsplit('/').next().and_then(|name| self.events.get_mut(name)) else {
            return (404, json!({"reason": "NotFound", "message": "no such event"}));
        };
        for (key, value) in seen.body.as_object().unwrap() {
            event[key] = value.clone();
        }
        (200, event.clone())
    }

    fn node(&mut self, seen: &ReceivedRequest) -> (u16, Value) {
        if let Some(sent) = seen.body["status"]["conditions"].as_array() {
            if sent.iter().any(|one| self.refused.iter().any(|refused| one["type"] == *refused)) {
                return (422, json!({"reason": "Invalid", "message": "denied by policy"}));
            }
            if sent.iter().any(|one| self.conflicts(seen, one)) {
                return (409, conflict(self.of_npd.unwrap_or_default()));
            }
            if seen.path.contains("force=true") && std::mem::take(&mut self.overtaken) {
                self.node_version = self.version;
            }
            let expected = &seen.body["metadata"]["resourceVersion"];
            let stands = self.node_version.to_string();
            if expected.as_str().is_some_and(|expected| expected != stands) {
                return (409, json!({"reason": "Conflict", "message": "the object has been modified"}));
            }
            if seen.path.contains("force=true") {
                self.of_npd = None;
            }
            self.node_version = self.version;
            self.conditions = self.altered.clone().unwrap_or_else(|| sent.clone().into());
        }
        let mut answer = json!({"metadata": {"uid": self.uid, "resourceVersion": self.version.to_string()}});
        if seen.accept == "application/json" {
            answer["status"] = json!({"conditions": self.conditions});
        }
        (200, answer)
    }

    fn conflicts(&self, seen: &ReceivedRequest, condition: &Value) -> bool {
        let is_tried = ["status", "lastHeartbeatTime"].iter().any(|field| !condition[field].is_null());
        self.of_npd.is_some_and(|of_npd| condition["type"] == of_npd) && is_tried && seen.path.contains("force=false")
    }

    fn lease(&mut self, seen: &ReceivedRequest) -> (u16, Value) {
        let name = if seen.method == "POST" { seen.body["metadata"]["name"].as_str().unwrap() } else { "n1" };
        if seen.method != "POST" && !self.leases.contains_key(name) {
            return (404, json!({"reason": "NotFound", "message": "no such lease"}));
        }
        let (expected, stands) = (&seen.body["metadata"]["resourceVersion"], self.leases.get(name));
        if !expected.is_null() && stands.is_some_and(|lease| lease["metadata"]["resourceVersion"] != *expected) {
            return (409, json!({"reason": "Conflict", "message": "the object has been modified"}));
        }
        let lease = self.leases.entry(name.to_owned()).or_insert_with(|| json!({"metadata": {}, "spec": {}}));
        for part in ["metadata", "spec"] {
            for (key, value) in seen.body[part].as_object().into_iter().flatten() {
                lease[part][key] = value.clone();
            }
        }
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        (if seen.method == "POST" { 201 } else { 200 }, lease.clone())
    }

    fn create(&mut self, event: &Value) -> (u16, Value) {
        let name = event["metadata"]["name"].as_str().unwrap().to_owned();
        if self.events.contains_key(&name) {
            return (409, json!({"reason": "AlreadyExists"}));
        }
        self.events.insert(name, event.clone());
        (201, json!({"metadata": {"uid": "e"}}))
    }
}

/// As the API server names fields in conflict.
fn conflict(condition: &str) -> Value {
    let cause = |field: &str| {
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"npd\" with subresource \"status\" using v1",
            "field": format!(".status.conditions[type=\"{condition}\"].{field}")})
    };
    let causes = ["status", "lastHeartbeatTime"].map(cause);
    json!({"reason": "Conflict", "details": {"causes": causes}})
}
