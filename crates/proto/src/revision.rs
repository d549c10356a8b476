//! Everything that differs between protocol revisions.
//!
//! Each revision is one file holding its [`Rules`] (derived from its
//! predecessor's) and its changes of shape. Code elsewhere asks a rule by its
//! name, never for a revision. Adding a revision is one new file and one line
//! in the list below.

mod apply;
mod change;
mod method_table;
mod rebuild;
mod rules;
#[cfg(test)]
mod tests;
mod translate;

pub use method_table::{Direction, MethodRow, method_row};
pub use rules::{Lifecycle, Rules};
pub use translate::{Loss, Losses, Part, Untranslatable, is_touched, translate};

macro_rules! revisions {
    ($($variant:ident = $module:ident, $date:literal;)*) => {
        $(#[doc(hidden)] mod $module;)*

        /// A published revision of the protocol, oldest first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Revision {
            $(#[doc = $date] $variant,)*
        }

        impl Revision {
            /// Every revision, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The revision's name on the wire.
            pub const fn date(self) -> &'static str {
                match self { $(Self::$variant => $date,)* }
            }

            /// What holds in this revision.
            pub const fn rules(self) -> &'static Rules {
                match self { $(Self::$variant => &$module::RULES,)* }
            }

            /// What changed shape between the revision before and this one.
            const fn changes(self) -> &'static [change::Change] {
                match self { $(Self::$variant => $module::CHANGES,)* }
            }
        }
    };
}

revisions! {
    V2024_11_05 = v2024_11_05, "2024-11-05";
    V2025_03_26 = v2025_03_26, "2025-03-26";
    V2025_06_18 = v2025_06_18, "2025-06-18";
    V2025_11_25 = v2025_11_25, "2025-11-25";
    V2026_07_28 = v2026_07_28, "2026-07-28";
}

impl Revision {
    /// The newest revision: the one whose shapes [`crate::types`] holds.
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// The newest revision with an `initialize` handshake.
    pub const NEWEST_HANDSHAKE: Self = newest(Lifecycle::Handshake);

    /// The revision with this name.
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|r| r.date() == date)
    }

    /// Whether the lifecycle is the `initialize` handshake.
    pub const fn is_legacy(self) -> bool {
        matches!(self.rules().lifecycle, Lifecycle::Handshake)
    }
}

impl core::fmt::Display for Revision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.date())
    }
}

const fn newest(lifecycle: Lifecycle) -> Revision {
    let mut at = Revision::ALL.len();
    while at > 0 {
        at -= 1;
        if Revision::ALL[at].rules().lifecycle as u8 == lifecycle as u8 {
            return Revision::ALL[at];
        }
    }
    panic!("no revision has that lifecycle")
}
