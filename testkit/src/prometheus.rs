//! A strict reader of the text format that Prometheus scrapes, version 0.0.4. It takes less than Prometheus does, so
//! that what passes here is read by every scraper.

use std::collections::{BTreeMap, BTreeSet};

/// A number and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its name, with the ending a histogram adds.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The number.
    pub value: f64,
}

/// The samples that share a name, a type and a help.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// What it means.
    pub help: String,
    /// Its samples, in the order of the page.
    pub samples: Vec<Sample>,
}

/// A whole page, by the names of its families.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page(BTreeMap<String, Family>);

impl Page {
    /// Reads a page; the error says which line is not one of the format.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut page = Self::default();
        let mut open: Option<String> = None;
        if !text.ends_with('\n') {
            return Err("the last line has no end".to_owned());
        }
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let wrong = |what: &str| format!("{what}: {line}");
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').ok_or_else(|| wrong("no help"))?;
                let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE ")?.strip_prefix(name));
                let kind =
                    kind.and_then(|rest| rest.strip_prefix(' ')).ok_or_else(|| wrong("no type follows"))?;
                if !["counter", "gauge", "histogram"].contains(&kind) || !is_name(name) {
                    return Err(wrong("no known type, or no name"));
                }
                let family = Family { kind: kind.to_owned(), help: help.to_owned(), samples: Vec::new() };
                if page.0.insert(name.to_owned(), family).is_some() {
                    return Err(wrong("a family stands twice"));
                }
                open = Some(name.to_owned());
                continue;
            }
            let sample = sample(line).ok_or_else(|| wrong("no sample"))?;
            let name = open.as_ref().ok_or_else(|| wrong("a sample before any type"))?;
            let family = page.0.get_mut(name).ok_or_else(|| wrong("no family"))?;
            let endings: &[&str] =
                if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            if !endings.iter().any(|ending| sample.name == format!("{name}{ending}")) {
                return Err(wrong("a sample of another family"));
            }
            family.samples.push(sample);
        }
        page.0.iter().try_for_each(|(name, family)| family.check(name))?;
        Ok(page)
    }

    /// The family of that name.
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.0.get(name)
    }

    /// The names of all families.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The number with that name and exactly those labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let pair = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
        let wanted: BTreeMap<String, String> = labels.iter().map(pair).collect();
        let mut samples = self.0.values().flat_map(|family| &family.samples);
        samples.find(|sample| sample.name == name && sample.labels == wanted).map(|sample| sample.value)
    }
}

impl Family {
    fn check(&self, name: &str) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for Sample { name, labels, value } in &self.samples {
            if !seen.insert((name, labels)) {
                return Err(format!("{name} {labels:?} stands twice"));
            }
            if self.kind != "gauge" && (!value.is_finite() || *value < 0.0) {
                return Err(format!("{name} {labels:?} counts to {value}"));
            }
        }
        if (self.kind == "counter") != name.ends_with("_total") {
            return Err(format!("{name} is a {}", self.kind));
        }
        if self.kind == "histogram" { self.check_histogram(name) } else { Ok(()) }
    }

    /// Buckets grow with their ends, and the last of each series holds all.
    fn check_histogram(&self, name: &str) -> Result<(), String> {
        let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in self.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
            let mut labels = sample.labels.clone();
            let end = labels.remove("le").and_then(|end| number(&end));
            let end = end.ok_or_else(|| format!("a bucket of {name} has no end"))?;
            series.entry(labels).or_default().push((end, sample.value));
        }
        let others = self.samples.iter().filter(|sample| !sample.name.ends_with("_bucket"));
        if others.count() != 2 * series.len() {
            return Err(format!("{name} needs a sum and a count for each of its series"));
        }
        for (labels, buckets) in series {
            let of = |ending: &str| {
                let wanted = format!("{name}{ending}");
                let mut all = self.samples.iter();
                all.find(|sample| sample.name == wanted && sample.labels == labels).map(|sample| sample.value)
            };
            let grows = buckets.is_sorted_by(|one, two| one.0 < two.0 && one.1 <= two.1);
            let last = buckets.last().filter(|(end, _)| *end == f64::INFINITY).map(|(_, count)| *count);
            if !grows || last.is_none() || last != of("_count") || of("_sum").is_none() {
                return Err(format!("{name} {labels:?} is no histogram: {buckets:?}"));
            }
        }
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    text.chars().all(sound) && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        text => text.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at_checked(end)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = number(value.strip_prefix(' ')?)?;
    is_name(name).then(|| Sample { name: name.to_owned(), labels, value })
}

/// The labels up to the closing brace, and what stands behind it.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        if !is_name(name) || labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((labels, after.strip_prefix('}')?)),
        }
    }
}

/// A value up to its closing quote, unescaped, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_page_is_read() {
        let page = Page::read(
            "# HELP a_total Says it.\n# TYPE a_total counter\na_total{x=\"1\\\\\",y=\"q\\\"\\n\"} 3\na_total 4\n\
             # HELP b B.\n# TYPE b histogram\nb_bucket{le=\"0.5\"} 1\nb_bucket{le=\"+Inf\"} 2\nb_sum 1.5\nb_count 2\n",
        )
        .unwrap();
        assert_eq!(page.value("a_total", &[("x", "1\\"), ("y", "q\"\n")]), Some(3.0));
        assert_eq!((page.value("a_total", &[]), page.value("b_count", &[])), (Some(4.0), Some(2.0)));
        assert_eq!(page.names().collect::<Vec<_>>(), ["a_total", "b"]);
    }

    #[test]
    fn what_is_not_of_the_format_is_refused() {
        let begin = "# HELP a_total A.\n# TYPE a_total counter\n";
        let histogram = "# HELP b B.\n# TYPE b histogram\n";
        for wrong in [
            "a_total 1\n".to_owned(),
            "# HELP a_total A.\na_total 1\n".to_owned(),
            format!("{begin}a_total 1"),
            format!("{begin}b_total 1\n"),
            format!("{begin}a_total x\n"),
            format!("{begin}a_total -1\n"),
            format!("{begin}a_total 1\na_total 2\n"),
            format!("{begin}a_total{{x=\"1}} 1\n"),
            format!("{begin}a_total{{x=\"\\t\"}} 1\n"),
            format!("{begin}a_total{{x=\"1\",x=\"1\"}} 1\n"),
            format!("{begin}{begin}"),
            "# HELP a A.\n# TYPE a counter\n".to_owned(),
            "# HELP a A.\n# TYPE a summary\n".to_owned(),
            format!("{histogram}b_bucket{{le=\"1\"}} 1\nb_sum 1\nb_count 1\n"),
            format!("{histogram}b_bucket{{le=\"+Inf\"}} 1\nb_sum 1\nb_count 2\n"),
            format!("{histogram}b_bucket{{le=\"+Inf\"}} 1\nb_count 1\n"),
            format!("{histogram}b_bucket{{le=\"1\"}} 3\nb_bucket{{le=\"+Inf\"}} 2\nb_sum 1\nb_count 2\n"),
            format!("{histogram}b_sum 1\nb_count 1\n"),
        ] {
            assert!(Page::read(&wrong).is_err(), "{wrong}");
        }
    }
}
