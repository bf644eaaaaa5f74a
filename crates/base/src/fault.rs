//! Faults in the parameters of a component, each at its parameter. A component checks itself and knows no file; whoever
//! read the parameters knows at which line and column each of them stands.

use std::fmt::Display;

/// A step from the parameters of a component to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Key(&'static str),
    Index(usize),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, from the component's own table on; nothing for the component as a whole.
    pub at: Vec<Step>,
    /// The fault, for example "must be more than 0 s".
    pub message: String,
    /// The way to do it right.
    pub help: Option<String>,
}

/// Everything that is wrong with a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// The component as a whole.
    pub fn here(&mut self) -> FaultPlace<'_> {
        FaultPlace { faults: self, at: Vec::new() }
    }

    /// One of its parameters.
    pub fn key(&mut self, key: &'static str) -> FaultPlace<'_> {
        self.here().key(key)
    }
}

/// A parameter that may be wrong.
#[derive(Debug)]
pub struct FaultPlace<'f> {
    faults: &'f mut Faults,
    at: Vec<Step>,
}

impl FaultPlace<'_> {
    /// A key of the table at this place.
    #[must_use]
    pub fn key(mut self, key: &'static str) -> Self {
        self.at.push(Step::Key(key));
        self
    }

    /// An entry of the list at this place, counted from 0.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.at.push(Step::Index(index));
        self
    }

    /// Says what is wrong here.
    pub fn add(self, message: impl Display) {
        self.faults.0.push(Fault { at: self.at, message: message.to_string(), help: None });
    }

    /// Says what is wrong here, and what would be right.
    pub fn add_with_help(self, message: impl Display, help: impl Display) {
        let help = Some(help.to_string());
        self.faults.0.push(Fault { at: self.at, message: message.to_string(), help });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_stands_at_its_parameter() {
        let mut faults = Faults::default();
        faults.here().add("names nothing");
        faults.key("during").index(2).add_with_help("ends before it begins", "write the earlier time first");
        let at: Vec<&[Step]> = faults.0.iter().map(|fault| fault.at.as_slice()).collect();
        assert_eq!(at, [&[][..], &[Step::Key("during"), Step::Index(2)]]);
        assert_eq!(faults.0[1].help.as_deref(), Some("write the earlier time first"));
    }
}
