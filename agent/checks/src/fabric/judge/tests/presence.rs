use super::*;

#[test]
fn a_card_whose_file_stays_away_cannot_be_opened() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    fabric.port().missing_file = Some("infiniband/uverbs0".to_owned());
    fabric.after(10);
    assert!(is_healthy(&fabric.during(230)), "it may be made in a moment");
    let findings = fabric.during(10);
    assert_eq!(reported(&findings, PORT), ["FabricDeviceFileMissing"]);
    assert!(message(&findings).starts_with("/dev/infiniband/uverbs0 is missing"), "{}", message(&findings));
    fabric.restart();
    assert_eq!(reported(&fabric.after(10), PORT), ["FabricDeviceFileMissing"]);
    fabric.port().missing_file = None;
    assert!(is_healthy(&fabric.after(10)));
    fabric.port().missing_file = Some("infiniband/uverbs0".to_owned());
    fabric.during(300);
    fabric.boot();
    assert!(is_healthy(&fabric.after(0)), "of another boot");
}

#[test]
fn a_card_that_was_never_used_needs_no_file() {
    let mut fabric = Fabric::ordinary();
    fabric.set(1, 2).port().missing_file = Some("infiniband/uverbs0".to_owned());
    assert!(is_healthy(&fabric.during(600)));
}

#[test]
fn a_port_that_is_not_shown_any_more_is_missing() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    let port = fabric.ports.remove(PORT).unwrap();
    assert_eq!(fabric.during(240).verdicts, []);
    let findings = fabric.during(10);
    assert_eq!(reported(&findings, PORT), ["FabricPortMissing"]);
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("missing".to_owned(), 1)]));
    fabric.ports.insert(PORT.to_owned(), port);
    fabric.during(60);
    assert!(is_healthy(&fabric.during(10)));
    fabric.ports.clear();
    fabric.boot();
    assert_eq!(fabric.during(600).verdicts, []);
}

#[test]
fn a_renamed_port_is_not_missing_and_its_neighbour_is_no_excuse() {
    let mut fabric = Fabric::ordinary();
    let second = PortReading { physical: 5, ..fabric.port().clone() };
    fabric.ports.insert("mlx5_0/2".to_owned(), second);
    fabric.after(0);
    let port = fabric.ports.remove(PORT).unwrap();
    fabric.ports.insert("ibp24s0/1".to_owned(), port);
    let findings = fabric.during(600);
    assert!(findings.verdicts.iter().all(|verdict| verdict.subject != PORT));
    fabric.ports.remove("ibp24s0/1");
    assert_eq!(reported(&fabric.during(600), "ibp24s0/1"), ["FabricPortMissing"]);
}

#[test]
fn ports_that_are_bonded_are_merged_and_not_missing() {
    let mut fabric = Fabric::ethernet();
    let first = fabric.port().clone();
    let at = |guid: &str, address: &str| PortReading {
        guid: guid.to_owned(),
        address: Some(address.to_owned()),
        ..first.clone()
    };
    let (second, other) = (at("b859:2", "0000:18:00.1"), at("b859:9", "0000:5e:00.0"));
    fabric.ports.insert("mlx5_1/1".to_owned(), second.clone());
    fabric.ports.insert("mlx5_2/1".to_owned(), other);
    fabric.after(0);
    fabric.ports.clear();
    fabric.ports.insert("mlx5_bond_0/1".to_owned(), at("b859:1", "0000:18:00.0"));
    fabric.after(10);
    fabric.restart();
    let findings = fabric.during(600);
    let subjects: Vec<_> = findings.verdicts.iter().map(|verdict| verdict.subject.as_str()).collect();
    assert_eq!(subjects, ["mlx5_2/1", "mlx5_bond_0/1"], "another card is missing all the same");
    assert_eq!(reported(&findings, "mlx5_2/1"), ["FabricPortMissing"]);
    // The bond is dissolved; of its two ports only the second stays.
    fabric.ports = BTreeMap::from([("mlx5_1/1".to_owned(), second)]);
    let findings = fabric.during(600);
    assert!(findings.verdicts.iter().all(|verdict| verdict.subject != "mlx5_bond_0/1"), "{findings:#?}");
}

#[test]
fn another_card_under_the_same_name_starts_again() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    fabric.port().guid = "b859:2".to_owned();
    fabric.port().rate = Rate { tenths: 1_000, text: "100 Gb/sec (4X EDR)".to_owned() };
    assert!(is_healthy(&fabric.during(600)));
    fabric.port().guid = "b859:3".to_owned();
    assert!(is_healthy(&fabric.set(1, 2).during(600)));
}
