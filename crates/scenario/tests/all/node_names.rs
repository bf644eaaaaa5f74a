//! Names of nodes: each names one. The satellites of a shell have theirs from its name, their plane and their slot.

use skyhop_scenario::Scenario;

/// The problems of a scenario with these tables; empty if there are none.
fn wrong(shells: &[&str], satellites: &str, tables: &str) -> String {
    let orbit = "altitude = \"550 km\", inclination = \"53 deg\", planes = 3, per_plane = 4";
    let shells: Vec<String> = shells.iter().map(|name| format!("{{ name = \"{name}\", {orbit} }}")).collect();
    let text = format!(
        "duration = \"1 s\"\n[constellation]\nshells = [{}]\n{satellites}gsl = {{ rate = \"10 Mbit/s\" }}\n\
         isl = {{ rate = \"10 Mbit/s\" }}\n[stations.home]\ncity = \"Palermo\"\n{tables}",
        shells.join(", ")
    );
    Scenario::from_toml(&text, "n.toml", &[]).map_or_else(|problems| problems.to_string(), |_| String::new())
}

/// A wire from the station to a node.
fn wire(to: &str) -> String {
    format!("[[links]]\nbetween = [\"home\", \"{to}\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n")
}

#[test]
fn a_shell_has_the_satellites_of_its_planes_and_no_others() {
    for satellite in ["a-0-0", "a-2-3"] {
        let problem = format!("a wired link cannot end at the satellite {satellite:?}");
        let found = wrong(&["a"], "", &wire(satellite));
        assert!(found.contains(&problem), "{satellite}: {found}");
    }
    // These name new nodes of wires.
    for other in ["a-3-0", "a-0-4", "a-00-1", "a-0-01", "a-0", "a-0-0-0", "b-0-0", "a--1", "a-1-", "a-0-99999999999"] {
        assert_eq!(wrong(&["a"], "", &wire(other)), "", "{other}");
    }
}

#[test]
fn no_two_nodes_have_one_name() {
    let taken = |found: &str, name: &str, by: &str| {
        assert_eq!(found.matches(" is taken by ").count(), 1, "{found}");
        assert!(found.contains(&format!("the name {name:?} is taken by the {by}")), "{found}");
    };
    taken(&wrong(&["a", "b", "a"], "", ""), "a-0-0", "satellite at constellation.shells[0]");
    let station = "[stations.a-1-2]\ncity = \"Oslo\"\n";
    taken(&wrong(&["a"], "", station), "a-1-2", "station at stations.a-1-2");
    let listed = "satellites = [{ name = \"a-2-3\", geostationary = \"5 deg\" }]\n";
    taken(&wrong(&["a"], listed, ""), "a-2-3", "satellite at constellation.shells[0]");
    // Alike, but beyond the shell.
    assert_eq!(wrong(&["a", "a-1"], &listed.replace("a-2-3", "a-3-3"), &station.replace("a-1-2", "a-1-02")), "");
}

#[test]
fn satellites_have_names_of_a_bounded_length() {
    let longest = "x".repeat(60);
    assert_eq!(wrong(&[&longest], "", ""), "");
    let found = wrong(&[&"x".repeat(61)], "", "");
    assert_eq!(found.matches("a name has at most 64 characters").count(), 1, "{found}");
}
