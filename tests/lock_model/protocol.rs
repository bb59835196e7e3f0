//! The disk, the kernel and the parties: one function for what pipestate does, one for foreign writers.

use crate::explore::Move;

/// What a party does next, named after the function that does it. The steps of different parties
/// interleave in every order. A step is atomic because it is one system call, or because what it reads
/// cannot change back: who is dead stays dead, an inode that lost its name never gets it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    // pipestate acquires
    CreatePrivate,
    LinkPrivate,
    OpenLock,
    TryKernelLock,
    Judge,
    SameName,
    OpenWriter,
    TakeOver,
    UnlinkDead,
    StartOver,
    // a foreign writer acquires; pipestate too, on a file system without `link`
    CreateExclusive,
    // a careless foreign writer reclaims
    ReadId,
    UnlinkById,
    // from here on: holding
    WriteId,
    ReadState,
    WriteTemporary,
    Verify,
    RenameState,
    SyncFolder,
    VerifyRelease,
    UnlinkLock,
    // not holding any more
    CloseLock,
    Done,
    Dead,
}
use Step::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Follows the protocol.
    Pipestate,
    /// Creates the lock exclusively, writes its id, removes the lock by name. Never reclaims.
    Plain,
    /// Also removes, by name, a lock in which it has read the id of a process that is dead by now.
    Careless,
}
use Kind::*;

/// How the world or the protocol differs from the ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    // another world
    /// The file system has no `link`: `create_exclusive` takes the place of `link_private`.
    NoLink,
    /// L12: what others made cannot be written by parties 0 and 1, who unlink it instead of taking it over.
    ReadOnlyLocks,
    /// L7's assumption fails: a foreign writer is stopped for longer than 2 s between create and write.
    StoppedMaker,
    /// No other party moves between this step of pipestate and the one before it.
    Atomic(Step),
    /// The careless party removes a living pipestate's lock only while that one is about to do this step.
    StrikesOnlyAt(Step),

    // broken on purpose
    NoSameName,
    NoSameWriter,
    NameBeforeVerdict,
    NoFence,
    NoReleaseCheck,
    VerifyNameOnly,
    CloseBeforeUnlink,
    CloseBeforeUnlinkDead,
}
use Change::*;

#[derive(Debug)]
pub struct Model {
    pub parties: Vec<Kind>,
    /// Updates that each pipestate makes; a foreign writer makes one.
    pub rounds: u8,
    /// Deaths, at any step of anybody.
    pub crashes: u8,
    pub changes: Vec<Change>,
}

const MOST_PARTIES: usize = 5;
type Id = u8;
type Inode = u8;

/// What a lock file says. Lines carry no round: a process that cannot tell its own older lines from its
/// present ones is the harder case.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Content {
    Empty,
    LinesOf(Id),
    IdOf(Id),
}
use Content::*;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct File {
    content: Content,
    maker: Id,
    kernel_lock: Option<Id>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Party {
    pub next: Step,
    opened: Option<Inode>,
    /// The document as it was read.
    read: u8,
    rounds_left: u8,
    /// The id that a careless party has found in the lock.
    suspect: Option<Id>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// What the name L leads to.
    lock: Option<Inode>,
    files: [Option<File>; MOST_PARTIES + 1],
    pub parties: [Party; MOST_PARTIES],
    /// The state document is the set of the updates in it: a bit for each party and round.
    document: u8,
    /// The updates whose rename succeeded, so that they may be acknowledged.
    committed: u8,
    crashes_left: u8,
}

impl Party {
    fn holds(&self) -> bool {
        (WriteId..=UnlinkLock).contains(&self.next)
    }
}

impl State {
    /// The updates that were committed and are gone. Bit 0 is the last one of party 0.
    pub fn lost(&self) -> u8 {
        self.committed & !self.document
    }

    pub fn holders(&self) -> usize {
        self.parties.iter().filter(|party| party.holds()).count()
    }

    /// A process that is done has exited, so to `kill(id, 0)` it is as dead as one that was killed.
    pub fn lives(&self, p: usize) -> bool {
        !matches!(self.parties[p].next, Done | Dead)
    }

    fn lock_content(&self) -> Option<Content> {
        let file = self.files[self.lock? as usize].expect("an inode lives while it is named");
        Some(file.content)
    }

    fn named_file(&mut self) -> &mut File {
        let inode = self.lock.expect("asked before");
        self.files[inode as usize].as_mut().expect("an inode lives while it is named")
    }

    fn opened(&mut self, p: usize) -> &mut File {
        let inode = self.parties[p].opened.expect("this step follows one that opens");
        self.files[inode as usize].as_mut().expect("an inode lives while it is open")
    }

    /// Makes L, which is not there, and leaves it open.
    fn make_lock(&mut self, p: usize, content: Content, kernel_lock: Option<Id>) {
        let free = self.files.iter().position(Option::is_none).expect("an inode each, and one for L");
        self.files[free] = Some(File { content, maker: p as Id, kernel_lock });
        self.lock = Some(free as Inode);
        self.parties[p].opened = self.lock;
    }

    /// Closes what the party has open; that drops its kernel lock.
    fn close(&mut self, p: usize) {
        if self.parties[p].opened.is_some() {
            self.opened(p).kernel_lock.take_if(|owner| *owner as usize == p);
            self.parties[p].opened = None;
        }
    }

    /// The kernel closes the descriptors; names and contents stay. A waiter that gives up leaves the same.
    fn crashed(mut self, p: usize) -> State {
        self.close(p);
        self.parties[p] = Party { next: Dead, opened: None, read: 0, rounds_left: 0, suspect: None };
        self.crashes_left -= 1;
        self
    }

    /// Frees inodes that are neither named nor open, and numbers the rest so that equal disks are equal states.
    fn normalised(mut self) -> State {
        let old = std::mem::take(&mut self.files);
        let mut renumbered = [None; MOST_PARTIES + 1];
        let mut used = 0;
        let opened = self.parties.iter_mut().map(|p| &mut p.opened);
        for inode in std::iter::once(&mut self.lock).chain(opened).flatten() {
            let was = *inode as usize;
            *inode = *renumbered[was].get_or_insert_with(|| {
                self.files[used] = old[was];
                used += 1;
                used as Inode - 1
            });
        }
        self
    }
}

impl Model {
    fn has(&self, change: Change) -> bool {
        self.changes.contains(&change)
    }

    fn begin(&self, kind: Kind) -> Step {
        if kind == Pipestate && !self.has(NoLink) { CreatePrivate } else { CreateExclusive }
    }

    pub fn start(&self) -> State {
        let party = |p: usize| {
            let kind = self.parties.get(p).copied();
            let rounds_left = match kind {
                Some(Pipestate) => self.rounds,
                Some(Plain | Careless) => 1,
                None => 0,
            };
            let next = kind.map_or(Done, |kind| self.begin(kind));
            Party { next, opened: None, read: 0, rounds_left, suspect: None }
        };
        State {
            lock: None,
            files: Default::default(),
            parties: std::array::from_fn(party),
            document: 0,
            committed: 0,
            crashes_left: self.crashes,
        }
    }

    pub fn moves(&self, state: &State, found: &mut Vec<(Move, State)>) {
        let in_pair = |&p: &usize| self.parties[p] == Pipestate && self.has(Atomic(state.parties[p].next));
        let alone = (0..self.parties.len()).find(in_pair);
        let may_move = |&p: &usize| state.lives(p) && alone.is_none_or(|alone| alone == p);
        for p in (0..self.parties.len()).filter(may_move) {
            if let Some(next) = self.step(*state, p) {
                found.push((Move { party: p, crash: false }, next.normalised()));
            }
            if state.crashes_left > 0 {
                found.push((Move { party: p, crash: true }, state.crashed(p).normalised()));
            }
        }
    }

    /// None: the party waits.
    fn step(&self, mut s: State, p: usize) -> Option<State> {
        s.parties[p].next = match self.parties[p] {
            Pipestate => self.pipestate(&mut s, p),
            Plain | Careless => self.foreign(&mut s, p)?,
        };
        Some(s)
    }

    fn pipestate(&self, s: &mut State, p: usize) -> Step {
        let id = p as Id;
        let Party { next, opened, rounds_left, .. } = s.parties[p];
        match next {
            // It has no name, so nobody sees it: the file enters the model when it is linked. One that
            // could not be linked is kept for the next try; making it again is the same.
            CreatePrivate => LinkPrivate,
            LinkPrivate | CreateExclusive if s.lock.is_some() => OpenLock,
            LinkPrivate => {
                s.make_lock(p, LinesOf(id), Some(id));
                ReadState
            }
            CreateExclusive => {
                s.make_lock(p, Empty, None);
                TryKernelLock
            }

            OpenLock if s.lock.is_none() => StartOver,
            OpenLock => {
                s.parties[p].opened = s.lock;
                TryKernelLock
            }
            TryKernelLock if s.opened(p).kernel_lock.is_some() => StartOver,
            TryKernelLock => {
                s.opened(p).kernel_lock = Some(id);
                if self.has(NameBeforeVerdict) { SameName } else { Judge }
            }
            Judge if !self.holder_is_dead(s, p) => StartOver,
            Judge if self.has(NoSameName) || self.has(NameBeforeVerdict) => OpenWriter,
            Judge => SameName,
            SameName if s.lock != opened => StartOver,
            SameName if self.has(NameBeforeVerdict) => Judge,
            SameName => OpenWriter,
            // It is a look at the name as well, after the verdict: no look there is none here either.
            OpenWriter if s.lock == opened || self.has(NoSameName) || self.has(NameBeforeVerdict) => {
                self.seize(s, p)
            }
            // One step instead of two: what was opened by name is written, whosever it is.
            OpenWriter if self.has(NoSameWriter) && s.lock.is_some() => {
                s.named_file().content = LinesOf(id);
                ReadState
            }
            OpenWriter => StartOver,
            TakeOver => {
                s.opened(p).content = LinesOf(id);
                ReadState
            }
            UnlinkDead => {
                s.lock = None;
                StartOver
            }
            StartOver => {
                s.close(p);
                self.begin(Pipestate)
            }

            ReadState => {
                s.parties[p].read = s.document;
                WriteTemporary
            }
            WriteTemporary if self.has(NoFence) => RenameState,
            WriteTemporary => Verify,
            Verify if !self.still_ours(s, p) => {
                s.parties[p].read = 0;
                StartOver
            }
            Verify => RenameState,
            RenameState => {
                self.rename(s, p);
                SyncFolder
            }
            SyncFolder if self.has(NoReleaseCheck) => UnlinkLock,
            SyncFolder => VerifyRelease,

            VerifyRelease if !self.still_ours(s, p) => CloseLock,
            VerifyRelease => {
                if self.has(CloseBeforeUnlink) {
                    s.close(p);
                }
                UnlinkLock
            }
            UnlinkLock => {
                s.lock = None;
                CloseLock
            }
            CloseLock => {
                s.close(p);
                s.parties[p].rounds_left -= 1;
                if rounds_left > 1 { self.begin(Pipestate) } else { Done }
            }
            WriteId | ReadId | UnlinkById | Done | Dead => unreachable!("no step of pipestate"),
        }
    }

    /// We own the kernel lock of this inode: is whoever its content names dead?
    fn holder_is_dead(&self, s: &mut State, p: usize) -> bool {
        let File { content, maker, .. } = *s.opened(p);
        match content {
            // A living one would have the kernel lock.
            LinesOf(_) => true,
            IdOf(other) => !s.lives(other as usize),
            // The assumption of L7: a foreign writer that lives writes its id within 2 s. Nothing is
            // assumed of our own makers: they write only after they got the kernel lock and looked again.
            Empty => self.has(StoppedMaker) || s.parties[maker as usize].next != WriteId,
        }
    }

    fn seize(&self, s: &mut State, p: usize) -> Step {
        let read_only = self.has(ReadOnlyLocks) && p < 2 && s.opened(p).maker as usize != p;
        if read_only && self.has(CloseBeforeUnlinkDead) {
            s.close(p);
        }
        if read_only { UnlinkDead } else { TakeOver }
    }

    /// By inode and by lines.
    fn still_ours(&self, s: &mut State, p: usize) -> bool {
        let ours = s.opened(p).content == LinesOf(p as Id) || self.has(VerifyNameOnly);
        ours && s.lock == s.parties[p].opened
    }

    fn rename(&self, s: &mut State, p: usize) {
        let round = s.parties[p].rounds_left as usize - 1;
        let update = 1 << (p + round * self.parties.len());
        s.document = std::mem::take(&mut s.parties[p].read) | update;
        s.committed |= update;
    }

    fn foreign(&self, s: &mut State, p: usize) -> Option<Step> {
        Some(match s.parties[p].next {
            CreateExclusive if s.lock.is_none() => {
                s.make_lock(p, Empty, None);
                WriteId
            }
            CreateExclusive if self.parties[p] == Careless => ReadId,
            CreateExclusive => return None,
            ReadId => match s.lock_content() {
                Some(LinesOf(id) | IdOf(id)) => {
                    s.parties[p].suspect = Some(id);
                    UnlinkById
                }
                Some(Empty) | None => CreateExclusive,
            },
            UnlinkById => {
                let suspect = s.parties[p].suspect.take().expect("read before");
                if !s.lives(suspect as usize) && self.may_strike(s) {
                    s.lock = None;
                }
                CreateExclusive
            }

            WriteId => {
                s.opened(p).content = IdOf(p as Id);
                s.close(p);
                ReadState
            }
            ReadState => {
                s.parties[p].read = s.document;
                RenameState
            }
            RenameState => {
                self.rename(s, p);
                UnlinkLock
            }
            UnlinkLock => {
                s.lock = None;
                s.parties[p].rounds_left = 0;
                Done
            }
            _ => unreachable!("no step of a foreign writer"),
        })
    }

    /// Does this foreign party wait for a lock that nobody holds and nobody will remove? Then no pipestate
    /// is left that still wants the lock, and this party leaves a lock of that content alone.
    pub fn waits_for_ever(&self, s: &State, p: usize) -> bool {
        let Some(content) = s.lock_content() else { return false };
        let holds_it = |q: usize| {
            let party = s.parties[q];
            party.holds() && (party.opened == s.lock || content == IdOf(q as Id))
        };
        let wants_it = |q: usize| {
            let Party { next, rounds_left, .. } = s.parties[q];
            self.parties[q] == Pipestate && s.lives(q) && (next <= Verify || rounds_left > 1)
        };
        let leaves_it_alone = match self.parties[p] {
            Pipestate => false,
            Plain => true,
            Careless => content == Empty && s.parties[p].suspect.is_none(),
        };
        leaves_it_alone && !(0..self.parties.len()).any(|q| holds_it(q) || wants_it(q))
    }

    fn may_strike(&self, s: &State) -> bool {
        let is_victim = |&q: &usize| {
            let Party { next, opened, .. } = s.parties[q];
            let ours = self.parties[q] == Pipestate && opened.is_some() && opened == s.lock;
            ours && (next == TakeOver || s.parties[q].holds())
        };
        let victim = (0..self.parties.len()).find(is_victim);
        victim.is_none_or(|victim| {
            let wrong_step =
                |change: &Change| matches!(change, StrikesOnlyAt(step) if *step != s.parties[victim].next);
            !self.changes.iter().any(wrong_step)
        })
    }
}
