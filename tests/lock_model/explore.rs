//! Breadth-first search over every reachable state, and what can be asked of the result.
//!
//! Why not a model-checking crate: "never stuck" means that from *every* reachable state a good one can
//! *still* be reached. stateright 0.31 asks for "always", "sometimes" (from the start only) and
//! "eventually" (unsound on a graph with cycles, and a waiter is a cycle). That question needs the edges,
//! so a search of our own; then the crate would save thirty lines and bring thirty packages. Besides,
//! states are kept whole here, not as fingerprints that may collide.

use std::collections::HashMap;
use std::hash::Hash;

/// The party that moved, and whether its move was to die.
#[derive(Clone, Copy)]
pub struct Move {
    pub party: usize,
    pub crash: bool,
}

/// All that can be reached. States are in the order of their distance from the start.
pub struct Graph<S> {
    pub states: Vec<S>,
    /// Indexes of the bad states; the search does not go on behind them.
    pub bad: Vec<u32>,
    /// For each state but the first: from where it was first reached, and how.
    came_from: Vec<(u32, Move)>,
    /// Edges that are no crash: nobody may need another's death to get on.
    steps: Vec<(u32, u32)>,
}

/// Visits every state that can be reached from `start` by `moves`.
pub fn explore<S: Copy + Eq + Hash>(
    start: S,
    moves: impl Fn(&S, &mut Vec<(Move, S)>),
    is_bad: impl Fn(&S) -> bool,
) -> Graph<S> {
    let mut graph = Graph { states: vec![start], bad: vec![], came_from: vec![], steps: vec![] };
    let mut index = HashMap::from([(start, 0)]);
    let mut found = vec![];
    let mut from = 0;
    while let Some(state) = graph.states.get(from as usize).copied() {
        if is_bad(&state) {
            graph.bad.push(from);
        } else {
            moves(&state, &mut found);
        }
        for (by, next) in found.drain(..) {
            let to = *index.entry(next).or_insert_with(|| {
                graph.states.push(next);
                graph.came_from.push((from, by));
                graph.states.len() as u32 - 1
            });
            if !by.crash {
                graph.steps.push((from, to));
            }
        }
        from += 1;
    }
    graph
}

impl<S: Copy> Graph<S> {
    /// A shortest way to a state: each move with the state it was made in.
    pub fn way_to(&self, mut state: u32) -> Vec<(Move, S)> {
        let mut way = vec![];
        while state != 0 {
            let (from, by) = self.came_from[state as usize - 1];
            way.push((by, self.states[from as usize]));
            state = from;
        }
        way.reverse();
        way
    }

    /// For each state: can one that satisfies `goal` still be reached, without a further crash?
    pub fn can_reach(&self, goal: impl Fn(&S) -> bool) -> Vec<bool> {
        // The edges backwards, sorted by where they lead: before[first[s]..first[s + 1]] lead to s.
        let mut first = vec![0; self.states.len() + 1];
        for &(_, to) in &self.steps {
            first[to as usize + 1] += 1;
        }
        for s in 1..first.len() {
            first[s] += first[s - 1];
        }
        let mut before = vec![0; self.steps.len()];
        let mut free = first.clone();
        for &(from, to) in &self.steps {
            before[free[to as usize]] = from;
            free[to as usize] += 1;
        }

        let mut reaches: Vec<bool> = self.states.iter().map(goal).collect();
        let mut todo: Vec<usize> = (0..reaches.len()).filter(|&s| reaches[s]).collect();
        while let Some(s) = todo.pop() {
            for &from in &before[first[s]..first[s + 1]] {
                if !std::mem::replace(&mut reaches[from as usize], true) {
                    todo.push(from as usize);
                }
            }
        }
        reaches
    }
}
