//! What a fence agent reports of itself (`-o metadata`, the schema of `/usr/share/cluster/relaxng/metadata.rng`).

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::{Document, Node, ParsingOptions};

/// The longest metadata of Debian's and RHEL's agents is 25 KiB with some 400 elements.
const LIMIT_BYTES: usize = 256 * 1024;
const LIMIT_NODES: u32 = 20_000;

/// An agent's options and actions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FenceAgent {
    /// As the metadata has it; an agent that is a link to another has the other's.
    pub name: String,
    /// By the names the agent prefers, with `_` for `-`.
    pub parameters: BTreeMap<String, Parameter>,
    /// Every name of an option (its own, deprecated ones, that of the command line), with the preferred one.
    pub names: BTreeMap<String, Alias>,
    /// Without those that have to run on the node itself (`on_target`): run here, they would act on this host.
    pub actions: BTreeSet<String>,
    /// `plug` only means something together with `port_as_ip`, as another name of the address.
    pub plug_is_address: bool,
}

/// Which option a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub to: String,
    pub deprecated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub kind: ParameterKind,
    pub required: bool,
    pub default: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterKind {
    Text,
    Integer,
    /// Seconds.
    Second,
    Boolean,
    /// One of these.
    Select(Vec<String>),
}

/// Why an agent's metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    #[error("its metadata has {0} bytes, more than any agent's")]
    Long(usize),
    #[error("its metadata is no XML: {0}")]
    Xml(String),
    #[error("its metadata is not that of a fence agent: {0}")]
    Shape(String),
}

impl FenceAgent {
    /// Reads `xml`. A DTD, and so any entity of the document's own, is refused.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(xml: &str) -> Result<Self, MetadataError> {
        if xml.len() > LIMIT_BYTES {
            return Err(MetadataError::Long(xml.len()));
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: LIMIT_NODES, ..ParsingOptions::default() };
        let document =
            Document::parse_with_options(xml, options).map_err(|error| MetadataError::Xml(error.to_string()))?;
        let root = document.root_element();
        if !root.has_tag_name("resource-agent") {
            return Err(MetadataError::Shape(format!("it begins with <{}>", root.tag_name().name())));
        }
        let mut agent = Self { name: root.attribute("name").unwrap_or_default().to_owned(), ..Self::default() };
        let actions = children(root, "actions", "action").filter(|node| node.attribute("on_target") != Some("1"));
        agent.actions = actions.filter_map(name_of).collect();
        if agent.actions.is_empty() {
            return Err(MetadataError::Shape("it has no actions".to_owned()));
        }
        let (old, new): (Vec<_>, Vec<_>) = children(root, "parameters", "parameter").partition(is_deprecated);
        new.into_iter().try_for_each(|node| agent.preferred(node))?;
        old.into_iter().for_each(|node| agent.deprecated(node));
        Ok(agent)
    }

    /// The parameter that `name` means, with its preferred name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(&Alias, &Parameter)> {
        let alias = self.names.get(&name.replace('-', "_"))?;
        Some((alias, self.parameters.get(&alias.to)?))
    }

    /// As `fence_zvmip` does of a guest that runs on another system: its default of `missing_as_off`.
    #[must_use]
    pub fn takes_missing_for_off(&self) -> bool {
        let default = self.parameters.get("missing_as_off").and_then(|parameter| parameter.default.as_deref());
        default.is_some_and(|default| !["", "0", "no", "false", "off"].contains(&default))
    }

    fn preferred(&mut self, node: Node<'_, '_>) -> Result<(), MetadataError> {
        let name = name_of(node).ok_or_else(|| MetadataError::Shape("a parameter has no name".to_owned()))?;
        let content = child(node, "content");
        let required = node.attribute("required") == Some("1");
        let default = content.and_then(|content| content.attribute("default")).map(str::to_owned);
        self.parameters.insert(name.clone(), Parameter { kind: kind(content), required, default });
        // fencing.py writes this for every agent that has an address and no outlets, and for these two, which have.
        let is_address = getopt(node).is_some_and(|text| text.ends_with("--plug=[ip]"));
        self.plug_is_address |= is_address && !["fence_vmware", "fence_powerman"].contains(&self.name.as_str());
        let obsolete = node.attribute("obsoletes").map(|name| name.replace('-', "_"));
        self.alias(&name, &name, false);
        obsolete.into_iter().for_each(|old| self.alias(&old, &name, true));
        long_option(node).into_iter().for_each(|long| self.alias(&long, &name, false));
        Ok(())
    }

    /// A deprecated parameter means the one that obsoletes it, or that has the same long option; without either it cannot be
    /// given.
    fn deprecated(&mut self, node: Node<'_, '_>) {
        let Some(name) = name_of(node) else { return };
        let to = long_option(node).and_then(|long| self.names.get(&long)).map(|alias| alias.to.clone());
        to.into_iter().for_each(|to| self.alias(&name, &to, true));
    }

    fn alias(&mut self, from: &str, to: &str, deprecated: bool) {
        self.names.entry(from.to_owned()).or_insert(Alias { to: to.to_owned(), deprecated });
    }
}

fn children<'a>(root: Node<'a, 'a>, list: &'static str, item: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    let lists = root.children().filter(move |node| node.has_tag_name(list));
    lists.flat_map(|node| node.children()).filter(move |node| node.has_tag_name(item))
}

fn child<'a, 'i>(node: Node<'a, 'i>, tag: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|node| node.has_tag_name(tag))
}

fn is_deprecated(node: &Node<'_, '_>) -> bool {
    node.attribute("deprecated") == Some("1")
}

fn name_of(node: Node<'_, '_>) -> Option<String> {
    node.attribute("name").filter(|name| !name.is_empty()).map(|name| name.replace('-', "_"))
}

/// `-a, --ip=[ip]`.
fn getopt<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    child(node, "getopt")?.attribute("mixed")
}

/// `ip` of `-a, --ip=[ip]`.
fn long_option(node: Node<'_, '_>) -> Option<String> {
    let long = getopt(node)?.split_once("--")?.1;
    let end = long.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_');
    Some(long[..end.unwrap_or(long.len())].replace('-', "_"))
}

fn kind(content: Option<Node<'_, '_>>) -> ParameterKind {
    let Some(content) = content else { return ParameterKind::Text };
    match content.attribute("type") {
        Some("integer") => ParameterKind::Integer,
        Some("second") => ParameterKind::Second,
        Some("boolean") => ParameterKind::Boolean,
        Some("select") => {
            let values = content.children().filter(|node| node.has_tag_name("option"));
            ParameterKind::Select(values.filter_map(|node| node.attribute("value")).map(str::to_owned).collect())
        }
        _ => ParameterKind::Text,
    }
}
