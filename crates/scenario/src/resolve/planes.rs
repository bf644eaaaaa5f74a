//! Planes of satellites from elements, which a grid needs: found, or given by a file.

use super::Resolver;
use super::content::Content;
use crate::format::{
    ConstellationFile, ContentFile, GridFile, InlineFile, LayoutFile, LayoutName, LayoutOptions, UnpairedName,
};
use crate::names::{shorten, there_are};
use crate::scenario::{ElementPlanes, OutOfPlanes};
use crate::tree::Path;
use skyhop_base::{Duration, natural_order};
use skyhop_orbit::{Earth, FoundPlane, FoundShell, Orbit, Place, Planes, Satellite};
use std::collections::{BTreeMap, BTreeSet};

/// Shells that a warning describes.
const NAMED_SHELLS: usize = 4;
/// Lines of a file of planes whose problems are shown.
const MOST_PROBLEMS: usize = 10;
const NOT_IN_FILE: &str = "not in the file of planes";
const NOT_CHOSEN: &str = "in a shell that is not chosen";

/// What the file says about one satellite.
struct Assigned {
    shell: String,
    plane: u32,
    /// `None` in a file without slots.
    slot: Option<u32>,
}

/// For each satellite of a file of planes, by its index, its line and what it says.
type Rows = BTreeMap<usize, (usize, Assigned)>;

/// The grid that satellites from elements shall have, if any.
fn wanted(file: &ConstellationFile, preset_has_links: bool) -> Option<GridFile> {
    let layout = file.isl.as_ref().and_then(|isl| isl.layout.as_ref());
    match layout {
        None if file.isl.is_some() || preset_has_links => Some(GridFile::default()),
        Some(LayoutFile::Named(LayoutName::Grid)) => Some(GridFile::default()),
        Some(LayoutFile::Options(LayoutOptions::Grid(grid))) => Some(grid.clone()),
        _ => None,
    }
}

impl Resolver<'_, '_, '_> {
    /// The planes of `satellites`, of which those remain that are in one; `None` without a grid or with problems.
    pub(super) fn planes(
        &mut self,
        file: &ConstellationFile,
        preset_has_links: bool,
        satellites: &mut Vec<Satellite>,
        place: &str,
        path: &Path,
    ) -> Option<ElementPlanes> {
        let grid = wanted(file, preset_has_links)?;
        let path = path.key("isl").key("layout");
        let total = satellites.len();
        let (mut text, mut by_slot) = (None, false);
        let (shells, left_out) = match &grid.planes {
            Some(given) => {
                let path = path.key("grid").key("planes");
                let content = self.content(given, &path)?;
                let shells;
                (shells, by_slot) = self.assigned(&content, satellites, &path)?;
                text = Some(content.text);
                (shells, Vec::new())
            }
            None => {
                let found = Planes::find(satellites);
                let left_out = found.left_out.into_iter().map(|(n, reason)| (n, (reason.kind(), reason.to_string())));
                (found.shells, left_out.collect())
            }
        };
        let mut reasons: BTreeMap<usize, (&'static str, String)> = left_out.into_iter().collect();
        if shells.is_empty() {
            let counts = counts(reasons.values().map(|(kind, _)| *kind));
            let help = "give layout = { grid = { planes = \"planes.csv\" } } (satellite,plane), layout = { nearest = \
                        { links = 4 } } with a longest link, or a list";
            let message = format!("no planes can be found among the {total} satellites of {place}: {counts}");
            self.add(&path, message, Some(help.to_owned()));
            return None;
        }
        let names: Vec<String> = shells.iter().map(|shell| shell.name.clone()).collect();
        let chosen = self.chosen(grid.shells.as_deref(), &names, &path.key("grid").key("shells"))?;
        let mut kept: Vec<FoundShell> = shells.into_iter().filter(|shell| chosen.contains(&shell.name)).collect();
        let mut place_of: BTreeMap<usize, (u32, u32, u32)> = BTreeMap::new();
        for (s, shell) in (0..).zip(&kept) {
            for (p, plane) in (0..).zip(&shell.planes) {
                place_of.extend((0..).zip(&plane.members).map(|(slot, &n)| (n, (s, p, slot))));
            }
        }
        // Given slots remain what the file says: neighbours are told by them.
        let all = std::mem::take(satellites);
        let (mut shell_of, mut left_out, mut renumbered) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (n, mut satellite) in all.into_iter().enumerate() {
            let Some(&(shell, plane, slot)) = place_of.get(&n) else {
                let usual = if grid.planes.is_some() { NOT_IN_FILE } else { NOT_CHOSEN };
                let (reason, detail) = reasons.remove(&n).unwrap_or((usual, usual.to_owned()));
                let catalogue_number = number(&satellite);
                left_out.push(OutOfPlanes { name: satellite.name, catalogue_number, reason, detail });
                continue;
            };
            if grid.planes.is_none() {
                (satellite.plane, satellite.slot) = (plane, slot);
            }
            renumbered.insert(n, satellites.len());
            shell_of.push(shell);
            satellites.push(satellite);
        }
        for plane in kept.iter_mut().flat_map(|shell| &mut shell.planes) {
            plane.members.iter_mut().for_each(|n| *n = renumbered[n]);
        }
        let planes = ElementPlanes { shells: kept, shell_of, left_out, given: text, by_slot };
        self.warnings.push(format!("{place}: {}", told(&planes, total)));
        if let Some(duration) = self.duration {
            let every = grid.pairs_every();
            if let Some(said) = drifting(&planes, every, duration) {
                self.warnings.push(format!("{place}: {said}"));
            }
            if let Some(said) = grid.pair_every.and_then(|_| without_effect(&planes, every?, duration)) {
                self.warnings.push(format!("{}: {said}", path.key("grid").key("pair_every")));
            }
        }
        Some(planes)
    }

    fn chosen(&mut self, wanted: Option<&[String]>, names: &[String], path: &Path) -> Option<BTreeSet<String>> {
        let Some(wanted) = wanted else { return Some(names.iter().cloned().collect()) };
        let mut sound = !wanted.is_empty();
        if wanted.is_empty() {
            self.add(path, "names no shell", Some(there_are(names.iter().map(String::as_str))));
        }
        for (i, name) in wanted.iter().enumerate().filter(|(_, name)| !names.contains(name)) {
            let help = Some(there_are(names.iter().map(String::as_str)));
            self.add(&path.index(i), format!("no shell is called {name:?}"), help);
            sound = false;
        }
        sound.then(|| wanted.iter().cloned().collect())
    }

    /// The shells of a file of planes, and whether it says slots; each satellite gets its plane and slot.
    fn assigned(
        &mut self,
        content: &Content,
        satellites: &mut [Satellite],
        path: &Path,
    ) -> Option<(Vec<FoundShell>, bool)> {
        let (rows, mut problems) = of_csv(&content.text, satellites);
        let mut slots: BTreeMap<(&str, u32, u32), usize> = BTreeMap::new();
        let by_slot = rows.values().any(|(_, row)| row.slot.is_some());
        for (&n, (line, row)) in &rows {
            // Without slots any number tells satellites apart until they are put in the order of flight.
            let slot = row.slot.unwrap_or(n as u32);
            if let Some(other) = slots.insert((&row.shell, row.plane, slot), n) {
                let [first, second] = [other, n].map(|n| &satellites[n].name);
                problems.push((*line, format!("{first:?} and {second:?} share slot {slot} of plane {}", row.plane)));
            }
        }
        problems.sort();
        let (shown, more) = problems.split_at(problems.len().min(MOST_PROBLEMS));
        for (line, problem) in shown {
            self.add(path, format!("{}, line {line}: {problem}", content.name), None);
        }
        if !more.is_empty() {
            self.add(path, format!("{}: and {} problems more", content.name, more.len()), None);
        }
        if !problems.is_empty() {
            return None;
        }
        // In the order of shell, plane and slot.
        let mut shells: Vec<FoundShell> = Vec::new();
        let mut last = None;
        for ((shell, plane, slot), n) in slots {
            let is_new = shells.last().is_none_or(|found| found.name != shell);
            if is_new {
                let (name, planes) = (shell.to_owned(), Vec::new());
                shells.push(FoundShell { name, inclination_deg: 0.0, altitude_km: 0.0, planes });
            }
            let found = shells.last_mut().expect("one was added");
            if is_new || last != Some(plane) {
                found.planes.push(FoundPlane { node_deg: 0.0, altitude_km: 0.0, members: Vec::new() });
            }
            last = Some(plane);
            found.planes.last_mut().expect("one was added").members.push(n);
            (satellites[n].plane, satellites[n].slot) = (plane, slot);
        }
        for shell in &mut shells {
            shell.measure(satellites);
            for plane in shell.planes.iter_mut().filter(|_| !by_slot) {
                let phase = |n: usize| Place::of(&satellites[n].orbit).map_or(0.0, |place| place.phase_deg);
                plane.members.sort_by(|&a, &b| phase(a).total_cmp(&phase(b)).then(a.cmp(&b)));
                (0..).zip(&plane.members).for_each(|(slot, &n)| satellites[n].slot = slot);
            }
        }
        shells.sort_by(|a, b| natural_order(&a.name, &b.name));
        Some((shells, by_slot))
    }
}

/// The rows, and the problems with their lines.
fn of_csv(text: &str, satellites: &[Satellite]) -> (Rows, Vec<(usize, String)>) {
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for (n, satellite) in satellites.iter().enumerate() {
        index.insert(number(satellite).to_string(), n);
    }
    // A name goes before a number that looks like it.
    index.extend(satellites.iter().enumerate().map(|(n, satellite)| (satellite.name.clone(), n)));
    let mut rows = BTreeMap::new();
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let needs = "a header is needed: satellite,plane and, if wanted, slot,shell";
    let Some((head_line, head)) = lines.next() else { return (rows, vec![(1, needs.to_owned())]) };
    let columns: Vec<&str> = head.trim_start_matches('\u{feff}').split(',').map(unquoted).collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let known = columns.iter().all(|column| ["satellite", "plane", "slot", "shell"].contains(column));
    let (Some(satellite), Some(plane), true) = (column("satellite"), column("plane"), known) else {
        return (rows, vec![(head_line, format!("{needs}; this is {:?}", shorten(head)))]);
    };
    let (shell, slot) = (column("shell"), column("slot"));
    let mut problems = Vec::new();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for (line, text) in lines {
        let fields: Vec<&str> = text.split(',').map(unquoted).collect();
        let row = (|| {
            if fields.len() != columns.len() {
                return Err(format!("has {} fields, the header {}", fields.len(), columns.len()));
            }
            let whole = |at: usize| {
                fields[at].parse::<u32>().map_err(|_| {
                    format!("{:?} is not a {}: use a whole number from 0", shorten(fields[at]), columns[at])
                })
            };
            let name = fields[satellite];
            let n = *index.get(name).ok_or_else(|| {
                let name = shorten(name);
                format!("no satellite of the elements that flies at the start has the name or the number {name:?}")
            })?;
            let shell = shell.map_or("given", |at| fields[at]).to_owned();
            let row = Assigned { shell, plane: whole(plane)?, slot: slot.map(whole).transpose()? };
            match seen.insert(n, line) {
                Some(first) => Err(format!("{name:?} stands in line {first} already")),
                None => Ok((n, row)),
            }
        })();
        match row {
            Ok((n, row)) => {
                rows.insert(n, (line, row));
            }
            Err(problem) => problems.push((line, problem)),
        }
    }
    if rows.is_empty() && problems.is_empty() {
        problems.push((head_line, "no satellite follows the header".to_owned()));
    }
    (rows, problems)
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

fn number(satellite: &Satellite) -> u32 {
    match satellite.orbit {
        Orbit::Elements { elements, .. } => elements.catalogue_number,
        _ => 0,
    }
}

/// "3 eccentric orbit, 2 too few others with its node", the most frequent first.
fn counts<'a>(reasons: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let each: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    each.join(", ")
}

/// The planes and the counts of those left out, in one line.
fn told(planes: &ElementPlanes, total: usize) -> String {
    let within = planes.shell_of.len();
    let count: usize = planes.shells.iter().map(|shell| shell.planes.len()).sum();
    let each = planes.shells.iter().take(NAMED_SHELLS).map(|shell| {
        let sizes = shell.planes.iter().map(|plane| plane.members.len());
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let range = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        format!("{}: {} of {range}", shell.name, shell.planes.len())
    });
    let mut shells = each.collect::<Vec<_>>().join("; ");
    if let more @ 1.. = planes.shells.len().saturating_sub(NAMED_SHELLS) {
        shells += &format!("; and {more} shells more");
    }
    let verb = if planes.given.is_some() { "are given" } else { "are found" };
    let mut text = format!("{within} of {total} satellites {verb} in {count} planes ({shells})");
    if !planes.left_out.is_empty() {
        let reasons = counts(planes.left_out.iter().map(|one| one.reason));
        text += &format!("; {} are left out: {reasons}. `skyhop planes` lists them", planes.left_out.len());
    }
    text
}

/// The warning where neighbouring planes of different altitudes drift apart by more than a quarter of their spacing
/// before they are paired again, or within a run without that. Links then lead to satellites that are not nearest in
/// phase.
fn drifting(planes: &ElementPlanes, every: Option<Duration>, duration: Duration) -> Option<String> {
    let every = every.filter(|_| !planes.by_slot);
    let pairs = planes.shells.iter().flat_map(|shell| shell.planes.windows(2).map(move |pair| (shell, pair)));
    let soonest = pairs.filter_map(|(shell, pair)| {
        let radius_km = Earth::WGS84.radius_km + shell.altitude_km;
        let degrees_per_s = 360.0 / Earth::WGS84.period_s(radius_km);
        // The angular rate goes with the radius to the power of -3/2.
        let rate = 1.5 * (pair[0].altitude_km - pair[1].altitude_km).abs() / radius_km * degrees_per_s;
        let spacing = 360.0 / pair.iter().map(|plane| plane.members.len()).max()? as f64;
        Some((spacing / 4.0 / rate, rate, shell))
    });
    let (after_s, rate, shell) = soonest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let fixed = every.map_or(duration, |every| every.min(duration));
    if after_s >= fixed.as_secs_f64() {
        return None;
    }
    let apart = format!(
        "neighbouring planes of the shell {} drift apart by up to {:.1} degrees of phase a day",
        shell.name,
        rate * 86_400.0
    );
    let hours = after_s / 3600.0;
    Some(match every {
        Some(every) => format!(
            "{apart}, and satellites are paired again only every {every}: after {hours:.1} h some links lead to \
             satellites that are not nearest in phase; write a shorter pair_every"
        ),
        None => format!(
            "{apart}, and links between them stay those of the start: from {hours:.1} h on some lead to satellites \
             that are not nearest in phase; {}",
            match planes.by_slot {
                true => format!("divide the run of {duration} into shorter ones with an epoch each"),
                false => "leave out pair_every, and they follow".to_owned(),
            }
        ),
    })
}

/// The warning where a `pair_every` that was written does not do what it says.
fn without_effect(planes: &ElementPlanes, every: Duration, duration: Duration) -> Option<String> {
    if planes.by_slot {
        let text = "concerns the last plane and the first of a shell only: the file of planes says slots, and others \
                    meet by slot";
        return Some(text.to_owned());
    }
    (every > duration).then(|| format!("has no effect: {every} is longer than the run of {duration}"))
}

/// The layout as the canonical form has it, which needs no other file; `"grid"` where nothing is chosen.
pub(super) fn canonical(grid: GridFile, planes: Option<&ElementPlanes>) -> LayoutFile {
    let text = planes.and_then(|planes| planes.given.clone());
    let planes = text.map(|text| ContentFile::Inline(InlineFile { text }));
    let mut shells = grid.shells;
    if let Some(names) = &mut shells {
        names.sort_by(|a, b| natural_order(a, b));
        names.dedup();
    }
    let pair_every = grid.pair_every.filter(|every| *every != GridFile::PAIR_EVERY);
    let unpaired = grid.unpaired.filter(|unpaired| *unpaired != UnpairedName::Open);
    let terminals = grid.terminals.filter(|terminals| *terminals != GridFile::TERMINALS);
    let canonical = GridFile { planes, shells, pair_every, unpaired, terminals };
    match canonical == GridFile::default() {
        true => LayoutFile::Named(LayoutName::Grid),
        false => LayoutFile::Options(LayoutOptions::Grid(canonical)),
    }
}
