//! Paths and names that stay inside their root (T3): what a state, a sub-agent or a user names is looked at before it is
//! joined to anything.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The path below a root that `text` names, its parts joined by `/`.
///
/// # Errors
/// Why it may lead out of the root, in words: it is absolute, it has `..` in it, it names the root itself.
pub fn relative(text: &str) -> Result<String, &'static str> {
    if text.contains('\0') {
        return Err("it has a NUL byte in it");
    }
    let mut parts = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir => {}
            Component::ParentDir => return Err("it has `..` in it, which may lead out"),
            Component::RootDir | Component::Prefix(_) => return Err("it is absolute"),
        }
    }
    if parts.is_empty() {
        return Err("it names no file");
    }
    Ok(parts.join("/"))
}

/// Whether `text` is one name, fit to be a folder's.
///
/// # Errors
/// Why it is none, in words.
pub fn name(text: &str) -> Result<(), &'static str> {
    match text {
        "" => Err("it is empty"),
        "." | ".." => Err("it is a way, and no name"),
        _ if text.starts_with('-') => Err("it begins with a dash, as flags do"),
        _ if text.contains(['/', '\\']) => Err("it has a separator in it"),
        _ if text.chars().any(char::is_control) => Err("it has a control character in it"),
        _ if text.len() > LONGEST_NAME => Err("it is too long"),
        _ => Ok(()),
    }
}

/// In bytes; file systems take 255.
const LONGEST_NAME: usize = 200;

/// Where looking for a file below several roots led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there, in one of them.
    There,
    /// It is in none of them.
    Missing,
    /// It is named in a way that may lead out, or a link on the way does.
    Outside,
    /// There is no root to look in.
    Nowhere,
}

/// Looks for the file `text`, a path below one of `roots`, following no link out of them.
pub fn look_for(text: &str, roots: &[PathBuf]) -> Found {
    let Ok(path) = relative(text) else { return Found::Outside };
    let looks: Vec<Found> = roots.iter().map(|root| look(&path, root)).collect();
    [Found::There, Found::Outside, Found::Missing]
        .into_iter()
        .find(|found| looks.contains(found))
        .unwrap_or(Found::Nowhere)
}

fn look(path: &str, root: &Path) -> Found {
    let path = root.join(path);
    // The name itself may be a link that leads anywhere: it is there, and nobody follows it.
    match fs::symlink_metadata(&path) {
        Ok(_) => match leads_inside(path.parent().unwrap_or(root), root) {
            Ok(true) => Found::There,
            _ => Found::Outside,
        },
        Err(_) => Found::Missing,
    }
}

/// Whether `path`, with all links followed, lies in `root` or is it.
///
/// # Errors
/// When one of the two does not lead anywhere.
pub fn leads_inside(path: &Path, root: &Path) -> io::Result<bool> {
    Ok(fs::canonicalize(path)?.starts_with(fs::canonicalize(root)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_root() {
        for (text, path) in [
            ("a", Ok("a")),
            ("./a//b/", Ok("a/b")),
            ("app/[slug]/page.tsx", Ok("app/[slug]/page.tsx")),
            ("..a/b..", Ok("..a/b..")),
            ("a/../b", Err("it has `..` in it, which may lead out")),
            ("..", Err("it has `..` in it, which may lead out")),
            ("/a", Err("it is absolute")),
            ("a\0b", Err("it has a NUL byte in it")),
            (".", Err("it names no file")),
            ("", Err("it names no file")),
        ] {
            assert_eq!(relative(text).as_deref(), path.as_ref().copied(), "{text:?}");
        }
    }

    #[test]
    fn a_name_is_one_part_of_a_path_and_no_flag() {
        for good in ["web", ".dotfiles", "état 2", "a.b", "...", "a-b"] {
            assert_eq!(name(good), Ok(()), "{good:?}");
        }
        for bad in ["", ".", "..", "a/b", "a\\b", "/", "-f", "a\nb", &"x".repeat(201)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    #[allow(clippy::disallowed_methods)] // a test lays out its own folder
    fn a_link_that_leads_out_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (folder.path().join("root"), folder.path().join("other"));
        fs::create_dir_all(root.join("in")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(root.join("in/a"), "").unwrap();
        fs::write(other.join("a"), "").unwrap();
        std::os::unix::fs::symlink(&other, root.join("out")).unwrap();
        std::os::unix::fs::symlink("in", root.join("also-in")).unwrap();
        std::os::unix::fs::symlink("/nowhere", root.join("dangling")).unwrap();
        let look = |text: &str| look_for(text, std::slice::from_ref(&root));
        assert_eq!(look("in/a"), Found::There);
        assert_eq!(look("also-in/a"), Found::There);
        assert_eq!(look("dangling"), Found::There);
        assert_eq!(look("in/b"), Found::Missing);
        assert_eq!(look("out/a"), Found::Outside);
        assert_eq!(look("../other/a"), Found::Outside);
        assert_eq!(look_for("a", &[]), Found::Nowhere);
        assert_eq!(look_for("a", &[root, other]), Found::There);
    }
}
