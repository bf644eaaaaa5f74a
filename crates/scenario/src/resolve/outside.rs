//! Controls whose code is outside of the project: their source becomes part of the scenario.

use super::Resolver;
use crate::files::Files;
use crate::format::ContentFile;
use crate::tree::Path;
use skyhop_cc::{ControlConfig, outside};

impl Resolver<'_, '_, '_> {
    /// Reads the source of a control in Python, so that the scenario's hash covers it. `None` if there is a problem.
    pub(super) fn read_source(&mut self, control: &mut ControlConfig, tcp: &Path) -> Option<()> {
        let ControlConfig::Python(python) = control else { return Some(()) };
        let path = tcp.key("control").key("python");
        let Some(file) = python.file() else {
            let message = format!("{:?} names no class of a module", python.class);
            let help =
                "write \"module:Class\", such as \"mycontrol:MyControl\" for the class MyControl in mycontrol.py";
            self.add(&path, message, Some(help.to_owned()));
            return None;
        };
        // Code can do all that the program can: from whoever may not read every file, only that of files which are
        // named to them one by one, not of folders that may hold data.
        let place = match self.shelf.files {
            Files::Any => Some(file),
            Files::Only(_) if !python.source.is_empty() => None,
            Files::Only(files) => {
                let named = files.iter().find(|one| one.ends_with(&file) && one.is_file());
                named.and_then(|one| one.to_str()).map(str::to_owned)
            }
        };
        let Some(place) = place else {
            let help = "run it with the program skyhop, or start the page with skyhop serve --python-controls";
            let message = "this scenario may not run code of its own, and a control in Python is code";
            self.add(&path, message, Some(help.to_owned()));
            return None;
        };
        if !outside::runs_python() {
            let help = "use the program skyhop or the Python package".to_owned();
            self.add(&path, "a control in Python needs a process that runs Python", Some(help));
            return None;
        }
        if python.source.is_empty() {
            let content = self.content(&ContentFile::Path(place), &path)?;
            python.source = content.text;
        }
        Some(())
    }
}
