//! Nodes that are configured otherwise than when they were asked last: found without a login, asked by the same rules.

use super::*;

const MAP: &str = "fence-config-n1";

/// It was looked at and asked, and is ready.
async fn ready() -> Room {
    let room = room().await;
    room.password("right");
    assert!(!room.is_changed().await, "nothing is known of before");
    assert_eq!(room.asked().await, "FenceReady");
    assert!(!room.is_changed().await);
    room
}

impl Room {
    async fn is_changed(&self) -> bool {
        let before = self.logins.load(Ordering::SeqCst);
        self.power.look(vec![self.node.clone()]).await;
        assert_eq!(self.logins.load(Ordering::SeqCst), before, "a look asks no BMC");
        !self.power.changed().is_empty()
    }

    async fn asked(&self) -> String {
        self.power.preflight(&self.node).await.reason
    }

    fn method(&self) -> String {
        self.cluster.maps.lock().unwrap()[MAP]["fence-method-bmc"].clone()
    }
}

/// What a person does to the room's objects.
type Edit<'a> = &'a dyn Fn(&Room);

#[tokio::test]
async fn whatever_decides_how_a_node_is_asked_is_a_change_of_it() {
    let room = ready().await;
    let another_system = room.method().replace("/Systems/1", "/Systems/2");
    let edits: [(Edit<'_>, &str); 6] = [
        (&|room| room.password("wrong"), "IdentityUnproven"),
        (&|room| room.rotate("right", "wrong"), "FenceReady"),
        (&|room| room.cluster.map(MAP, "fence-method-bmc", &another_system), "FenceReady"),
        (&|room| room.cluster.map(MAP, "config.properties", "power_management=bmc"), "IdentityUnproven"),
        (&|room| room.cluster.map(MAP, "config.properties", "power_management"), "FenceNotReady"),
        (&|room| drop(room.cluster.maps.lock().unwrap().remove(MAP)), "NoMethods"),
    ];
    for (at, (edit, reason)) in edits.into_iter().enumerate() {
        edit(&room);
        assert!(room.is_changed().await, "edit {at}");
        assert!(room.is_changed().await, "edit {at}: until it is asked");
        assert_eq!(room.asked().await, reason, "edit {at}");
        assert!(room.power.changed().is_empty() && !room.is_changed().await, "edit {at}: once it was asked");
    }
}

#[tokio::test]
async fn what_decides_nothing_of_that_is_none() {
    let room = ready().await;
    room.cluster.map(MAP, "fence-method-bmc", &format!("{}\n# rack 7", room.method()));
    room.cluster.secrets.lock().unwrap().get_mut(SECRET).unwrap().insert("node".to_owned(), b"n1 n2 n3".to_vec());
    assert!(!room.is_changed().await);
}

#[tokio::test]
async fn what_cannot_be_read_is_no_change() {
    let room = ready().await;
    room.password("other");
    *room.cluster.down.lock().unwrap() = true;
    assert!(!room.is_changed().await);
    *room.cluster.down.lock().unwrap() = false;
    assert!(room.is_changed().await);
}

/// Nodes are looked at one after the other.
#[tokio::test]
async fn what_cannot_be_read_of_a_node_hides_no_change_of_the_one_after_it() {
    for unanswered in ["fence-config-n1", "secret-fence-method-pdu1-n1"] {
        let room = crate::configured::room();
        let nodes = ["n1", "n2"].map(|name| node(name, ""));
        room.configure("n1", &[1]);
        room.configure("n2", &[2]);
        let passwords = |word: &str| {
            for secret in ["secret-fence-method-pdu1-n1", "secret-fence-method-pdu2-n2"] {
                room.cluster.secret_of(secret, "password", word);
            }
        };
        passwords("word-1234");
        room.power.look(nodes.to_vec()).await;
        assert_eq!(room.power.changed(), [].into(), "nothing is known of before");
        passwords("fine-word");
        room.cluster.unanswered.lock().unwrap().insert(unanswered.to_owned());
        room.power.look(nodes.to_vec()).await;
        assert_eq!(room.power.changed(), ["n2".to_owned()].into(), "{unanswered}");
        room.cluster.unanswered.lock().unwrap().clear();
        room.power.look(nodes.to_vec()).await;
        assert_eq!(room.power.changed(), ["n1", "n2"].map(str::to_owned).into(), "{unanswered}: by the next look");
    }
}

/// Its own configuration stays as it was.
#[tokio::test]
async fn a_node_whose_plug_another_takes_is_changed_too() {
    let room = crate::configured::room();
    let nodes = ["n1", "n2"].map(|name| node(name, ""));
    let plug_of_n2 = |plug| {
        room.cluster.maps.lock().unwrap().remove("fence-config-n2");
        room.configure("n2", &[plug]);
    };
    room.configure("n1", &[1]);
    room.configure("n2", &[2]);
    room.power.look(nodes.to_vec()).await;
    assert_eq!(room.power.changed(), [].into());
    for (plug, reason) in [(1, "FenceNotReady"), (2, "FenceReady")] {
        plug_of_n2(plug);
        // One node after the other: n1 was compared with what n2 had before.
        room.power.look(nodes.to_vec()).await;
        room.power.look(nodes.to_vec()).await;
        assert_eq!(room.power.changed(), ["n1", "n2"].map(str::to_owned).into(), "plug {plug}");
        assert_eq!(room.power.preflight(&nodes[0]).await.reason, reason, "plug {plug}");
        assert_eq!(room.power.changed(), ["n2".to_owned()].into(), "plug {plug}");
        room.power.preflight(&nodes[1]).await;
    }
}

/// The next term begins with what is there, whatever the one before asked by.
#[tokio::test]
async fn a_change_ends_with_the_term() {
    let room = ready().await;
    room.password("other");
    assert!(room.is_changed().await);
    room.power.end_term();
    assert!(!room.is_changed().await);
}

#[tokio::test]
async fn however_often_it_is_changed_a_bmc_refuses_no_third_login() {
    let room = ready().await;
    for (word, logins) in [("wrong", 2), ("worse", 3), ("worst", 3), ("right", 3)] {
        room.password(word);
        assert!(room.is_changed().await, "{word}");
        assert_eq!(room.asked().await, "IdentityUnproven", "{word}");
        assert_eq!(room.logins.load(Ordering::SeqCst), logins, "{word}");
    }
    room.pass(330);
    assert_eq!(room.asked().await, "FenceReady");
}
