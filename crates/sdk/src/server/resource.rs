//! Resources that functions read.

mod contents;
mod reader;

pub use contents::Contents;
pub(super) use reader::{Family, Fixed, Listable, Reader};

use super::complete::{Completer, Completing, Completion};
use super::function::Function;
use super::template::{TemplateError, UriTemplate};
use carrick_proto::types::CacheHints;
use carrick_proto::types::{
    Annotations, Icon, Resource as Definition, ResourceTemplate as TemplateDefinition,
};
use std::future::Future;

/// A resource, or a family of them, that a function reads (`server/resources`).
#[derive(Clone)]
pub struct Resource {
    kind: Kind,
    reader: Reader,
}

/// What is listed.
#[derive(Clone)]
enum Kind {
    Fixed(Definition),
    Family(TemplateDefinition, UriTemplate),
}

impl Resource {
    /// The resource at this URI.
    pub fn new<F, M>(uri: impl Into<String>, name: impl Into<String>, function: F) -> Self
    where
        F: Function<Contents, M>,
    {
        Self::of(Kind::Fixed(Definition::new(uri, name)), function)
    }

    /// The resources whose URIs a template makes (RFC 6570, level 1), as
    /// `notes://{name}`. The function takes the variables as [`super::Texts`], with
    /// their percent-encoding undone: `..` and `/` may be in them.
    ///
    /// # Errors
    /// When the template is none of that level, or could be read two ways.
    pub fn template<F, M>(
        template: impl Into<String>,
        name: impl Into<String>,
        function: F,
    ) -> Result<Self, TemplateError>
    where
        F: Function<Contents, M>,
    {
        let template = template.into();
        let parsed = UriTemplate::parse(&template)?;
        if parsed.is_fixed() {
            return Ok(Self::new(template, name, function));
        }
        Ok(Self::of(Kind::Family(TemplateDefinition::new(template, name), parsed), function))
    }

    fn of<F: Function<Contents, M>, M>(kind: Kind, function: F) -> Self {
        Self { kind, reader: Reader::new(function) }
    }

    /// What it holds.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        let text = Some(text.into());
        match &mut self.kind {
            Kind::Fixed(definition) => definition.description = text,
            Kind::Family(definition, _) => definition.description = text,
        }
        self
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        let text = Some(text.into());
        match &mut self.kind {
            Kind::Fixed(definition) => definition.title = text,
            Kind::Family(definition, _) => definition.title = text,
        }
        self
    }

    /// Its media type, also of what its function returns without one.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        let mime_type = Some(mime_type.into());
        match &mut self.kind {
            Kind::Fixed(definition) => definition.mime_type = mime_type,
            Kind::Family(definition, _) => definition.mime_type = mime_type,
        }
        self
    }

    /// Its size in bytes; without meaning for a family.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        if let Kind::Fixed(definition) = &mut self.kind {
            definition.size = Some(bytes);
        }
        self
    }

    /// For whom it is, and how much it matters.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        match &mut self.kind {
            Kind::Fixed(definition) => definition.annotations = Some(annotations),
            Kind::Family(definition, _) => definition.annotations = Some(annotations),
        }
        self
    }

    /// A picture for it.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        match &mut self.kind {
            Kind::Fixed(definition) => definition.icons.push(icon),
            Kind::Family(definition, _) => definition.icons.push(icon),
        }
        self
    }

    /// How long clients may keep what they read.
    #[must_use]
    pub fn cache(mut self, hint: CacheHints) -> Self {
        self.reader.cache = Some(hint);
        self
    }

    /// Completes a variable of a family from these values.
    #[must_use]
    pub fn complete<T: Into<String>>(
        mut self,
        variable: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.reader.completers.insert(variable.into(), Completer::of_list(values));
        self
    }

    /// Completes a variable of a family by a function, which answers with a
    /// [`Completion`] or with a list of all values that fit.
    #[must_use]
    pub fn complete_with<F, Fut, C>(mut self, variable: impl Into<String>, function: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = C> + Send + 'static,
        C: Into<Completion> + 'static,
    {
        self.reader.completers.insert(variable.into(), Completer::of_function(function));
        self
    }

    /// Its URI, or the template of its URIs.
    pub fn uri(&self) -> &str {
        match &self.kind {
            Kind::Fixed(definition) => &definition.uri,
            Kind::Family(definition, _) => &definition.uri_template,
        }
    }

    /// As an entry of the list it belongs to.
    pub(super) fn listed(self) -> Listable {
        let reader = self.reader;
        match self.kind {
            Kind::Fixed(definition) => Listable::Fixed(Fixed { definition, reader }),
            Kind::Family(definition, template) => {
                Listable::Family(Family { definition, template, reader })
            }
        }
    }
}

/// What [`crate::resource`] implements beside a function, for
/// [`crate::resources!`].
pub trait DefinedResource {
    /// The function as a resource.
    fn resource() -> Resource;
}
