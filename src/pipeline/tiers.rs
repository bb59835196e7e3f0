//! Where runs lie: the tiers, their roots and manifests, and the two layouts (P4).

use std::path::{Path, PathBuf};

/// An execution tier: the host program that a pipeline was scaffolded for or runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Claude Code.
    Tier1,
    /// OpenCode.
    Tier1b,
    /// Antigravity.
    Tier1c,
    /// Codex.
    Tier1d,
    /// Cursor.
    Tier2,
}

/// A line of the table of P4.
struct Row {
    id: &'static str,
    workspace_root: &'static str,
    user_root: &'static str,
    manifest: &'static str,
}

impl Tier {
    /// All tiers, in the table's order.
    pub const ALL: [Tier; 5] = [Tier::Tier1, Tier::Tier1b, Tier::Tier1c, Tier::Tier1d, Tier::Tier2];

    /// The tier of an id, `tier_1b`; `None` for any other text.
    ///
    /// ```
    /// use pipestate::pipeline::tiers::Tier;
    ///
    /// assert_eq!(Tier::parse("tier_1d").map(Tier::workspace_root), Some(".agents/codex"));
    /// assert_eq!(Tier::parse("Tier 1"), None);
    /// ```
    pub fn parse(id: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.id() == id)
    }

    /// The id as documents have it.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// Its root relative to a workspace, with `/` between components; two tiers have two components.
    pub fn workspace_root(self) -> &'static str {
        self.row().workspace_root
    }

    /// Its root relative to the home folder.
    pub fn user_root(self) -> &'static str {
        self.row().user_root
    }

    /// The manifest whose `version` a run is stamped with, relative to the workspace.
    pub fn manifest(self) -> &'static str {
        self.row().manifest
    }

    fn row(self) -> Row {
        let (id, workspace_root, user_root, manifest) = match self {
            Tier::Tier1 => ("tier_1", ".claude", ".claude", ".claude-plugin/plugin.json"),
            Tier::Tier1b => ("tier_1b", ".opencode", ".opencode", "opencode-plugin.json"),
            Tier::Tier1c => ("tier_1c", ".agents/antigravity", ".antigravity", "gemini-extension.json"),
            Tier::Tier1d => ("tier_1d", ".agents/codex", ".codex", ".codex-plugin/plugin.json"),
            Tier::Tier2 => ("tier_2", ".superpipelines", ".superpipelines", ".cursor-plugin/plugin.json"),
        };
        Row { id, workspace_root, user_root, manifest }
    }
}

/// How a run lies below its scope root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `{scope_root}/temp/{P}/{runId}/`, the scope root being `.superpipelines` for every tier.
    #[default]
    Data,
    /// `{scope_root}/superpipelines/temp/{P}/{runId}/`, the scope root being the tier's.
    Legacy,
}

/// The scope root of the layout [`Layout::Data`], whatever the tier.
pub const DATA_ROOT: &str = ".superpipelines";
/// The folder between a scope root and `temp` in the layout [`Layout::Legacy`].
pub const LEGACY_INFIX: &str = "superpipelines";
/// The folder that holds the runs' folders.
pub const TEMP: &str = "temp";
/// The name of a run's document in its folder.
pub const STATE_FILE: &str = "pipeline-state.json";

impl Layout {
    /// Both, the default first.
    pub const ALL: [Layout; 2] = [Layout::Data, Layout::Legacy];

    /// `data` or `legacy`; `None` for any other text.
    pub fn parse(name: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// `data` or `legacy`.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Data => "data",
            Layout::Legacy => "legacy",
        }
    }

    /// The folder `temp` of a scope root; below it lie `{P}/{runId}/pipeline-state.json`.
    pub fn runs_folder(self, scope_root: &Path) -> PathBuf {
        match self {
            Layout::Data => scope_root.join(TEMP),
            Layout::Legacy => scope_root.join(LEGACY_INFIX).join(TEMP),
        }
    }

    /// The scope root of that tier relative to a workspace, which is also the `scope_root_dir` of its runs there.
    pub fn workspace_root(self, tier: Tier) -> &'static str {
        match self {
            Layout::Data => DATA_ROOT,
            Layout::Legacy => tier.workspace_root(),
        }
    }

    /// The scope root of that tier relative to the home folder.
    pub fn user_root(self, tier: Tier) -> &'static str {
        match self {
            Layout::Data => DATA_ROOT,
            Layout::Legacy => tier.user_root(),
        }
    }
}

/// A folder below which runs may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeRoot {
    /// The folder; it need not exist.
    pub path: PathBuf,
    /// How runs lie below it.
    pub layout: Layout,
}

impl ScopeRoot {
    /// The folder that holds the folders of its pipelines.
    pub fn runs_folder(&self) -> PathBuf {
        self.layout.runs_folder(&self.path)
    }
}

/// The scope roots of all tiers and both layouts, below the workspace first and then below the home folder, each once.
///
/// A pure list: whether a root exists is the caller's to find out.
pub fn scope_roots(workspace: Option<&Path>, home: Option<&Path>) -> Vec<ScopeRoot> {
    let mut roots: Vec<ScopeRoot> = Vec::new();
    let below = [workspace.map(|path| (path, true)), home.map(|path| (path, false))];
    for (base, in_workspace) in below.into_iter().flatten() {
        for layout in Layout::ALL {
            for tier in Tier::ALL {
                let relative =
                    if in_workspace { layout.workspace_root(tier) } else { layout.user_root(tier) };
                let root = ScopeRoot { path: base.join(relative), layout };
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_one_of_p4() {
        let table: Vec<[&str; 4]> = Tier::ALL
            .iter()
            .map(|tier| [tier.id(), tier.workspace_root(), tier.user_root(), tier.manifest()])
            .collect();
        assert_eq!(
            table,
            [
                ["tier_1", ".claude", ".claude", ".claude-plugin/plugin.json"],
                ["tier_1b", ".opencode", ".opencode", "opencode-plugin.json"],
                ["tier_1c", ".agents/antigravity", ".antigravity", "gemini-extension.json"],
                ["tier_1d", ".agents/codex", ".codex", ".codex-plugin/plugin.json"],
                ["tier_2", ".superpipelines", ".superpipelines", ".cursor-plugin/plugin.json"],
            ]
        );
    }

    #[test]
    fn only_the_exact_id_is_a_tier_and_only_the_exact_name_a_layout() {
        for tier in Tier::ALL {
            assert_eq!(Tier::parse(tier.id()), Some(tier));
        }
        for other in ["", "1", "tier_1e", "Tier_1", "tier_1 ", "tier_"] {
            assert_eq!(Tier::parse(other), None, "{other:?}");
        }
        assert_eq!(Layout::parse("legacy"), Some(Layout::Legacy));
        assert_eq!(Layout::parse("Data"), None);
    }

    #[test]
    fn runs_of_all_tiers_and_both_layouts_lie_in_twelve_folders() {
        let roots = scope_roots(Some(Path::new("/w")), Some(Path::new("/h")));
        let folders: Vec<String> =
            roots.iter().map(|root| root.runs_folder().to_str().unwrap().replace('\\', "/")).collect();
        assert_eq!(
            folders,
            [
                "/w/.superpipelines/temp",
                "/w/.claude/superpipelines/temp",
                "/w/.opencode/superpipelines/temp",
                "/w/.agents/antigravity/superpipelines/temp",
                "/w/.agents/codex/superpipelines/temp",
                "/w/.superpipelines/superpipelines/temp",
                "/h/.superpipelines/temp",
                "/h/.claude/superpipelines/temp",
                "/h/.opencode/superpipelines/temp",
                "/h/.antigravity/superpipelines/temp",
                "/h/.codex/superpipelines/temp",
                "/h/.superpipelines/superpipelines/temp",
            ]
        );
        assert_eq!(scope_roots(Some(Path::new("/w")), Some(Path::new("/w"))).len(), 8);
        assert_eq!(scope_roots(None, None), []);
    }
}
