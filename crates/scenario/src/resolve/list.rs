//! Lists of single packets and times among the errors of a link.

use super::Resolver;
use crate::tree::Path;
use skyhop_sim::errors::{ErrorConfig, ListErrors};

impl Resolver<'_, '_, '_> {
    /// Several lists of times would have to be joined into one pace.
    pub(super) fn check_holds(&mut self, errors: &[ErrorConfig], path: &Path) {
        let holds = |error: &ErrorConfig| matches!(error, ErrorConfig::List(ListErrors { hold: Some(_), .. }));
        for (i, error) in errors.iter().enumerate().filter(|(_, error)| holds(error)).skip(1) {
            let path = path.index(i).key(error.key()).key("hold");
            self.add(&path, "stands in another list of this link, too", Some("write one list of times".to_owned()));
        }
    }
}
