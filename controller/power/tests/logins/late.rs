//! A question that is given up after the account was sent: the BMC may refuse it later, which is not seen.

use nodewell_remediation::snapshot::{FenceScope, Level};

use super::*;

/// A BMC that has the request and no answer; whatever ends such a question drops it.
async fn given_up(room: &Room) {
    let before = room.logins.load(Ordering::SeqCst);
    let sent = async {
        while room.logins.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        preflight = room.power.preflight(&room.node) => panic!("it has an answer: {preflight:?}"),
        sent = tokio::time::timeout(Duration::from_secs(30), sent) => sent.unwrap(),
    }
}

#[tokio::test]
async fn a_login_that_is_given_up_counts_until_one_is_taken() {
    let room = room().await;
    room.password("right");
    room.is_late.store(true, Ordering::SeqCst);
    given_up(&room).await;
    assert_eq!(room.power.unreported(), ["n1".to_owned()].into(), "the next leader has to know");
    let (identity, logins) = room.after(29).await;
    assert!(identity.unwrap_err().contains("no answer to the login at"));
    assert_eq!(logins, 1);
    room.pass(1);
    given_up(&room).await;
    let (identity, logins) = room.after(200).await;
    assert!(identity.unwrap_err().contains("2 logins were refused or not answered within 330 s"));
    assert_eq!(logins, 2);
    let room = room.next_leader().await;
    let message = &room.node.conditions[0].message;
    assert!(message.starts_with("logins: bmc unanswered current 2"), "{message}");
    room.is_late.store(false, Ordering::SeqCst);
    assert_eq!(room.after(10).await.1, 2);
    assert_eq!(room.after(330).await, (Ok(()), 3), "slow, and no more");
    room.is_late.store(true, Ordering::SeqCst);
    given_up(&room).await;
    room.is_late.store(false, Ordering::SeqCst);
    assert_eq!(room.after(30).await, (Ok(()), 5), "once in a while it is slow, and usable all the same");
    room.is_late.store(true, Ordering::SeqCst);
    given_up(&room).await;
    assert_eq!(
        room.power.preflight(&room.node).await.message.matches("unanswered").count(),
        1,
        "it began from nothing"
    );
}

/// No account is sent to it, so none is refused: it is asked as soon as it is back.
#[tokio::test]
async fn a_bmc_that_is_away_is_not_waited_for() {
    let room = room().await;
    let (map, key) = ("fence-config-n1", "fence-method-bmc");
    let there = room.cluster.maps.lock().unwrap()[map][key].clone();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away: Vec<String> = there.lines().filter(|line| !line.starts_with("ipport=")).map(str::to_owned).collect();
    room.cluster.map(map, key, &format!("{}\nipport={closed}", away.join("\n")));
    room.password("right");
    for _ in 0..5 {
        let why = room.after(1).await.0.unwrap_err();
        assert!(why.contains("refused") && !why.contains("locked out"), "{why}");
    }
    room.cluster.map(map, key, &there);
    room.password("right");
    assert_eq!(room.after(1).await, (Ok(()), 1));
}

#[tokio::test]
async fn an_agent_that_has_an_answer_was_not_refused() {
    let room = room().await;
    room.password("right");
    assert_eq!(room.power.preflight(&room.node).await.reason, "FenceReady");
    assert_eq!(room.runs().len(), 1);
    *room.password.lock().unwrap() = "new";
    let why = room.after(1).await.0.unwrap_err();
    assert!(why.contains("401") && !why.contains("2 logins"), "{why}");
}

/// Its password was changed right then: the agent may have been refused.
#[tokio::test]
async fn an_agent_that_is_given_up_counts_when_the_next_login_is_refused() {
    let room = room().await;
    room.password("right");
    assert_eq!(room.after(0).await, (Ok(()), 1));
    let slow = AGENT.replace("    exit", "    sleep 60\n    exit");
    room.bench.script("fence_redfish", &slow.replace("@D@", &room.bench.path().display().to_string()));
    let runs = async {
        while !room.bench.path().join("runs").exists() || room.runs().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let scope = FenceScope::machine(Level::FIRST);
    tokio::select! {
        state = room.power.read(&room.node, &scope) => panic!("the agent has an answer: {state:?}"),
        begun = tokio::time::timeout(Duration::from_secs(30), runs) => begun.unwrap(),
    }
    *room.password.lock().unwrap() = "new";
    let before = room.logins.load(Ordering::SeqCst);
    let (identity, logins) = room.after(1).await;
    let why = identity.unwrap_err();
    assert!(why.contains("2 logins were refused within 330 s"), "{why}");
    assert_eq!(logins, before + 1);
}
