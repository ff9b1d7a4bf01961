//! What fence agents report of themselves: programs of other projects, and of people.

use crate::method::{FenceAgent, MetadataError};

/// Metadata is refused with a message, or read whole: every name leads to an option that is there, and what is cut is
/// not taken for an agent with fewer options.
pub fn metadata(input: &[u8]) {
    let Ok(xml) = std::str::from_utf8(input) else { return };
    let agent = match FenceAgent::parse(xml) {
        Ok(agent) => agent,
        Err(MetadataError::Xml(why) | MetadataError::Shape(why)) => return assert!(!why.is_empty()),
        Err(MetadataError::Long(bytes)) => return assert_eq!(bytes, xml.len()),
    };
    assert!(!agent.actions.is_empty());
    for name in agent.names.keys() {
        let (alias, _) = agent.find(name).expect("a name is an option's");
        assert!(agent.parameters.contains_key(&alias.to), "{name} is {}", alias.to);
        assert!(!name.contains('-') && !alias.to.contains('-'), "{name} is {}", alias.to);
    }
    assert!(agent.parameters.keys().all(|name| agent.find(name).is_some()));
    let whole = xml.trim_end();
    let last = whole.char_indices().next_back().map_or(0, |(at, _)| at);
    assert!(FenceAgent::parse(&whole[..last]).is_err(), "cut at {last}");
}
