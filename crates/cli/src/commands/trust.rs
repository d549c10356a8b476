//! `carrick trust`

use crate::args::{Arguments, Trust};
use crate::exit::{Code, Failure};
use crate::frontend::question;
use crate::print;
use crate::setup::{self, review};
use crate::signals::unless_told;
use carrick_host::config::Places;
use carrick_host::trust::TrustStatus;
use serde_json::json;
use std::process::ExitCode;

/// Shows what the project's config would run, and approves it.
pub(super) async fn run(arguments: &Arguments, trust: &Trust) -> Result<ExitCode, Failure> {
    let mut store = setup::store()?;
    if trust.list {
        for approval in store.list() {
            if arguments.json {
                print::json(&json!({
                    "file": approval.place, "hash": approval.hash.to_string(),
                    "runs": approval.lines,
                }))?;
            } else {
                print::line(&format!("{}  {}", approval.hash, print::shown(&approval.place)))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let places = setup::places(arguments)?;
    if trust.revoke {
        let Some(path) = places.project_file() else { return Err(no_file(&places)) };
        let revoked = store.revoke(&path).map_err(Failure::failed)?;
        print::say(if revoked { "approval taken back" } else { "it was not approved" });
        return Ok(ExitCode::SUCCESS);
    }
    let files = setup::read(&places)?;
    let Some(file) = files.iter().find(|file| file.needs_approval()) else {
        return Err(no_file(&places));
    };
    let status = store.status(file);
    let text = review(file, &files, &status);
    if trust.show || status == TrustStatus::Trusted {
        print::line(&text)?;
        if status == TrustStatus::Trusted {
            print::say("this is approved");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let agreed = if trust.yes {
        print::say(&text);
        Some(true)
    } else {
        let asked = async { Ok(question::confirmed(text.clone(), "Approve exactly this?").await) };
        unless_told(asked).await?
    };
    match agreed {
        Some(true) => {
            store.approve(file).map_err(Failure::failed)?;
            print::say("approved");
            Ok(ExitCode::SUCCESS)
        }
        Some(false) => Err(Failure::new(Code::Permission, "not approved")),
        None => {
            print::say(&text);
            Err(Failure::new(Code::Permission, "nobody can be asked: there is no terminal")
                .hint("`carrick trust --yes` approves what is shown above"))
        }
    }
}

fn no_file(places: &Places) -> Failure {
    let failure = Failure::usage("there is no project config here that would need approval");
    match &places.explicit {
        Some(_) => failure.hint("a file that --config or CARRICK_CONFIG names needs none"),
        None => failure.hint(
            "a project's config is a file .mcp.json in this folder or one above; your own servers \
             need none",
        ),
    }
}
