//! What the OPTIONS file says of a column family: only what tells whose it is.

use std::collections::BTreeMap;

/// Settings of one column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FamilyOptions {
    pub(super) compaction_filter: Option<String>,
    pub(super) delimiter: Option<u8>,
}

/// Settings by column family.
pub(super) fn families(options: &str) -> BTreeMap<String, FamilyOptions> {
    let mut found = BTreeMap::new();
    let mut current: Option<&mut FamilyOptions> = None;
    for line in options.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.strip_prefix("CFOptions \"").and_then(|s| s.strip_suffix("\"]"));
            current = name.map(|name| found.entry(name.to_owned()).or_default());
        } else if let (Some(family), Some((name, value))) = (&mut current, line.split_once('=')) {
            match name {
                "compaction_filter_factory" | "compaction_filter" if value != "nullptr" => {
                    family.compaction_filter = Some(value.to_owned());
                }
                "merge_operator" => {
                    let appends = value.trim_start_matches("{id=").starts_with("StringAppend");
                    let behind = value.split_once("delimiter=").map_or(",", |(_, behind)| behind);
                    family.delimiter = behind.bytes().next().filter(|_| appends);
                }
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_and_delimiter_belong_to_their_family() {
        let text = "[DBOptions]\n  compaction_filter=x\n[CFOptions \"a\"]\n  \
                    compaction_filter_factory=FlinkCompactionFilterFactory\n  \
                    merge_operator={id=StringAppendTESTOperator;delimiter=,;}\n\
                    [TableOptions/BlockBasedTable \"a\"]\n[CFOptions \"b\"]\n  \
                    compaction_filter_factory=nullptr\n";
        let found = families(text);
        assert_eq!(found["a"].compaction_filter.as_deref(), Some("FlinkCompactionFilterFactory"));
        assert_eq!(found["a"].delimiter, Some(b','));
        assert_eq!(found["b"], FamilyOptions::default());
    }
}
