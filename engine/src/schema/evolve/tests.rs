//! Rows of an older build read as their fields, or the job does not start.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::schema::shape_of;

mod old {
    use super::*;

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub(super) struct Visit {
        pub(super) page: String,
        pub(super) seconds: f64,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub(super) enum Device {
        Phone,
        Desk { screens: u8 },
        Other(i128),
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub(super) struct Session {
        pub(super) start: i64,
        pub(super) visits: Vec<Visit>,
        pub(super) device: Device,
        pub(super) tags: BTreeMap<String, (bool, Option<u32>)>,
        pub(super) note: Option<String>,
    }
}

mod new {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Visit {
        pub(super) referrer: Option<String>,
        pub(super) page: String,
        pub(super) seconds: f64,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) enum Device {
        Watch(u8),
        Phone,
        Desk { screens: u8, docked: Option<bool> },
        Other(i128),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Session {
        pub(super) device: Device,
        pub(super) start: i64,
        pub(super) visits: Vec<Visit>,
        pub(super) tags: BTreeMap<String, (bool, Option<u32>)>,
        pub(super) note: Option<String>,
        pub(super) score: Option<f32>,
    }
}

impl From<old::Session> for new::Session {
    fn from(old: old::Session) -> Self {
        let visit = |v: old::Visit| new::Visit { referrer: None, page: v.page, seconds: v.seconds };
        Self {
            device: match old.device {
                old::Device::Phone => new::Device::Phone,
                old::Device::Desk { screens } => new::Device::Desk { screens, docked: None },
                old::Device::Other(n) => new::Device::Other(n),
            },
            start: old.start,
            visits: old.visits.into_iter().map(visit).collect(),
            tags: old.tags,
            note: old.note,
            score: None,
        }
    }
}

fn between<A: serde::de::DeserializeOwned, B: serde::de::DeserializeOwned>()
-> Result<Evolution, String> {
    Evolution::between(&shape_of::<A>().unwrap(), &shape_of::<B>().unwrap())
}

fn session() -> impl Strategy<Value = old::Session> {
    let visit = (".{0,5}", any::<f64>().prop_filter("equals itself", |n| !n.is_nan()))
        .prop_map(|(page, seconds)| old::Visit { page, seconds });
    let device = prop_oneof![
        Just(old::Device::Phone),
        any::<u8>().prop_map(|screens| old::Device::Desk { screens }),
        any::<i128>().prop_map(old::Device::Other),
    ];
    let tags = proptest::collection::btree_map(".{0,3}", any::<(bool, Option<u32>)>(), 0..4);
    (any::<i64>(), proptest::collection::vec(visit, 0..4), device, tags, any::<Option<String>>())
        .prop_map(|(start, visits, device, tags, note)| old::Session {
            start,
            visits,
            device,
            tags,
            note,
        })
}

proptest! {
    /// An added optional field reads, wherever it was added, and nothing else changes.
    #[test]
    fn an_older_value_reads_as_its_fields(session in session()) {
        let evolution = between::<old::Session, new::Session>().unwrap();
        let mut bytes = Vec::new();
        evolution.rewrite(&postcard::to_stdvec(&session).unwrap(), &mut bytes).unwrap();
        let read: new::Session = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(read, new::Session::from(session));
    }

    /// Bytes that are no such value are never taken for one, and never a panic.
    #[test]
    fn damaged_bytes_are_told(session in session(), cut in any::<proptest::sample::Index>()) {
        let evolution = between::<old::Session, new::Session>().unwrap();
        let whole = postcard::to_stdvec(&session).unwrap();
        let part = &whole[..cut.index(whole.len())];
        prop_assert!(evolution.rewrite(part, &mut Vec::new()).is_none());
        let longer = [whole.as_slice(), &[0]].concat();
        prop_assert!(evolution.rewrite(&longer, &mut Vec::new()).is_none());
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let evolution = between::<old::Session, new::Session>().unwrap();
        let mut rewritten = Vec::new();
        if evolution.rewrite(&bytes, &mut rewritten).is_some() {
            // what is taken for a value may still break a rule of its type, as no text does
            drop(postcard::from_bytes::<new::Session>(&rewritten));
        }
    }
}

/// A changed type is an error that names the field.
#[test]
fn other_changes_are_refused_by_name() {
    #[derive(Deserialize)]
    struct Narrow {
        _start: i64,
    }
    mod wider {
        #[derive(serde::Deserialize)]
        pub(super) struct Narrow {
            _start: i64,
            _count: u32,
        }
    }
    mod other {
        #[derive(serde::Deserialize)]
        pub(super) struct Narrow {
            _start: u32,
        }
    }
    let said = between::<Narrow, wider::Narrow>().unwrap_err();
    assert_eq!(said, "Narrow._count was added and is not an Option");
    assert_eq!(between::<wider::Narrow, Narrow>().unwrap_err(), "Narrow._count is gone");
    assert_eq!(between::<Narrow, other::Narrow>().unwrap_err(), "Narrow._start has another type");
    assert_eq!(between::<u32, u64>().unwrap_err(), "the value has another type");
    // as wide, and yet another number
    assert_eq!(between::<u32, i32>().unwrap_err(), "the value has another type");
    assert_eq!(between::<bool, u8>().unwrap_err(), "the value has another type");
    assert_eq!(between::<new::Device, old::Device>().unwrap_err(), "Device::Watch is gone");
    assert!(between::<(u8, u8), (u8, u8, u8)>().is_err());
    assert!(between::<Vec<u8>, Option<u8>>().is_err());
}
