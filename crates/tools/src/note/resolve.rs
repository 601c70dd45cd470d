//! Which note a link leads to, as Obsidian decides it: case does not matter, `.md` may be left out, and a name alone is enough.

use covenant_model::note::without_md;

/// The note that `target` leads to from the note at `from`, of those whose names fit. A path from the top comes first, then
/// what lies beneath the note's own directory, then the shortest path.
pub fn resolve<'p>(target: &str, from: &str, candidates: &'p [String]) -> Option<&'p str> {
    let wanted = plain(target);
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let fits = |path: &str, wanted: &str| plain(path) == wanted;
    let exact = |wanted: &str| candidates.iter().find(|path| fits(path, wanted)).map(String::as_str);
    if wanted.is_empty() {
        return None;
    }
    if let Some(from_top) = wanted.strip_prefix('/') {
        return exact(from_top);
    }
    if wanted.starts_with("./") || wanted.starts_with("../") {
        return exact(&walked(&folder.to_lowercase(), &wanted)?);
    }
    if let Some(path) = exact(&wanted) {
        return Some(path);
    }
    let tail = format!("/{wanted}");
    let beneath =
        |path: &str| folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let fitting = candidates.iter().filter(|path| plain(path).ends_with(&tail));
    fitting.min_by_key(|path| (!beneath(path), path.len(), path.as_str())).map(String::as_str)
}

fn plain(path: &str) -> String {
    without_md(&path.to_lowercase()).to_owned()
}

/// Where a path with dots leads from a folder; nowhere if it leaves the top.
fn walked(folder: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
