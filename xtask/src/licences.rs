//! Holds dependencies to deny.toml: licences, sources, banned crates, double versions. cargo-deny reads the same file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::child::{cargo, output};
use crate::{spdx, tree};

#[derive(Deserialize)]
struct Policy {
    graph: Graph,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Named>,
    #[serde(default)]
    skip: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

/// Checks every dependency on every target we build for.
pub(crate) fn run() -> Result<String, String> {
    let policy: Policy = toml::from_str(&tree::read("deny.toml")?)
        .map_err(|error| format!("deny.toml does not say enough: {error}"))?;
    let packages = packages(&policy.graph.targets)?;
    let mut wrong: Vec<String> = packages.values().flat_map(|package| broken(&policy, package)).collect();
    wrong.extend(doubles(&policy, &packages));
    if wrong.is_empty() {
        Ok(format!("licences: {} packages are as deny.toml wants them", packages.len()))
    } else {
        Err(format!("deny.toml is not kept:\n  {}", wrong.join("\n  ")))
    }
}

fn packages(targets: &[String]) -> Result<BTreeMap<String, Package>, String> {
    let mut packages = BTreeMap::new();
    for target in targets {
        let words = ["metadata", "--format-version", "1", "--filter-platform", target];
        let text = output(&mut cargo(&words))?;
        let metadata: Metadata = serde_json::from_str(&text)
            .map_err(|error| format!("cargo metadata is not as expected: {error}"))?;
        let built: BTreeSet<String> = metadata.resolve.nodes.into_iter().map(|node| node.id).collect();
        let wanted = metadata.packages.into_iter().filter(|package| built.contains(&package.id));
        packages.extend(wanted.map(|package| (package.id.clone(), package)));
    }
    Ok(packages)
}

/// What is wrong with one package.
fn broken(policy: &Policy, package: &Package) -> Vec<String> {
    let what = format!("{} {}", package.name, package.version);
    let mut wrong = Vec::new();
    if policy.bans.deny.iter().any(|banned| banned.name == package.name) {
        wrong.push(format!("{what} is banned"));
    }
    // What has no source is ours.
    let Some(source) = &package.source else { return wrong };
    if !policy.sources.allow_registry.iter().any(|known| source == &format!("registry+{known}")) {
        wrong.push(format!("{what} comes from {source}"));
    }
    let excepted = policy.licenses.exceptions.iter().filter(|exception| exception.name == package.name);
    let allowed: Vec<_> =
        policy.licenses.allow.iter().chain(excepted.flat_map(|exception| &exception.allow)).collect();
    let expression = package.license.as_deref().unwrap_or_default();
    if !spdx::satisfied(expression, |licence| allowed.iter().any(|known| *known == licence)) {
        wrong.push(format!("{what} is licensed as `{expression}`"));
    }
    wrong
}

/// Crates that are built in two versions without a reason on record.
fn doubles(policy: &Policy, packages: &BTreeMap<String, Package>) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages.values() {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let skipped = |name: &str| policy.bans.skip.iter().any(|skip| skip.name == name);
    let double = versions.into_iter().filter(|(name, found)| found.len() > 1 && !skipped(name));
    let said = |(name, found): (&str, BTreeSet<&str>)| {
        format!("{name} is built in versions {}", found.into_iter().collect::<Vec<_>>().join(" and "))
    };
    double.map(said).collect()
}
