//! How often BMCs are logged in to: figures over all of them, for a series of each would be thousands.

use nodewell_metrics::Exposition;
use nodewell_power::{
    identity::Protocol,
    native::{By, Kind as Login, LoginFigures, Outcome},
};

use super::table;

const BY: [(By, &str); 2] = [(By::Native, "native"), (By::Agent, "agent")];
const PROTOCOLS: [(Protocol, &str); 3] =
    [(Protocol::Ipmi, "ipmi"), (Protocol::Redfish, "redfish"), (Protocol::Other, "other")];
const OUTCOMES: [(Outcome, &str); 3] =
    [(Outcome::Answered, "answered"), (Outcome::Refused, "refused"), (Outcome::Failed, "failed")];

pub(super) fn show(page: &mut Exposition, figures: &LoginFigures) {
    page.metric(&table::BMC_LOGINS);
    for (by, by_name) in BY {
        for (protocol, protocol_name) in PROTOCOLS {
            for (outcome, outcome_name) in OUTCOMES {
                let count = figures.kinds.get(&Login { by, protocol, outcome }).copied();
                // A refusal is worth an alert, and an increase from nothing is none to Prometheus.
                let is_refusal = by == By::Native && outcome == Outcome::Refused && protocol != Protocol::Other;
                if let Some(count) = count.or(is_refusal.then_some(0)) {
                    let labels = [("by", by_name), ("protocol", protocol_name), ("outcome", outcome_name)];
                    page.sample(&labels, count);
                }
            }
        }
    }
    page.metric(&table::BMCS_ASKED_LAST_HOUR).sample(&[], figures.last_hour.len());
    page.metric(&table::BMC_LOGINS_LAST_HOUR);
    for (percentile, percent) in [("50", 50), ("99", 99), ("100", 100)] {
        page.sample(&[("percentile", percentile)], figures.percentile(percent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_thousand_bmcs_are_as_many_series_as_one() {
        let login = Login { by: By::Native, protocol: Protocol::Redfish, outcome: Outcome::Answered };
        let text = |last_hour: Vec<u32>| {
            let mut page = Exposition::default();
            show(&mut page, &LoginFigures { kinds: [(login, 18_000)].into(), last_hour });
            page.into_text()
        };
        let all = text([vec![6; 2999], vec![60]].concat());
        for line in [
            "nodewell_controller_bmc_logins_total{by=\"native\",protocol=\"redfish\",outcome=\"answered\"} 18000",
            "nodewell_controller_bmc_logins_total{by=\"native\",protocol=\"ipmi\",outcome=\"refused\"} 0",
            "nodewell_controller_bmcs_asked_last_hour 3000",
            "nodewell_controller_bmc_logins_last_hour{percentile=\"50\"} 6",
            "nodewell_controller_bmc_logins_last_hour{percentile=\"100\"} 60",
        ] {
            assert!(all.lines().any(|shown| shown == line), "{line}: {all}");
        }
        assert_eq!(all.lines().count(), text(vec![6]).lines().count());
    }
}
