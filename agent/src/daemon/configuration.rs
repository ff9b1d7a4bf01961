//! What the agent goes by, as it shows it.

use jiff::Timestamp;
use nodewell_model::view::ConfigurationView;
use nodewell_rules::RuleSet;

use crate::config::Config;

/// Of what is taken now.
pub(super) fn taken(config: &Config, rules: &RuleSet) -> ConfigurationView {
    ConfigurationView { hash: config.hash(), rules_hash: rules.hash.clone(), loaded: Timestamp::now() }
}
