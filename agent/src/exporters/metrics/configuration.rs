//! What the agent goes by: drift of a fleet.

use nodewell_metrics::Exposition;
use nodewell_model::view::ConfigurationView;

use super::table::agent;

pub(super) fn write(exposition: &mut Exposition, configuration: Option<&ConfigurationView>) {
    let Some(ConfigurationView { hash, rules_hash, loaded }) = configuration else { return };
    exposition.metric(&agent::CONFIG_INFO).sample(&[("hash", hash)], 1);
    exposition.metric(&agent::RULES_INFO).sample(&[("hash", rules_hash)], 1);
    exposition.metric(&agent::CONFIG_LOADED).sample(&[], loaded.as_duration().as_secs_f64());
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn both_hashes_are_labels() {
        let loaded = Timestamp::from_millisecond(1_800_000_000_500).unwrap();
        let configuration =
            ConfigurationView { hash: "sha256:0a".to_owned(), rules_hash: "sha256:0b".to_owned(), loaded };
        let mut exposition = Exposition::default();
        write(&mut exposition, Some(&configuration));
        let text = exposition.into_text();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "nodewell_config_info{hash=\"sha256:0a\"} 1",
                "nodewell_rules_info{hash=\"sha256:0b\"} 1",
                "nodewell_config_loaded_timestamp_seconds 1800000000.5",
            ]
        );
    }

    #[test]
    fn before_anything_is_taken_there_is_no_series() {
        let mut exposition = Exposition::default();
        write(&mut exposition, None);
        assert_eq!(exposition.into_text(), "");
    }
}
