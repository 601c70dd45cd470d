//! Developers who come and go: what they held ends before anything that they had open does.

use covenant_gate::{Credential, Peer};
use covenant_model::api::{NewMember, NewToken};
use covenant_model::team::Role;

use crate::Fixture;

#[tokio::test]
async fn whoever_is_removed_is_refused_though_what_they_had_open_is_not_ended_yet() {
    let fixture = Fixture::new().await;
    fixture.gate.name_workspace(&fixture.operator(), "acme").await.unwrap();
    let caller = fixture.gate.authenticate(&Credential::peer(1000)).unwrap();
    let steward = fixture.gate.steward(&caller, Peer::default()).await.unwrap();
    let member = NewMember {
        handle: "ada".into(),
        role: Role::Member,
        private: false,
        workspace: Some("acme".into()),
    };
    let (ada, _) = fixture.gate.invite(&steward, member).await.unwrap();
    let new = NewToken { developer: Some("ada".into()), label: None, agent_type: None };
    let token = fixture.gate.create_token(&steward, new).await.unwrap().token;
    let asks = || fixture.gate.authenticate(&Credential::bearer(&token)).is_ok();
    let granted =
        || fixture.gate.grants(&fixture.operator()).iter().any(|it| it.subject.to_string() == "dev:ada");
    assert!(asks() && granted());
    let database = rusqlite::Connection::open(fixture.directory.path().join("covenant.db")).unwrap();
    let begun = "INSERT INTO workstreams (id, workspace_id, developer_id, title, description, scope, target_files, \
                 auto_created, status, created_at, updated_at, turn) \
                 SELECT 'ws_1', workspace_id, id, 'Icons', '', '', '[]', 0, 'active', 1, 1, 0 FROM developers WHERE handle = 'ada'";
    assert_eq!(database.execute(begun, []).unwrap(), 1);

    let (gone, removed) = fixture.gate.remove_developer(&steward, "ada").await.unwrap();
    assert_eq!((Some(gone), removed.removed.as_str()), (ada.id, "ada"));
    assert!(!asks() && !granted());
    let stands = |sql| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(stands("SELECT status FROM workstreams"), "active", "nobody has waited for that");
}
