//! Workloads of web pages.

use super::Resolver;
use crate::format::{
    LognormalCount, ObjectCountFile, ObjectCountOptions, PageContentFile, PageName, PageObjectsFile, PagesFile,
    WebProtocolFile, WebProtocolName, WebProtocolOptions, WorkloadFile,
};
use crate::tree::Path;
use skyhop_base::Duration;
use skyhop_sim::applications::REQUEST;
use skyhop_sim::distribution::Distribution;
use skyhop_sim::pages::{Namer, ObjectGroup, PagesConfig, median_2024};

/// Connections to a server that browsers open under HTTP/1.1: six, as all of them have since 2008 (S. Souders, "Roundup
/// on parallel connections", 2008).
const PARALLEL: u32 = 6;

/// Views of a visit at most.
const MOST_VIEWS: u32 = 1_000_000;

/// The largest share of late objects: some must be there to name them.
const LARGEST_LATE: f64 = 0.99;

fn protocol(file: WebProtocolFile) -> WebProtocolOptions {
    match file {
        WebProtocolFile::Named(WebProtocolName::Http1) => {
            WebProtocolOptions { connections: PARALLEL, multiplexed: false }
        }
        WebProtocolFile::Named(WebProtocolName::Http2 | WebProtocolName::Http3) => {
            WebProtocolOptions { connections: 1, multiplexed: true }
        }
        WebProtocolFile::Options(options) => options,
    }
}

impl Resolver<'_, '_, '_> {
    /// The pages of a workload with their defaults, and what the engine makes of them.
    pub(super) fn pages(
        &mut self,
        file: PagesFile,
        workload: &WorkloadFile,
        path: &Path,
    ) -> Option<(PagesFile, PagesConfig)> {
        let at = path.key("pages");
        let before = self.problems.count();
        for (key, is_there) in [("sizes", workload.sizes.is_some()), ("connections", workload.connections.is_some())] {
            if is_there {
                self.add(&path.key(key), "excludes \"pages\", which has its own", Some("keep one of them".to_owned()));
            }
        }
        let content = file.content.unwrap_or(PageContentFile::Named(PageName::Median2024));
        let (content, document, groups) = match content {
            PageContentFile::Named(PageName::Median2024) => {
                let (document, groups) = median_2024();
                (content, document, groups)
            }
            PageContentFile::Objects(objects) => {
                let (objects, document, groups) = self.page_objects(*objects, &at.key("content"))?;
                (PageContentFile::Objects(Box::new(objects)), document, groups)
            }
        };
        let is_quic = workload.quic.is_some();
        let default = if is_quic { WebProtocolName::Http3 } else { WebProtocolName::Http2 };
        let protocol_file = file.protocol.unwrap_or(WebProtocolFile::Named(default));
        let refused = match protocol_file {
            WebProtocolFile::Named(WebProtocolName::Http3) if !is_quic => {
                Some(("\"http/3\" needs QUIC", "write quic = \"quinn\" in place of tcp, or protocol = \"http/2\""))
            }
            WebProtocolFile::Named(WebProtocolName::Http1 | WebProtocolName::Http2) if is_quic => {
                Some(("these versions of HTTP need TCP, and this workload has QUIC", "write protocol = \"http/3\""))
            }
            _ => None,
        };
        if let Some((message, help)) = refused {
            self.add(&at.key("protocol"), message, Some(help.to_owned()));
        }
        let WebProtocolOptions { connections, multiplexed } = protocol(protocol_file);
        let views = file.views.unwrap_or(1);
        if views > MOST_VIEWS {
            self.add(&at.key("views"), format!("is {views}; at most {MOST_VIEWS} are possible"), None);
        }
        match (views > 1, file.think) {
            (true, None) => {
                let help = "write think = \"10 s\"".to_owned();
                self.add(&at, "has several views, and no time between them", Some(help));
            }
            (false, Some(_)) => {
                let message = "has no effect: it passes between two views, and there is one";
                self.add(&at.key("think"), message, Some("give views, or leave it out".to_owned()));
            }
            _ => {}
        }
        let request = file.request.unwrap_or(REQUEST);
        self.check_packet_size(request, 1, &at.key("request"));
        if self.problems.count() > before {
            return None;
        }
        let config = PagesConfig {
            document,
            groups,
            connections,
            multiplexed,
            views,
            think: file.think.unwrap_or(Duration::ZERO),
            request_bytes: u32::try_from(request.0).unwrap_or(u32::MAX),
        };
        let file = PagesFile {
            content: Some(content),
            protocol: Some(protocol_file),
            views: Some(views),
            think: file.think,
            request: Some(request),
        };
        Some((file, config))
    }

    fn page_objects(
        &mut self,
        file: PageObjectsFile,
        path: &Path,
    ) -> Option<(PageObjectsFile, Distribution, Vec<ObjectGroup>)> {
        let document = self.sizes(file.document, &path.key("document"));
        let sizes = self.sizes(file.sizes, &path.key("sizes"));
        let late = file.late.unwrap_or(0.0);
        if !(0.0..=LARGEST_LATE).contains(&late) {
            self.add(&path.key("late"), format!("is {late}; use 0 to {LARGEST_LATE}"), None);
            return None;
        }
        let count = match &file.objects {
            ObjectCountFile::Constant(count) => Distribution::Constant(f64::from(*count)),
            ObjectCountFile::Options(ObjectCountOptions::Lognormal(LognormalCount { median, sigma })) => {
                let count = Distribution::Lognormal { median: f64::from(*median), sigma: *sigma };
                if !self.check_distribution(&count, &path.key("objects"), "0") {
                    return None;
                }
                count
            }
        };
        let ((document_file, document), (sizes_file, sizes)) = (document?, sizes?);
        let named_by = if late > 0.0 { Namer::Itself(late) } else { Namer::Document };
        let groups = vec![ObjectGroup { count, sizes, named_by }];
        let late = Some(late);
        Some((
            PageObjectsFile { document: document_file, objects: file.objects, sizes: sizes_file, late },
            document,
            groups,
        ))
    }
}
