//! An exhaustive model of the lock protocol: every interleaving of every step, with crashes anywhere.
//!
//! It shares no code with `src/lock/`; a step bears the name of the function there, and this table is the
//! bond between the two. L is the lock's path; rules (L1…, A1…) are those of the contract.
//!
//! | step | what it does | rule |
//! |---|---|---|
//! | `create_private` | a file without a name, with its lines and its kernel lock | L2, L4 |
//! | `link_private` | gives it the name L, if L is free: held; else on to `open_lock` | L3 |
//! | `create_exclusive`, then as below | instead of these two, without `link`: an empty L | L3 |
//! | `open_lock` | opens what L names now | L7 |
//! | `try_kernel_lock` | locks what was opened, without waiting | L5, L6 |
//! | `judge` | is whoever the content names dead? | L5, L6, L7 |
//! | `same_name` | *after* the verdict: does L still name what was opened? | L4 |
//! | `open_writer` | opens L once more, for writing: is it the same? `open_lock` opens for reading (why: `src/lock`) | L11 |
//! | `take_over` | writes its lines into it, in place: held | L4 |
//! | `unlink_dead` | instead, where L cannot be written: removes L and starts over | L12 |
//! | `start_over` | after any no: closes what is open, begins again | L11 |
//! | `read_state`, `write_temporary` | read, merge, write the temporary file | A1, A2 |
//! | `verify` | the fence: L still names our inode, with our lines; no: `start_over` | L11 |
//! | `rename_state`, `sync_folder` | the commit | A2 |
//! | `verify_release` | the same question again; no: L is not ours to remove | L10 |
//! | `unlink_lock`, `close_lock` | removes L, only then drops the kernel lock | L10 |
//!
//! Foreign writers are those of the plain-JavaScript kind: `create_exclusive`, `write_id`, `read_state`,
//! `rename_state`, `unlink_lock` by name, whoever's it is. A careless one also does `read_id` and later, if
//! that process is dead by then, `unlink_by_id`. A process that has finished is dead like a killed one.
//!
//! In a trace, a step that did not succeed is followed by `start_over` (after `link_private`: by `open_lock`).
//!
//! Not in the model: time (a waiter that gives up is a crash; fairness, L9), other hosts and boots (L5), named
//! private files and their sweeping, a holder that releases without a rename (the same steps, fewer).
//! `cargo test --test lock_model -- --nocapture` prints the number of states and a shortest trace of what is caught.

mod explore;
mod protocol;

use explore::{Graph, explore};
use protocol::{Change, Kind, Model, State, Step};

use Change::*;
use Kind::*;
use Step::*;

const P: Kind = Pipestate;
/// The two instants that L11 leaves open, closed.
const CLOSED: [Change; 2] = [Atomic(RenameState), Atomic(UnlinkLock)];

fn model(parties: &[Kind], rounds: u8, crashes: u8, changes: &[Change]) -> Model {
    Model { parties: parties.into(), rounds, crashes, changes: changes.into() }
}

fn two_hold(state: &State) -> bool {
    state.holders() > 1
}

fn update_lost(state: &State) -> bool {
    state.lost() != 0
}

fn search(model: &Model, is_bad: impl Fn(&State) -> bool) -> Graph<State> {
    let graph = explore(model.start(), |state, found| model.moves(state, found), is_bad);
    println!("{model:?}: {} states, {} of them bad", graph.states.len(), graph.bad.len());
    graph
}

/// The shortest way to the first bad state: one line for each turn, who and which steps.
fn trace(model: &Model, graph: &Graph<State>) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut turn = usize::MAX;
    for (by, before) in graph.bad.first().map(|&bad| graph.way_to(bad)).unwrap_or_default() {
        if by.party != turn {
            turn = by.party;
            lines.push(format!("{} {turn}:", snake_case(model.parties[turn])));
        }
        let step = if by.crash { "dies".into() } else { snake_case(before.parties[turn].next) };
        lines.last_mut().expect("just pushed").extend([" ", &step]);
    }
    lines
}

fn snake_case(name: impl std::fmt::Debug) -> String {
    let mut snake = String::new();
    for c in format!("{name:?}").chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[track_caller]
fn assert_safe(model: &Model, is_bad: impl Fn(&State) -> bool) -> Graph<State> {
    let graph = search(model, is_bad);
    assert!(graph.bad.is_empty(), "{:#?}", trace(model, &graph));
    graph
}

/// Something goes wrong; gives the shortest way there.
#[track_caller]
fn assert_caught(model: &Model, is_bad: impl Fn(&State) -> bool) -> Vec<String> {
    let graph = search(model, is_bad);
    assert!(!graph.bad.is_empty(), "nothing goes wrong in {model:?}");
    let trace = trace(model, &graph);
    println!("    {}", trace.join("\n    "));
    trace
}

#[track_caller]
fn assert_trace(model: &Model, is_bad: impl Fn(&State) -> bool, expected: &str) {
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(assert_caught(model, is_bad), expected);
}

/// From every state, whoever lives can still get through, and needs nobody's death for it. Excepted are,
/// exactly, foreign writers that wait for a lock which they do not reclaim, nobody holds and no pipestate wants.
#[track_caller]
fn assert_never_stuck(model: &Model, graph: &Graph<State>) {
    for (p, &kind) in model.parties.iter().enumerate() {
        let gets_through = graph.can_reach(|state| state.parties[p].next == Done);
        for (state, gets_through) in graph.states.iter().zip(gets_through).filter(|(s, _)| s.lives(p)) {
            assert_eq!(gets_through, !model.waits_for_ever(state, p), "{kind:?} {p} of {model:?}");
        }
    }
}

/// Never two holders, no lost update, never stuck.
#[track_caller]
fn assert_holds(model: &Model) {
    let graph = assert_safe(model, |state| two_hold(state) || update_lost(state));
    assert_never_stuck(model, &graph);
}

// The protocol holds.

#[test]
fn pipestates_never_hold_together_lose_nothing_and_never_get_stuck() {
    assert_holds(&model(&[P, P, P], 1, 2, &[]));
    assert_holds(&model(&[P, P, P, P], 1, 3, &[]));
}

#[test]
fn a_process_that_comes_again_is_no_danger() {
    assert_holds(&model(&[P, P], 2, 2, &[]));
    assert_holds(&model(&[P, P, P], 2, 2, &[]));
}

#[test]
fn a_foreign_writer_that_only_waits_excludes_and_is_excluded() {
    assert_holds(&model(&[P, P, P, Plain], 1, 2, &[]));
    assert_holds(&model(&[P, P, Plain, Plain], 1, 2, &[]));
}

#[test]
fn the_branch_for_file_systems_without_link_holds() {
    assert_holds(&model(&[P, P, P], 1, 2, &[NoLink]));
    assert_holds(&model(&[P, P, P, Plain], 1, 2, &[NoLink]));
}

#[test]
fn the_branch_for_locks_that_cannot_be_written_holds() {
    assert_holds(&model(&[P, P, P], 2, 2, &[ReadOnlyLocks]));
    assert_holds(&model(&[P, P, P, Plain], 1, 2, &[ReadOnlyLocks]));
    assert_holds(&model(&[P, P, P], 1, 2, &[ReadOnlyLocks, NoLink]));
}

// What a careless foreign writer can still do. It robs living holders, so "two hold" is not asked here.

/// No crash is needed: an id goes stale also when its process releases and exits.
#[test]
fn first_open_instant_between_verify_and_rename() {
    assert_trace(
        &model(&[P, P, Careless], 1, 0, &[StrikesOnlyAt(RenameState)]),
        update_lost,
        "
        pipestate 0: create_private link_private read_state write_temporary verify rename_state sync_folder verify_release
        pipestate 1: create_private
        careless 2: create_exclusive read_id
        pipestate 0: unlink_lock close_lock
        pipestate 1: link_private read_state write_temporary verify
        careless 2: unlink_by_id create_exclusive write_id read_state
        pipestate 1: rename_state
        careless 2: rename_state
        ",
    );
}

/// The holder's own unlink then removes what was made in between: the next pipestate's lock, or, also when
/// the first instant is closed, that of a foreign writer.
#[test]
fn second_open_instant_between_verify_and_unlink_of_a_release() {
    assert_trace(
        &model(&[P, P, P, Careless], 1, 0, &[StrikesOnlyAt(UnlinkLock)]),
        update_lost,
        "
        pipestate 0: create_private link_private read_state write_temporary verify rename_state sync_folder verify_release
        pipestate 1: create_private
        pipestate 2: create_private
        careless 3: create_exclusive read_id
        pipestate 0: unlink_lock close_lock
        pipestate 1: link_private read_state write_temporary verify rename_state sync_folder verify_release
        careless 3: unlink_by_id
        pipestate 2: link_private read_state write_temporary verify
        pipestate 1: unlink_lock
        careless 3: create_exclusive write_id read_state
        pipestate 2: rename_state
        careless 3: rename_state
        ",
    );
}

#[test]
fn nothing_is_lost_through_anything_but_the_two_open_instants() {
    for world in [&[][..], &[NoLink], &[ReadOnlyLocks, Atomic(UnlinkDead)]] {
        let closed = model(&[P, P, P, Careless], 1, 2, &[world, &CLOSED].concat());
        let graph = assert_safe(&closed, update_lost);
        assert_never_stuck(&closed, &graph);
    }
}

#[test]
fn a_careless_writer_makes_nobody_stuck() {
    let open = model(&[P, P, P, Careless], 1, 2, &[]);
    assert_never_stuck(&open, &search(&open, |_| false));
}

/// The same from the other side: at which step of its victim must a careless writer strike to do harm?
#[test]
fn fence_and_release_check_leave_two_of_six_instants() {
    let harmful = |protocol: &[Change]| -> Vec<Step> {
        let does_harm = |&step: &Step| {
            let changes = [protocol, &[StrikesOnlyAt(step)]].concat();
            !search(&model(&[P, P, P, Careless], 1, 1, &changes), update_lost).bad.is_empty()
        };
        let steps =
            [TakeOver, ReadState, WriteTemporary, Verify, RenameState, SyncFolder, VerifyRelease, UnlinkLock];
        steps.into_iter().filter(does_harm).collect()
    };
    let all_six = [TakeOver, ReadState, WriteTemporary, RenameState, SyncFolder, UnlinkLock];
    assert_eq!(harmful(&[NoFence, NoReleaseCheck]), all_six);
    assert_eq!(harmful(&[]), [RenameState, UnlinkLock]);
    assert_eq!(harmful(&[NoFence]), [TakeOver, ReadState, WriteTemporary, RenameState, UnlinkLock]);
    assert_eq!(harmful(&[NoReleaseCheck]), [RenameState, SyncFolder, UnlinkLock]);
}

/// L12 costs a third instant, and so would making the lock anew wherever it could be taken over in place.
#[test]
fn third_open_instant_where_a_dead_lock_is_unlinked_instead_of_taken_over() {
    let unlinking = [&[ReadOnlyLocks][..], &CLOSED].concat();
    assert_trace(
        &model(&[P, P, P, Careless], 1, 2, &unlinking),
        update_lost,
        "
        pipestate 0: create_private link_private dies
        pipestate 1: create_private link_private open_lock try_kernel_lock judge same_name open_writer
        pipestate 2: create_private
        careless 3: create_exclusive read_id unlink_by_id create_exclusive
        pipestate 1: unlink_dead
        pipestate 2: link_private read_state write_temporary
        careless 3: write_id read_state
        pipestate 2: verify rename_state
        careless 3: rename_state
        ",
    );
}

/// Out of reach of any fence of ours: a foreign writer that was robbed by another one writes what it has.
#[test]
fn a_foreign_writer_robbed_by_another_overwrites_an_update_of_pipestate() {
    let of_party_0 = |state: &State| state.lost() & 1 != 0;
    assert_trace(
        &model(&[P, P, Careless, Plain], 1, 0, &CLOSED),
        of_party_0,
        "
        pipestate 0: create_private
        pipestate 1: create_private link_private read_state write_temporary verify rename_state sync_folder
        careless 2: create_exclusive read_id
        pipestate 1: verify_release unlink_lock close_lock
        plain 3: create_exclusive
        careless 2: unlink_by_id
        pipestate 0: link_private read_state write_temporary
        plain 3: write_id read_state
        pipestate 0: verify rename_state
        plain 3: rename_state
        ",
    );
}

// L7's assumption, and what the lines in `verify` are for.

#[test]
fn a_foreign_writer_stopped_between_create_and_write_wakes_as_a_second_holder() {
    let stopped = [&[StoppedMaker][..], &CLOSED].concat();
    assert_trace(
        &model(&[P, Plain], 1, 0, &stopped),
        update_lost,
        "
        pipestate 0: create_private
        plain 1: create_exclusive
        pipestate 0: link_private open_lock try_kernel_lock judge same_name open_writer
        plain 1: write_id
        pipestate 0: take_over read_state write_temporary
        plain 1: read_state
        pipestate 0: verify rename_state
        plain 1: rename_state
        ",
    );
}

/// While makers are not stopped, nobody writes into an inode whose kernel lock is ours.
#[test]
fn the_lines_in_verify_serve_only_against_stopped_makers() {
    for world in [&[][..], &[NoLink]] {
        let states = |changes| search(&model(&[P, P, P, Careless], 1, 2, changes), |_| false).states;
        assert!(states(world) == states(&[world, &[VerifyNameOnly]].concat()));
    }
    let losses = |changes: &[Change]| search(&model(&[P, P, Plain], 1, 2, changes), update_lost).bad.len();
    assert!(losses(&[StoppedMaker]) < losses(&[StoppedMaker, VerifyNameOnly]));
}

// Broken on purpose: what each part is for.

#[test]
fn without_same_name_two_hold_and_only_the_fence_prevents_the_loss() {
    assert_trace(
        &model(&[P, P, P], 1, 2, &[NoSameName]),
        two_hold,
        "
        pipestate 0: create_private link_private read_state write_temporary verify rename_state sync_folder verify_release
        pipestate 1: create_private link_private open_lock
        pipestate 0: unlink_lock close_lock
        pipestate 1: try_kernel_lock judge open_writer take_over
        pipestate 2: create_private link_private
        ",
    );
    assert_safe(&model(&[P, P, P, Plain], 1, 2, &[NoSameName]), update_lost);
    assert_caught(&model(&[P, P, P], 1, 2, &[NoSameName, NoFence]), update_lost);
    // Where the dead lock is unlinked, not even the fence prevents it.
    assert_caught(&model(&[P, P, P], 2, 0, &[NoSameName, ReadOnlyLocks]), update_lost);
}

/// Nothing but a careless writer comes in between. The lock that is written then is a living holder's, who does not look
/// at it again, while nobody has its kernel lock: the next pipestate takes it for a dead one's.
#[test]
fn a_lock_that_is_written_by_name_is_another_ones() {
    let by_name = [&[NoSameWriter][..], &CLOSED].concat();
    assert_caught(&model(&[P, P, P, Careless], 1, 1, &by_name), update_lost);
    assert_safe(&model(&[P, P, P, Plain], 1, 2, &[NoSameWriter]), |s| two_hold(s) || update_lost(s));
}

/// A foreign holder that releases and exits after `same_name` is found dead by `judge`.
#[test]
fn a_name_checked_before_the_verdict_is_stale() {
    assert_trace(
        &model(&[P, P, Plain], 1, 0, &[NameBeforeVerdict]),
        two_hold,
        "
        pipestate 0: create_private
        pipestate 1: create_private
        plain 2: create_exclusive
        pipestate 0: link_private open_lock try_kernel_lock same_name
        plain 2: write_id read_state rename_state unlink_lock
        pipestate 0: judge open_writer take_over
        pipestate 1: link_private
        ",
    );
    let unlinking = model(&[P, P, P, Plain], 1, 0, &[NameBeforeVerdict, ReadOnlyLocks]);
    assert_caught(&unlinking, update_lost);
}

#[test]
fn a_holder_that_closes_before_it_unlinks_removes_the_next_ones_lock() {
    assert_caught(&model(&[P, P, P], 1, 0, &[CloseBeforeUnlink]), update_lost);
}

#[test]
fn a_dead_lock_unlinked_without_its_kernel_lock_may_be_a_living_one() {
    let unlinking = model(&[P, P, P], 1, 1, &[ReadOnlyLocks, CloseBeforeUnlinkDead]);
    assert_caught(&unlinking, two_hold);
}

/// Among parties that never remove what another holds, the fence has nothing to do.
#[test]
fn the_fence_is_there_for_careless_writers_alone() {
    assert_safe(&model(&[P, P, P, Plain], 1, 2, &[NoFence, NoReleaseCheck]), |s| {
        two_hold(s) || update_lost(s)
    });
}
