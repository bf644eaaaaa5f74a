use super::*;
use crate::{Run, sample};
use serde_json::json;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of the step at which the process ends itself.
const KILL_AT: &str = "SKYHOP_TEST_KILL_AT";
/// What the child process does: the target, `write`, `keep` or `file`, the run, how often.
const ORDER: &str = "SKYHOP_TEST_ORDER";
const NO_EXCHANGE: &str = "SKYHOP_TEST_NO_EXCHANGE";

type Content = BTreeMap<String, Vec<u8>>;

pub(super) fn step() {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let Some(last) = std::env::var(KILL_AT).ok().and_then(|text| text.parse::<usize>().ok()) else { return };
    if STEPS.fetch_add(1, Ordering::Relaxed) + 1 == last {
        kill_this_process();
    }
}

#[cfg(unix)]
fn kill_this_process() {
    use rustix::process::{Signal, getpid, kill_process};
    kill_process(getpid(), Signal::KILL).unwrap();
}

#[cfg(not(unix))]
fn kill_this_process() {
    std::process::abort();
}

/// Two runs that differ in every file, and in which files there are.
fn run(which: &str) -> Run {
    let mut records = sample::records();
    if which == "old" {
        records.flows[0].goodput_bps += 1.0;
        records.links[0].packets += 1;
    } else {
        records.handovers.clear();
    }
    Run::by_hand(records, json!({ "seed": which, "scenario": { "name": which } }))
}

fn put(which: &str, how: &str, target: &Path) -> Result<(), Error> {
    match how {
        "keep" => run(which).keep(target),
        "file" => write_file(target, which.as_bytes()),
        _ => run(which).write(target),
    }
}

/// Not a test: what the child processes of the others do.
#[test]
#[ignore = "does what its environment says"]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Vec<String> = serde_json::from_str(&order).unwrap();
    let [target, how, which, times] = &order[..] else { panic!("an order has four parts") };
    for _ in 0..times.parse().unwrap() {
        put(which, how, target.as_ref()).unwrap();
    }
}

fn spawn(target: &Path, how: &str, which: &str, times: usize, environment: &[(&str, String)]) -> Child {
    let order = json!([target, how, which, times.to_string()]).to_string();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--quiet", "--nocapture", "staging::tests::child"]).env(ORDER, order);
    command.envs(environment.iter().map(|(key, value)| (key, value)));
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// Every file of a folder; `None` if there is no folder.
fn content(folder: &Path) -> Option<Content> {
    folder.is_dir().then(|| {
        let files = files_of(folder).unwrap().into_iter();
        files.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
    })
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What `put` makes where nothing is in the way.
fn undisturbed(which: &str, how: &str) -> Content {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    put(which, how, &folder).unwrap();
    content(&folder).unwrap()
}

/// Kills a process at each step of writing, with SIGKILL.
fn kill_everywhere(how: &str, before: impl Fn(&Path), was: Option<&Content>, environment: &[(&str, String)]) {
    let new = undisturbed("new", how);
    for last in 1.. {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("deeper/run");
        before(&target);
        let kill = [&[(KILL_AT, last.to_string())], environment].concat();
        let status = spawn(&target, how, "new", 1, &kill).wait().unwrap();
        let seen = content(&target);
        if status.success() {
            assert!(last > 30, "only {last} steps");
            assert_eq!(seen.as_ref(), Some(&new));
            break;
        }
        let may_be_away = was.is_none() || !environment.is_empty();
        assert!(
            seen.as_ref().map_or(may_be_away, |seen| Some(seen) == was || *seen == new),
            "killed at step {last}: {:?}",
            seen.map(|seen| seen.into_keys().collect::<Vec<_>>())
        );
        // The same again succeeds, and nothing of the dead process stays.
        put("new", how, &target).unwrap();
        assert_eq!(content(&target), Some(new.clone()), "killed at step {last}");
        // Who finds a kept run whole writes nothing, and clears nothing.
        sweep(target.parent().unwrap());
        assert_eq!(listing(target.parent().unwrap()), ["run"], "killed at step {last}");
    }
}

#[test]
fn a_kill_at_any_step_leaves_a_whole_run_or_none_and_the_same_command_succeeds() {
    kill_everywhere("write", |_| {}, None, &[]);
}

#[test]
fn a_kill_at_any_step_of_replacing_leaves_the_old_run_or_the_new_one() {
    let old = undisturbed("old", "write");
    kill_everywhere("write", |target| put("old", "write", target).unwrap(), Some(&old), &[]);
}

#[test]
fn where_folders_cannot_be_exchanged_a_kill_loses_no_run_either() {
    let old = undisturbed("old", "write");
    let environment = [(NO_EXCHANGE, "1".to_owned())];
    kill_everywhere("write", |target| put("old", "write", target).unwrap(), Some(&old), &environment);
    // Whoever comes next puts back what a dead process had moved aside, even if it then writes nothing itself.
    for last in 1.. {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("run");
        put("old", "write", &target).unwrap();
        let kill = [environment[0].clone(), (KILL_AT, last.to_string())];
        if spawn(&target, "write", "new", 1, &kill).wait().unwrap().success() {
            break;
        }
        drop(Staging::begin(parent.path().join("other"), FolderKind::Run).unwrap());
        assert_eq!(listing(parent.path()), ["run"], "killed at step {last}");
    }
}

#[test]
fn a_kill_at_any_step_of_keeping_leaves_a_whole_run_or_none() {
    kill_everywhere("keep", |_| {}, None, &[]);
}

#[test]
fn a_damaged_kept_run_is_made_again_and_a_kill_meanwhile_changes_nothing_about_that() {
    let damage = |target: &Path| {
        put("new", "keep", target).unwrap();
        fs::write(target.join("flows.parquet"), "").unwrap();
    };
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("run");
    damage(&target);
    kill_everywhere("keep", damage, Some(&content(&target).unwrap()), &[]);
    let whole = undisturbed("new", "keep");
    for name in whole.keys().filter(|name| *name != LIST) {
        let file = target.join(name);
        for harm in ["missing", "empty", "cut short"] {
            run("new").keep(&target).unwrap();
            match harm {
                "missing" => fs::remove_file(&file).unwrap(),
                "empty" => fs::write(&file, "").unwrap(),
                _ => fs::write(&file, &whole[name][..whole[name].len() - 1]).unwrap(),
            }
            assert!(!is_whole(&target), "{name} is {harm}");
        }
    }
    fs::write(target.join(LIST), "").unwrap();
    assert!(!is_whole(&target));
    run("new").keep(&target).unwrap();
    assert_eq!(content(&target), Some(whole));
}

#[test]
fn processes_at_one_place_never_show_a_mix() {
    for environment in [&[][..], &[(NO_EXCHANGE, "1".to_owned())]] {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("made by all/run");
        let known = [undisturbed("old", "write"), undisturbed("new", "write")];
        let mut children: Vec<_> =
            (0..4).map(|n| spawn(&target, "write", ["old", "new"][n % 2], 15, environment)).collect();
        let mut seen = 0;
        while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
            seen += usize::from(look(&target, &known));
        }
        assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
        assert!(look(&target, &known) && seen > 0);
        assert_eq!(listing(target.parent().unwrap()), ["run"]);
    }
}

/// Whether a folder was there from the first file to the last; then it was one of the known ones.
#[cfg(unix)]
fn look(target: &Path, known: &[Content]) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(opened) = File::open(target) else { return false };
    let number = |folder: io::Result<fs::Metadata>| folder.map(|folder| (folder.dev(), folder.ino())).ok();
    let before = number(opened.metadata());
    let Ok(files) = files_of(target) else { return false };
    let read = files.into_iter().map(|(name, path)| Ok((name, fs::read(path)?))).collect::<io::Result<Content>>();
    // While it is open, its number belongs to no other folder.
    if number(fs::metadata(target)) != before {
        return false;
    }
    // It may have been away between, and back: only a folder that others move aside is.
    let Ok(read) = read else { return false };
    assert!(known.contains(&read), "a mix: {:?}", read.keys());
    true
}

#[cfg(not(unix))]
fn look(target: &Path, known: &[Content]) -> bool {
    content(target).is_some_and(|read| known.contains(&read))
}

#[test]
fn nothing_but_a_folder_of_the_same_kind_is_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let refused = |target: &Path, why: &str| {
        let before = target.starts_with(parent.path()).then(|| content(target));
        let error = run("new").write(target).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }) && error.to_string().contains(why), "{error}");
        assert!(before.is_none_or(|before| content(target) == before));
        // Before a run is simulated, too.
        assert!(matches!(Staging::begin(target, FolderKind::Run), Err(Error::Exists { .. })));
    };
    let make = |name: &str, kind: FolderKind| {
        let staging = Staging::begin(parent.path().join(name), kind).unwrap();
        fs::write(staging.folder().join("table.csv"), "a\n").unwrap();
        let target = staging.target().to_owned();
        staging.publish().unwrap();
        target
    };
    refused(&make("sweep", FolderKind::Sweep), "is not a run folder");
    assert_eq!(make("sweep", FolderKind::Sweep), parent.path().join("sweep"), "a sweep replaces a sweep");

    let mine = parent.path().join("mine");
    fs::create_dir_all(mine.join("empty")).unwrap();
    refused(&mine, "is not a run folder");
    let noted = parent.path().join("noted");
    run("old").write(&noted).unwrap();
    fs::create_dir(noted.join("notes")).unwrap();
    fs::write(noted.join("notes/thesis.txt"), "chapter 1").unwrap();
    refused(&noted, "holds \"notes/thesis.txt\"");
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    refused(&file, "is not a folder");
    refused(Path::new("."), "current folder");
    refused(Path::new(".."), "current folder");
    refused(Path::new("/"), "no name");
    refused(Path::new(""), "empty name");
    refused(&parent.path().join("absent/.."), "no name");
    assert_eq!(listing(parent.path()), ["file", "mine", "noted", "sweep"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let (link, real) = (parent.path().join("link"), parent.path().join("far/run"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(run("new").write(&link).unwrap_err().to_string().contains("leads to nothing"));
    run("old").write(&real).unwrap();
    run("new").write(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(content(&real), Some(undisturbed("new", "write")));
}

#[test]
fn a_run_folder_without_a_list_is_known_by_its_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    run("old").write(&folder).unwrap();
    fs::remove_file(folder.join(LIST)).unwrap();
    run("new").write(&folder).unwrap();
    assert_eq!(content(&folder), Some(undisturbed("new", "write")));
}

#[test]
fn a_folder_that_is_given_up_leaves_nothing_and_living_ones_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let staging = Staging::begin(parent.path().join("a/b/run"), FolderKind::Run).unwrap();
    let other = Staging::begin(parent.path().join("a/b/other"), FolderKind::Run).unwrap();
    fs::write(staging.folder().join("half"), "written").unwrap();
    drop(other);
    assert!(staging.folder().join("half").is_file());
    drop(staging);
    assert_eq!(listing(parent.path()), [""; 0]);
}

#[test]
fn names_of_others_are_not_swept() {
    let parent = tempfile::tempdir().unwrap();
    let names = [".skyhop", ".skyhop-1", ".skyhop-1-abc", ".skyhop-x-0123456789abcdef", ".skyhop.partial"];
    for name in names {
        fs::create_dir(parent.path().join(name)).unwrap();
    }
    fs::create_dir(parent.path().join(".skyhop-1-0123456789abcdef")).unwrap();
    drop(Staging::begin(parent.path().join("run"), FolderKind::Run).unwrap());
    assert_eq!(listing(parent.path()), names);
}

#[test]
fn a_kill_at_any_step_of_writing_a_file_leaves_the_old_text_or_the_new() {
    for last in 1.. {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("map.svg");
        fs::write(&file, "old").unwrap();
        let killed = !spawn(&file, "file", "new", 1, &[(KILL_AT, last.to_string())]).wait().unwrap().success();
        let seen = fs::read_to_string(&file).unwrap();
        assert!(seen == "new" || killed && seen == "old", "{seen}");
        put("new", "file", &file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(listing(parent.path()), ["map.svg"]);
        if !killed {
            assert!(last > 4);
            break;
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions_and_a_device_takes_what_it_gets() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("made/page.md");
    write_file(&file, b"one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    write_file(&file, b"two").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(write_file(parent.path(), b""), Err(Error::Exists { .. })));
    assert_eq!(fs::read_to_string(&file).unwrap(), "two");
    assert_eq!(listing(&parent.path().join("made")), ["page.md"]);
    write_file(Path::new("/dev/null"), b"nothing").unwrap();
    if Path::new("/dev/full").exists() {
        assert!(matches!(write_file(Path::new("/dev/full"), b"nothing"), Err(Error::Write { .. })));
    }
}
