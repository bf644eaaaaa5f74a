//! Outcomes of listed packets: what a list may say.

use super::Resolver;
use crate::format::{ErrorFile, ListFile, ListedFile, OrdinalsFile, OutcomeFile};
use crate::tree::Path;
use skyhop_base::Duration;

/// What else the link of a list has.
pub(super) struct ListedLink {
    /// It follows a recording or a profile.
    pub paced: bool,
    pub repairs: bool,
}

impl Resolver<'_, '_, '_> {
    /// Lists among the errors of a link, at `path`.
    pub(super) fn check_lists(&mut self, errors: &[ErrorFile], link: &ListedLink, path: &Path) {
        let mut holds = 0;
        for (i, error) in errors.iter().enumerate() {
            let ErrorFile::List(list) = error else { continue };
            let path = path.index(i).key("list");
            if link.repairs {
                let message = "names packets, of which a link that repairs sends several copies";
                self.add(&path, message, Some("use a probability, bursts or times".to_owned()));
            }
            let ListFile { data, acks, syns, syn_acks, lose, hold } = list;
            let classes = [("data", data), ("acks", acks), ("syns", syns), ("syn_acks", syn_acks)];
            if classes.iter().all(|(_, listed)| listed.is_empty()) && lose.is_none() && hold.is_none() {
                let help =
                    "write data = [{ packets = 17 }], lose = [[\"10 s\", \"12 s\"]] or hold = [[\"10 s\", \"12 s\"]]";
                self.add(&path, "names nothing", Some(help.to_owned()));
            }
            for (key, listed) in classes {
                for (j, listed) in listed.iter().enumerate() {
                    self.check_listed(listed, &path.key(key).index(j));
                }
            }
            for (key, pairs) in [("lose", lose), ("hold", hold)] {
                for (j, [from, until]) in pairs.iter().flatten().enumerate().filter(|(_, [from, until])| from >= until)
                {
                    self.add(&path.key(key).index(j), format!("{until} is not after {from}"), None);
                }
            }
            let Some(hold) = hold else { continue };
            holds += 1;
            let path = path.key("hold");
            if link.paced {
                let message =
                    "needs a link of constant rate: a recording or a profile says itself when the link stands still";
                self.add(&path, message, None);
            }
            if holds > 1 {
                self.add(&path, "stands in another list of this link, too", Some("write one list of times".to_owned()));
            }
            if hold.windows(2).any(|pair| pair[1][0] < pair[0][1]) {
                self.add(&path, "the times have to follow each other", None);
            }
        }
    }

    fn check_listed(&mut self, listed: &ListedFile, path: &Path) {
        match listed.packets {
            OrdinalsFile::One(0) => self.add(&path.key("packets"), "numbers count from 1", None),
            OrdinalsFile::Several([first, last]) if first == 0 || last < first => {
                let help = "write the first and the last number, as in [3, 9]".to_owned();
                self.add(&path.key("packets"), format!("{first} to {last} is not a range from 1 on"), Some(help));
            }
            OrdinalsFile::One(_) if listed.every.is_some() => {
                self.add(&path.key("every"), "has no effect on a single packet", Some("leave it out".to_owned()));
            }
            OrdinalsFile::One(_) | OrdinalsFile::Several(_) => {}
        }
        if let Some(OutcomeFile::Delay(Duration::ZERO)) = listed.outcome {
            self.add(&path.key("outcome").key("delay"), "must be more than 0 s", None);
        }
    }
}

/// The list with its defaults written out.
pub(super) fn tidy(list: &ListFile) -> ListFile {
    let tidy_one = |listed: &ListedFile| ListedFile {
        every: listed.every.filter(|&every| every > 1),
        outcome: listed.outcome.or(Some(OutcomeFile::Drop)),
        ..listed.clone()
    };
    let tidy_all = |listed: &Vec<ListedFile>| listed.iter().map(tidy_one).collect();
    ListFile {
        data: tidy_all(&list.data),
        acks: tidy_all(&list.acks),
        syns: tidy_all(&list.syns),
        syn_acks: tidy_all(&list.syn_acks),
        lose: list.lose.clone(),
        hold: list.hold.clone(),
    }
}
