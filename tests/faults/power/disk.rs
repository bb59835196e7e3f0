//! A disk as far as a power cut is concerned: what it has for sure, and what it may have of what was not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub type NodeId = usize;

/// What a run asks the disk to do.
#[derive(Clone, Debug)]
pub enum Step {
    /// Makes a file that has no name yet.
    Create {
        node: NodeId,
        mode: u32,
    },
    /// Makes a folder that has no name yet.
    CreateFolder {
        node: NodeId,
    },
    Link {
        node: NodeId,
        folder: NodeId,
        name: OsString,
    },
    Unlink {
        folder: NodeId,
        name: OsString,
    },
    Rename {
        folder: NodeId,
        from: OsString,
        name: OsString,
    },
    /// At the end where no offset is given.
    Write {
        node: NodeId,
        offset: Option<usize>,
        bytes: Vec<u8>,
    },
    Truncate {
        node: NodeId,
        size: usize,
    },
    SetMode {
        node: NodeId,
        mode: u32,
    },
    /// Of a file: its content and mode. Of a folder: the names in it.
    Sync {
        node: NodeId,
    },
    /// The program has said that the target holds this one of the story's documents from now on, whatever comes.
    Acknowledge {
        document: usize,
    },
}

/// How the file system orders what it was not told to sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Not at all: any name in any folder may be any that it was since the folder was synced, and a file that was not
    /// synced may hold any of its contents, whole or in part, nothing, or zeros. The least that POSIX promises.
    None,
    /// As ext4 does by default (`data=ordered`, `auto_da_alloc`): names change in order, any sync brings all names up to
    /// date, and the content of a file is written before the rename that puts it in place of another.
    Journal,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content {
    pub bytes: Vec<u8>,
    pub mode: u32,
}

#[derive(Clone, Debug)]
enum Node {
    File {
        /// What it held since it was synced; the last is what it holds.
        history: Vec<Content>,
        synced: bool,
    },
    Folder {
        /// What each name stood for since the folder was synced; the last is what it stands for.
        names: BTreeMap<OsString, Vec<Option<NodeId>>>,
    },
}

/// All names of a disk, and what is known to be in the files.
type Names = BTreeMap<PathBuf, NodeId>;

#[derive(Clone, Debug)]
pub struct Disk {
    nodes: Vec<Node>,
    /// For [`Order::Journal`]: the names after each step since the last sync, and the files that are whole by then.
    journal: Vec<(Names, BTreeSet<NodeId>)>,
}

/// What a power cut left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remains {
    /// Names below the root. Two names of one file have the same id.
    pub names: Names,
    /// What is in the files among them.
    pub files: BTreeMap<NodeId, Content>,
}

impl Disk {
    /// An empty one.
    pub fn new() -> Disk {
        let root = Node::Folder { names: BTreeMap::new() };
        Disk { nodes: vec![root], journal: vec![Default::default()] }
    }

    pub fn root(&self) -> NodeId {
        0
    }

    /// The id of the node that is made next.
    pub fn next(&self) -> NodeId {
        self.nodes.len()
    }

    pub fn look_up(&self, folder: NodeId, name: &OsStr) -> Option<NodeId> {
        match &self.nodes[folder] {
            Node::Folder { names } => *names.get(name)?.last()?,
            Node::File { .. } => None,
        }
    }

    /// The folder that `node` is in; `None` above the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (0..self.nodes.len()).find(|&folder| match &self.nodes[folder] {
            Node::Folder { names } => names.values().any(|history| history.last() == Some(&Some(node))),
            Node::File { .. } => false,
        })
    }

    /// What there is while the power is on.
    pub fn now(&self) -> Remains {
        let names = self.names_now();
        let content = |node: &NodeId| match &self.nodes[*node] {
            Node::File { history, .. } => Some((*node, history.last().unwrap().clone())),
            Node::Folder { .. } => None,
        };
        let files = names.values().filter_map(content).collect();
        Remains { names, files }
    }

    pub fn make(&mut self, step: &Step) {
        let mut flushed = None;
        match step {
            Step::Create { node, mode } => {
                assert_eq!(*node, self.nodes.len());
                let empty = Content { bytes: Vec::new(), mode: *mode };
                self.nodes.push(Node::File { history: vec![empty], synced: false });
            }
            Step::CreateFolder { node } => {
                assert_eq!(*node, self.nodes.len());
                self.nodes.push(Node::Folder { names: BTreeMap::new() });
            }
            Step::Link { node, folder, name } => self.set_name(*folder, name, Some(*node)),
            Step::Unlink { folder, name } => self.set_name(*folder, name, None),
            Step::Rename { folder, from, name } => {
                let node = self.look_up(*folder, from);
                flushed = node.filter(|_| self.look_up(*folder, name).is_some());
                self.set_name(*folder, name, node);
                self.set_name(*folder, from, None);
            }
            Step::Write { node, offset, bytes } => self.change(*node, |content| {
                let offset = offset.unwrap_or(content.bytes.len());
                let end = offset + bytes.len();
                content.bytes.resize(content.bytes.len().max(end), 0);
                content.bytes[offset..end].copy_from_slice(bytes);
            }),
            Step::Truncate { node, size } => self.change(*node, |content| content.bytes.resize(*size, 0)),
            Step::SetMode { node, mode } => self.change(*node, |content| content.mode = *mode),
            Step::Sync { node } => match &mut self.nodes[*node] {
                Node::File { history, synced } => {
                    history.drain(..history.len() - 1);
                    *synced = true;
                }
                Node::Folder { names } => {
                    names.values_mut().for_each(|history| drop(history.drain(..history.len() - 1)));
                }
            },
            Step::Acknowledge { .. } => {}
        }
        let mut whole = self.journal.last().unwrap().1.clone();
        whole.extend(flushed);
        if matches!(step, Step::Sync { .. }) {
            self.journal.clear();
        }
        self.journal.push((self.names_now(), whole));
    }

    fn set_name(&mut self, folder: NodeId, name: &OsStr, node: Option<NodeId>) {
        match &mut self.nodes[folder] {
            Node::Folder { names } => names.entry(name.to_owned()).or_insert_with(|| vec![None]).push(node),
            Node::File { .. } => panic!("no folder"),
        }
    }

    fn change(&mut self, node: NodeId, change: impl FnOnce(&mut Content)) {
        let Node::File { history, .. } = &mut self.nodes[node] else { panic!("no file") };
        let mut content = history.last().unwrap().clone();
        change(&mut content);
        history.push(content);
    }

    fn names_now(&self) -> Names {
        self.choose_names(self.root(), Path::new(""), &|history| vec![*history.last().unwrap()])
            .pop()
            .expect("there is always a root")
    }

    /// Everything that may be there if the power goes now.
    pub fn remains(&self, order: Order) -> BTreeSet<Remains> {
        let possible: Vec<(Names, BTreeSet<NodeId>)> = match order {
            Order::None => {
                let all = self.choose_names(self.root(), Path::new(""), &|history| history.to_vec());
                all.into_iter().map(|names| (names, BTreeSet::new())).collect()
            }
            Order::Journal => self.journal.clone(),
        };
        let mut remains = BTreeSet::new();
        for (names, whole) in possible {
            let nodes: BTreeSet<NodeId> = names.values().copied().collect();
            let mut choices = vec![BTreeMap::new()];
            for node in nodes {
                let Some(contents) = self.contents(node, whole.contains(&node)) else { continue };
                choices = product(&choices, &contents, |files: &BTreeMap<_, _>, content| {
                    let mut files = files.clone();
                    files.insert(node, content.clone());
                    files
                });
            }
            remains.extend(choices.into_iter().map(|files| Remains { names: names.clone(), files }));
        }
        remains
    }

    /// All namings below `folder`, when each name may stand for what `possible` makes of its history.
    fn choose_names(
        &self,
        folder: NodeId,
        path: &Path,
        possible: &impl Fn(&[Option<NodeId>]) -> Vec<Option<NodeId>>,
    ) -> Vec<Names> {
        let Node::Folder { names } = &self.nodes[folder] else { return vec![Names::new()] };
        let mut all = vec![Names::new()];
        for (name, history) in names {
            let path = path.join(name);
            let nodes: BTreeSet<Option<NodeId>> = possible(history).into_iter().collect();
            let choices: Vec<Names> = nodes
                .into_iter()
                .flat_map(|node| match node {
                    None => vec![Names::new()],
                    Some(node) => {
                        let mut below = self.choose_names(node, &path, possible);
                        for names in &mut below {
                            names.insert(path.clone(), node);
                        }
                        below
                    }
                })
                .collect();
            all = product(&all, &choices, |names, more| {
                names.iter().chain(more).map(|(path, node)| (path.clone(), *node)).collect()
            });
        }
        all
    }

    /// What a file may hold after the cut; `None` for a folder.
    fn contents(&self, node: NodeId, whole: bool) -> Option<Vec<Content>> {
        let Node::File { history, synced } = &self.nodes[node] else { return None };
        let last = history.last().unwrap();
        if whole || (*synced && history.len() == 1) {
            return Some(vec![last.clone()]);
        }
        let mut contents: BTreeSet<Content> = history.iter().cloned().collect();
        for content in history {
            let torn = |bytes: Vec<u8>| Content { bytes, mode: content.mode };
            let half = content.bytes.len() / 2;
            let old = &history[0].bytes;
            contents.insert(torn(content.bytes[..half].to_vec()));
            contents.insert(torn(vec![0; content.bytes.len()]));
            // New blocks before, old ones or zeros behind; and the size that it had.
            let mut mixed = content.bytes[..half].to_vec();
            mixed.extend(old.iter().skip(half));
            mixed.resize(content.bytes.len(), 0);
            contents.insert(torn(mixed));
            contents.insert(torn(content.bytes.iter().take(old.len()).copied().collect()));
        }
        Some(contents.into_iter().collect())
    }
}

impl Remains {
    pub fn at(&self, path: &Path) -> Option<&Content> {
        self.files.get(self.names.get(path)?)
    }
}

fn product<A, B, C>(left: &[A], right: &[B], join: impl Fn(&A, &B) -> C) -> Vec<C> {
    left.iter().flat_map(|a| right.iter().map(|b| join(a, b)).collect::<Vec<_>>()).collect()
}
