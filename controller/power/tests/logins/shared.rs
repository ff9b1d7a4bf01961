//! Nodes whose methods log in at one address by one user: their BMC counts refused logins together.

use super::*;

/// As many blades of one chassis.
async fn chassis(blades: usize) -> (Room, Vec<Node>) {
    let room = room().await;
    let map = room.cluster.maps.lock().unwrap()["fence-config-n1"].clone();
    let nodes: Vec<Node> = (1..=blades).map(|at| node(&format!("n{at}"), UUID)).collect();
    for (node, at) in nodes.iter().zip(1..) {
        let of_blade = |text: &String| text.replace("/Systems/1", &format!("/Systems/{at}"));
        let map = map.iter().map(|(key, text)| (key.clone(), of_blade(text))).collect();
        room.cluster.maps.lock().unwrap().insert(format!("fence-config-{}", node.name), map);
        let secret = format!("secret-fence-method-bmc-{}", node.name);
        room.cluster.secret_of(&secret, "password", "wrong");
        room.cluster.secrets.lock().unwrap().get_mut(&secret).unwrap().insert("node".to_owned(), b"*".to_vec());
    }
    room.power.unread(nodes.iter());
    (room, nodes)
}

#[tokio::test]
async fn blades_that_are_asked_at_once_are_refused_twice() {
    let (room, nodes) = chassis(8).await;
    let all = nodes.iter().map(|node| room.power.preflight(node));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(room.logins.load(Ordering::SeqCst), 2, "{all:?}");
    let stopped = all.iter().filter(|found| found.message.contains("2 logins were refused within 330 s")).count();
    assert_eq!(stopped, 6, "{all:?}");
}

/// Its BMC has not forgotten.
#[tokio::test]
async fn a_node_that_is_registered_again_has_no_new_logins() {
    let room = room().await;
    room.password("wrong");
    for at in 0..6 {
        room.power.retain(|_| false);
        room.power.unread([room.node.clone()].iter());
        assert!(room.after(10).await.0.is_err());
        assert_eq!(room.logins.load(Ordering::SeqCst), if at == 0 { 1 } else { 2 });
    }
}

/// A leader that cannot read the configuration asks nothing, and writes the Node.
#[tokio::test]
async fn a_leader_that_cannot_ask_leaves_what_was_refused() {
    let room = room().await;
    room.password("wrong");
    assert!(room.after(0).await.0.is_err());
    let room = room.next_leader().await;
    let method = room.cluster.maps.lock().unwrap()["fence-config-n1"]["fence-method-bmc"].clone();
    room.cluster.map("fence-config-n1", "fence-method-bmc", "agent_name=fence_redfish\nno_such=1");
    let room = room.next_leader().await;
    let message = &room.node.conditions[0].message;
    assert!(message.starts_with("logins: bmc refused current 2"), "{message}");
    room.cluster.map("fence-config-n1", "fence-method-bmc", &method);
    assert_eq!(room.after(60).await.1, 1);
}
