//! `pipestate install`: the shims in a folder where no package is, and what was there before.

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::collections::BTreeMap;
use std::fs;

use support::*;

const OLD: &str = "// somebody's own script\n";
const SHIMS: [&str; 3] = ["pipestate-native.cjs", "validate-state.mjs", "write-state.mjs"];

/// A folder of scripts with an old `write-state.mjs`, and something that stands for the addon.
fn scripts() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/write-state.mjs"), OLD).unwrap();
    fs::write(folder.join("scripts/other.mjs"), "other").unwrap();
    fs::write(folder.join("addon"), "an addon").unwrap();
    folder
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = pipestate();
    command.current_dir(folder.path()).arg("install").args(arguments);
    finish(start(command), "")
}

fn install(folder: &Folder) -> String {
    let ran = run(folder, &["--addon", "addon", "scripts"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

fn uninstall(folder: &Folder) -> String {
    let ran = run(folder, &["--uninstall", "scripts"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

fn listing(folder: &Folder) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder.join("scripts")).unwrap().map(|entry| entry.unwrap());
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    entries.map(|entry| (entry.file_name().into_string().unwrap(), read(entry.path()))).collect()
}

/// The shims, the addon and the record are in `listing`, the first three with the content of this version.
fn assert_installed(listing: &BTreeMap<String, String>) {
    for name in SHIMS {
        let own = fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert_eq!(listing[name], own, "{name}");
    }
    let addons: Vec<_> = listing.iter().filter(|(name, _)| name.ends_with(".node")).collect();
    assert!(
        matches!(addons[..], [(name, text)] if name.starts_with("pipestate.") && text == "an addon"),
        "{addons:?}"
    );
    assert!(listing.contains_key("pipestate-install.json"));
}

#[test]
fn what_is_replaced_is_kept_and_comes_back() {
    let folder = scripts();
    let before = listing(&folder);
    let told = install(&folder);
    assert!(
        told.contains(
            "write-state.mjs: replaced; what was there is kept as write-state.mjs.before-pipestate\n"
        ),
        "{told}"
    );
    assert!(told.contains("validate-state.mjs: installed\n"), "{told}");
    let installed = listing(&folder);
    assert_installed(&installed);
    assert_eq!(installed["write-state.mjs.before-pipestate"], OLD);
    assert_eq!(installed.len(), before.len() + 5, "{installed:?}");

    let told = install(&folder);
    assert_eq!(told.matches(": is there already\n").count(), 4, "{told}");
    assert_eq!(listing(&folder), installed, "again changes nothing");

    let told = uninstall(&folder);
    assert!(told.contains("write-state.mjs: put back as it was\n"), "{told}");
    assert_eq!(listing(&folder), before);
    assert_eq!(uninstall(&folder), "scripts: nothing is installed here\n");
}

#[test]
fn a_folder_that_is_not_there_is_made() {
    let folder = Folder::new();
    fs::write(folder.join("addon"), "an addon").unwrap();
    let ran = run(&folder, &["--json", "--addon", "addon", "a/scripts"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&told["ok"], &told["folder"]), (&true.into(), &"a/scripts".into()));
    let done: Vec<_> =
        told["files"].as_array().unwrap().iter().map(|file| file["done"].as_str().unwrap()).collect();
    assert_eq!(done, ["installed"; 4]);
}

#[test]
fn what_somebody_has_edited_since_is_theirs() {
    let folder = scripts();
    install(&folder);
    fs::write(folder.join("scripts/write-state.mjs"), "// edited\n").unwrap();
    let told = uninstall(&folder);
    assert!(
        told.contains(
            "not what was installed, left alone; what was there before is write-state.mjs.before-pipestate"
        ),
        "{told}"
    );
    assert_eq!(listing(&folder)["write-state.mjs"], "// edited\n");
    assert_eq!(listing(&folder)["write-state.mjs.before-pipestate"], OLD);

    install(&folder);
    assert_installed(&listing(&folder));
    assert_eq!(listing(&folder)["write-state.mjs.before-pipestate-2"], "// edited\n");
    assert_eq!(listing(&folder)["write-state.mjs.before-pipestate"], OLD);
    uninstall(&folder);
    assert_eq!(listing(&folder)["write-state.mjs"], "// edited\n");
}

#[test]
fn another_version_is_updated_and_the_first_copy_stays_the_one_to_restore() {
    let folder = scripts();
    install(&folder);
    fs::write(folder.join("addon"), "another addon").unwrap();
    let told = install(&folder);
    assert_eq!(
        (told.matches(": updated\n").count(), told.matches(": is there already\n").count()),
        (1, 3),
        "{told}"
    );
    uninstall(&folder);
    assert_eq!(listing(&folder)["write-state.mjs"], OLD);
    assert_eq!(listing(&folder).len(), 2);
}

#[cfg(unix)]
#[test]
fn a_link_is_kept_as_a_link_and_what_it_leads_to_stays() {
    let folder = scripts();
    let script = folder.join("scripts/write-state.mjs");
    fs::rename(&script, folder.join("mine.mjs")).unwrap();
    std::os::unix::fs::symlink("../mine.mjs", &script).unwrap();
    install(&folder);
    assert!(fs::symlink_metadata(&script).unwrap().is_file());
    assert_eq!(fs::read_to_string(folder.join("mine.mjs")).unwrap(), OLD);
    uninstall(&folder);
    assert_eq!(fs::read_link(&script).unwrap().to_str(), Some("../mine.mjs"));
}

#[test]
fn without_an_addon_nothing_is_touched() {
    let folder = scripts();
    let before = listing(&folder);
    let ran = run(&folder, &["--addon", "none.node", "scripts"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.starts_with("pipestate: none.node: cannot read the addon: "), "{ran:?}");
    assert_eq!(listing(&folder), before);
}

/// Killed at every call that changes a name, both ways: a script is there at every moment, and either command ends it.
#[cfg(target_os = "linux")]
#[test]
fn killed_at_any_step_it_can_be_finished_and_taken_back() {
    if !has_strace() {
        eprintln!("skipped: strace is not here");
        return;
    }
    let killed = |folder: &Folder, arguments: &[&str], call: &str, step: usize| {
        let mut command = std::process::Command::new("strace");
        let inject = format!("inject={call}:signal=KILL:when={step}");
        command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
        command
            .arg(env!("CARGO_BIN_EXE_pipestate"))
            .current_dir(folder.path())
            .arg("install")
            .args(arguments);
        finish(start(command), "").code
    };
    let mut deaths = Vec::new();
    for arguments in [&["--addon", "addon", "scripts"], &["--uninstall", "scripts"] as &[&str]] {
        for call in ["renameat", "linkat", "unlinkat"] {
            for step in 1.. {
                let folder = scripts();
                let before = listing(&folder);
                if arguments[0] == "--uninstall" {
                    install(&folder);
                }
                if killed(&folder, arguments, call, step) == Some(0) {
                    break;
                }
                let what = format!("{} at {call} {step}", arguments[0]);
                assert!(folder.join("scripts/write-state.mjs").is_file(), "{what}");
                if step % 2 == 0 {
                    install(&folder);
                    assert_installed(&listing(&folder));
                }
                uninstall(&folder);
                assert_eq!(listing(&folder), before, "{what}");
                deaths.push(what);
            }
        }
    }
    assert!(deaths.len() > 12, "{deaths:?}");
}

#[cfg(target_os = "linux")]
fn has_strace() -> bool {
    std::process::Command::new("strace").arg("-V").stdout(std::process::Stdio::null()).status().is_ok()
}
