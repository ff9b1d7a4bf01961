//! The shipped examples: each template is one that the controller reads, and the check beside it names that template.

use std::{fs, path::Path};

use super::*;

fn documents(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/external-remediation");
    serde_saphyr::from_multiple::<Value>(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// The request that a client makes of the template, and the rest of the file.
fn template(name: &str) -> (Request, Value, Value) {
    let [template, check] = <[Value; 2]>::try_from(documents(name)).unwrap();
    assert_eq!(
        (&template["apiVersion"], &template["kind"]),
        (&json!("nodewell.dev/v1alpha1"), &json!("NodeFenceRemediationTemplate"))
    );
    let mut raw = raw();
    raw["spec"] = template["spec"]["template"]["spec"].clone();
    assert!(raw["spec"].is_object(), "a template without it is called broken");
    (read(&raw), template, check)
}

#[test]
fn the_example_of_a_node_health_check_names_its_template_and_leaves_it_time() {
    let (request, template, check) = template("node-health-check.yaml");
    assert_eq!(request.spec, Ok(Default::default()));
    let first = &check["spec"]["escalatingRemediations"][0];
    let reference = &first["remediationTemplate"];
    for field in ["apiVersion", "kind"] {
        assert_eq!(reference[field], template[field]);
    }
    for field in ["name", "namespace"] {
        assert_eq!(reference[field], template["metadata"][field]);
    }
    let timeout = crate::policy::duration::parse(first["timeout"].as_str().unwrap()).unwrap();
    // Silence, methods' times, the release, ten minutes for the boot, and five until it is given back.
    assert!(timeout >= std::time::Duration::from_secs(20 * 60));
}

#[test]
fn the_example_of_a_machine_health_check_names_its_template() {
    let (request, template, check) = template("machine-health-check.yaml");
    assert_eq!(request.spec.unwrap().drain.unwrap().0, "10m");
    let reference = &check["spec"]["remediation"]["templateRef"];
    assert_eq!((&reference["apiVersion"], &reference["kind"]), (&template["apiVersion"], &template["kind"]));
    assert_eq!(reference["name"], template["metadata"]["name"]);
    assert_eq!(check["metadata"]["namespace"], template["metadata"]["namespace"], "it has no namespace of its own");
}
