//! The orbital planes of a scenario, and which of their satellites its grid leaves without a partner.

use crate::Error;
use crate::sky::epoch;
use serde_json::{Value, json};
use skyhop_base::Index;
use skyhop_orbit::{Orbit, Place};
use skyhop_scenario::Scenario;
use skyhop_topology::{NeighbourPlanes, NodeId, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// A shell as the scenario describes it.
struct Shell {
    name: String,
    inclination_deg: f64,
    altitude_km: f64,
    planes: Vec<Plane>,
}

struct Plane {
    number: u32,
    node_deg: f64,
    altitude_km: f64,
    /// Names in the order of flight.
    satellites: Vec<String>,
}

/// The orbital planes of the constellation at the start, and which satellites from elements are in none:
///
/// ```text
/// {"utc", "shells": [{"name", "inclination_deg", "altitude_km", "planes": [{"plane", "node_deg", "altitude_km",
/// "satellites", "count", "phases_deg", "spacing_deg": {"min", "median", "max"}, "next": {"plane", "links",
/// "unpaired"}, "previous"}], "unpaired": {"next": {"count", "satellites"}, "previous"}}],
/// "left_out": [{"satellite", "catalogue_number", "reason", "detail"}]}
/// ```
///
/// Satellites stand in the order of flight. `phases_deg` has the argument of latitude of each at the start, from
/// elements with an inclination below 0.1° or above 179.9° its right ascension. `spacing_deg` has the gaps from each
/// satellite to the next one ahead; the median of an even number is the lower of the two in the middle.
///
/// `next` describes the plane that follows by number, after the last the first, and `previous` the one before:
/// `links` counts the links of the run's +Grid to it, also those that an obstacle keeps down, and `unpaired` the
/// satellites of this plane without such a link. Either is null where that plane is not a neighbour, as at a seam, and
/// with another layout than a grid. The shell's `unpaired` adds up those of its planes and names the satellites.
/// Elements have planes only where their links are a grid.
///
/// # Errors
/// [`Error::Simulation`].
pub fn planes_of(scenario: &Scenario) -> Result<Value, Error> {
    let topology = scenario.topology(1).map_err(skyhop_sim::SimulationError::from)?;
    let nodes = topology.nodes();
    let id: BTreeMap<&str, NodeId> =
        nodes.iter().enumerate().map(|(n, node)| (node.name.as_str(), NodeId::from_usize(n))).collect();
    let shells: Vec<Value> = shells(scenario).iter().map(|shell| described(shell, &topology, &id)).collect();
    let elements = scenario.constellation.as_ref().and_then(|sky| sky.elements.as_ref());
    let left_out = elements.and_then(|elements| elements.planes.as_ref()).map_or(&[][..], |planes| &planes.left_out);
    let left_out = left_out.iter().map(|one| {
        json!({
            "satellite": one.name,
            "catalogue_number": one.catalogue_number,
            "reason": one.reason,
            "detail": one.detail,
        })
    });
    Ok(json!({
        "utc": epoch(scenario).map(|start| start.to_string()),
        "shells": shells,
        "left_out": left_out.collect::<Vec<_>>(),
    }))
}

fn shells(scenario: &Scenario) -> Vec<Shell> {
    let Some(sky) = &scenario.constellation else { return Vec::new() };
    let walkers = sky.shells.iter().map(|shell| Shell {
        name: shell.name.clone(),
        inclination_deg: shell.inclination.degrees(),
        altitude_km: shell.altitude.km(),
        planes: (0..shell.planes)
            .map(|number| Plane {
                number,
                node_deg: (f64::from(number) * shell.raan_spacing.degrees()).rem_euclid(360.0),
                altitude_km: shell.altitude.km(),
                satellites: (0..shell.per_plane).map(|slot| format!("{}-{number}-{slot}", shell.name)).collect(),
            })
            .collect(),
    });
    let elements = sky.elements.iter().filter_map(|elements| Some((elements, elements.planes.as_ref()?)));
    let found = elements.flat_map(|(elements, planes)| {
        planes.shells.iter().map(|shell| Shell {
            name: shell.name.clone(),
            inclination_deg: shell.inclination_deg,
            altitude_km: shell.altitude_km,
            planes: shell
                .planes
                .iter()
                .map(|plane| Plane {
                    number: plane.members.first().map_or(0, |&n| elements.satellites[n].plane),
                    node_deg: plane.node_deg,
                    altitude_km: plane.altitude_km,
                    satellites: plane.members.iter().map(|&n| elements.satellites[n].name.clone()).collect(),
                })
                .collect(),
        })
    });
    walkers.chain(found).collect()
}

fn described(shell: &Shell, topology: &Topology, id: &BTreeMap<&str, NodeId>) -> Value {
    let members = |plane: &Plane| -> Vec<NodeId> {
        plane.satellites.iter().filter_map(|name| id.get(name.as_str()).copied()).collect()
    };
    let number: BTreeMap<NodeId, u32> =
        shell.planes.iter().flat_map(|plane| members(plane).into_iter().map(|node| (node, plane.number))).collect();
    // Each plane has no more than one neighbour on each side.
    let (mut next, mut previous) = (BTreeMap::new(), BTreeMap::new());
    for gap in topology.neighbour_planes() {
        let ends = [&gap.here, &gap.there].map(|plane| number.get(plane.first()?).copied());
        if let [Some(here), Some(there)] = ends {
            next.insert(here, (there, gap));
            previous.insert(there, (here, gap));
        }
    }
    let unpaired = |side: &BTreeMap<u32, (u32, &NeighbourPlanes)>, plane: &Plane| {
        let gap = side.get(&plane.number).map(|(_, gap)| *gap)?;
        let paired: BTreeSet<NodeId> = gap.pairs.iter().chain(&gap.second).flatten().copied().collect();
        Some(members(plane).into_iter().filter(|node| !paired.contains(node)).collect::<Vec<NodeId>>())
    };
    let neighbour = |side: &BTreeMap<u32, (u32, &NeighbourPlanes)>, plane: &Plane| {
        let (other, gap) = side.get(&plane.number)?;
        let unpaired = unpaired(side, plane)?.len();
        Some(json!({ "plane": other, "links": gap.pairs.len() + gap.second.len(), "unpaired": unpaired }))
    };
    let planes = shell.planes.iter().map(|plane| {
        let phases: Vec<Option<f64>> = members(plane).into_iter().map(|node| phase_deg(topology, node)).collect();
        json!({
            "plane": plane.number,
            "node_deg": plane.node_deg,
            "altitude_km": plane.altitude_km,
            "satellites": plane.satellites,
            "count": plane.satellites.len(),
            "phases_deg": phases,
            "spacing_deg": spacing(phases.iter().flatten().copied().collect()),
            "next": neighbour(&next, plane),
            "previous": neighbour(&previous, plane),
        })
    });
    let alone = |side: &BTreeMap<u32, (u32, &NeighbourPlanes)>| {
        let nodes = shell.planes.iter().filter_map(|plane| unpaired(side, plane)).flatten();
        let names: Vec<&str> = nodes.map(|node| topology.nodes()[node].name.as_str()).collect();
        json!({ "count": names.len(), "satellites": names })
    };
    json!({
        "name": shell.name,
        "inclination_deg": shell.inclination_deg,
        "altitude_km": shell.altitude_km,
        "planes": planes.collect::<Vec<_>>(),
        "unpaired": { "next": alone(&next), "previous": alone(&previous) },
    })
}

/// The argument of latitude at the start, 0 to 360°; `None` for an orbit without one.
fn phase_deg(topology: &Topology, node: NodeId) -> Option<f64> {
    let NodeKind::Satellite { orbit, .. } = topology.nodes()[node].kind else { return None };
    match orbit {
        Orbit::Circular(circle) => Some(circle.argument_of_latitude.degrees().rem_euclid(360.0)),
        _ => Some(Place::of(&orbit)?.phase_deg),
    }
}

/// The gaps between neighbours in phase, all around the plane; null without satellites.
fn spacing(mut phases: Vec<f64>) -> Value {
    phases.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (phases.first(), phases.last()) else { return Value::Null };
    let mut gaps: Vec<f64> = phases.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.push(first + 360.0 - last);
    gaps.sort_by(f64::total_cmp);
    json!({ "min": gaps[0], "median": gaps[(gaps.len() - 1) / 2], "max": gaps[gaps.len() - 1] })
}

/// The planes that were found in elements, for the manifest of a run: satellites by name, plane by plane. The planes of
/// other shells follow from the names of their satellites.
pub(crate) fn element_planes(scenario: &Scenario) -> Option<Value> {
    let elements = scenario.constellation.as_ref()?.elements.as_ref()?;
    let shells = elements.planes.as_ref()?.shells.iter().map(|shell| {
        let names = |plane: &skyhop_orbit::FoundPlane| -> Vec<&str> {
            plane.members.iter().map(|&n| elements.satellites[n].name.as_str()).collect()
        };
        json!({ "name": shell.name, "planes": shell.planes.iter().map(names).collect::<Vec<_>>() })
    });
    Some(shells.collect::<Vec<_>>().into())
}
