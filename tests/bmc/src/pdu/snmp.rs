//! An SNMP agent (RFC 1157, RFC 3416): answers Get, GetNext and Set over a table that the device gives, in one datagram each.

use super::ber::{Elements, INTEGER, NULL, OCTETS, OID, SEQUENCE, element, integer};

const GET: u8 = 0xa0;
const GET_NEXT: u8 = 0xa1;
const RESPONSE: u8 = 0xa2;
const SET: u8 = 0xa3;
/// How version 1 reports that there is no such variable; later versions in place of its value, and of a Set as the error.
const NO_SUCH_NAME: u8 = 2;
const NO_SUCH_INSTANCE: u8 = 0x81;
const END_OF_MIB_VIEW: u8 = 0x82;
const NO_CREATION: u8 = 11;
const VERSION_1: &[u8] = &[0];

/// What the agent answers from. Identifiers and values are in BER: contents of an OID, whole elements.
pub(super) trait Table {
    fn value(&self, oid: &[u8]) -> Option<Vec<u8>>;
    /// The next identifier behind this one, in the order of the table.
    fn next(&self, oid: &[u8]) -> Option<Vec<u8>>;
    /// Whether there is such a variable to set.
    fn set(&mut self, oid: &[u8], value: u8) -> bool;
}

/// The answer to a request; none to what is none, and to another community.
pub(super) fn answer(request: &[u8], community: &str, table: &mut impl Table) -> Option<Vec<u8>> {
    let mut message = Elements(Elements(request).expect(SEQUENCE)?);
    let version = message.expect(INTEGER)?;
    let asked_by = message.expect(OCTETS)?;
    let asked = message.next()?;
    if asked_by != community.as_bytes() {
        return None;
    }
    let mut parts = Elements(asked.content);
    let id = parts.expect(INTEGER)?;
    let (_, _, bindings) = (parts.expect(INTEGER)?, parts.expect(INTEGER)?, parts.expect(SEQUENCE)?);
    let mut binding = Elements(Elements(bindings).expect(SEQUENCE)?);
    let (oid, value) = (binding.expect(OID)?, binding.next()?);
    let found = match asked.tag {
        GET => table.value(oid).map(|value| (oid.to_vec(), value)),
        GET_NEXT => table.next(oid).and_then(|next| Some((next.clone(), table.value(&next)?))),
        SET => table.set(oid, *value.content.last()?).then(|| (oid.to_vec(), element(value.tag, value.content))),
        _ => return None,
    };
    let (error, instead) = match (version, asked.tag) {
        (VERSION_1, _) => (NO_SUCH_NAME, NULL),
        (_, SET) => (NO_CREATION, NULL),
        (_, GET_NEXT) => (0, END_OF_MIB_VIEW),
        _ => (0, NO_SUCH_INSTANCE),
    };
    let error = if found.is_some() { 0 } else { error };
    let (oid, value) = found.unwrap_or_else(|| (oid.to_vec(), element(instead, &[])));
    let binding = element(SEQUENCE, &[element(OID, &oid), value].concat());
    let parts = [element(INTEGER, id), integer(error), integer(u8::from(error != 0)), element(SEQUENCE, &binding)];
    let body = [element(INTEGER, version), element(OCTETS, asked_by), element(RESPONSE, &parts.concat())];
    Some(element(SEQUENCE, &body.concat()))
}
