//! What a person must see before a config file may run anything.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::config::{
    ConfigFile, ContentHash, LaunchTemplate, Limits, ModelTemplate, RuleTemplate, SessionUse, Text,
    hex, variables,
};
use carrick_policy::quoted;

/// Variables whose value decides which code runs, whatever the command is.
const CODE_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "GIT_SSH_COMMAND",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "ZDOTDIR",
];
const CODE_PREFIXES: &[&str] = &["LD_", "DYLD_", "NPM_CONFIG_", "npm_config_", "UV_", "PIP_"];

/// What a config file would run and change: every line that a person must see
/// before approving it.
///
/// Shown as written, before variables are filled in: `${TOKEN}` shows as that,
/// and each line says which variables it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    lines: Vec<ReviewLine>,
}

/// One line of a [`Review`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewLine {
    text: String,
    secret: Option<String>,
}

impl Review {
    /// Describes a file.
    pub fn of(file: &ConfigFile) -> Self {
        let mut review = Self { lines: Vec::new() };
        for entry in file.servers() {
            let name = quoted(&entry.name);
            match &entry.template {
                Err(error) => {
                    review.line(format!("server {name}: does not start: {}", error.fault()));
                }
                Ok(template) => {
                    let disabled = if template.disabled { " (disabled)" } else { "" };
                    review.launch(&format!("server {name}{disabled}"), &template.launch);
                    if template.session == SessionUse::Shared {
                        let what = "calls without a session share one, and what it remembers";
                        review.line(format!("server {name}: {what}"));
                    }
                }
            }
        }
        let settings = file.settings();
        if let Some(model) = &settings.model {
            review.line(format!("model: {}", quoted(model)));
        }
        settings.models.iter().for_each(|model| review.model(model));
        settings.rules.iter().for_each(|rule| review.rule(rule));
        review.limits(&settings.limits);
        if let Some(roots) = &settings.roots {
            let shown: Vec<String> = roots.iter().map(|root| quoted(root)).collect();
            review.line(format!("roots: tells servers of [{}]", shown.join(", ")));
        }
        review
    }

    /// The lines: servers in the order of the file, then settings.
    pub fn lines(&self) -> &[ReviewLine] {
        &self.lines
    }

    /// A digest of what would run: of all lines, in order. Values of variables
    /// and headers are not in it; the hash of the file covers those.
    pub fn digest(&self) -> ContentHash {
        let lines: Vec<&str> = self.lines.iter().map(ReviewLine::text).collect();
        ContentHash::of(lines.join("\n").as_bytes())
    }

    fn launch(&mut self, server: &str, launch: &LaunchTemplate) {
        match launch {
            LaunchTemplate::Child { command, args, env, cwd } => {
                let words = std::iter::once(command).chain(args);
                let shown: Vec<_> = words.clone().map(|word| quoted(&word.raw)).collect();
                let reads = reads(words);
                self.line(format!("{server}: runs {}{reads}", shown.join(" ")));
                if let Some(cwd) = cwd {
                    let (folder, reads) = (quoted(&cwd.raw), self::reads([cwd]));
                    self.line(format!("{server}: in the folder {folder}{reads}"));
                }
                for (name, value) in env {
                    self.variable(server, name, value);
                }
            }
            LaunchTemplate::Http { url, headers, .. } => {
                self.line(format!("{server}: connects to {}{}", quoted(&url.raw), reads([url])));
                for (name, value) in headers {
                    self.secret(format!("{server}: sends header {}", quoted(name)), value);
                }
            }
            LaunchTemplate::Builtin { name, args } => {
                let shown: String =
                    args.iter().map(|arg| format!(" {}", quoted(&arg.raw))).collect();
                let (name, reads) = (quoted(name), reads(args));
                self.line(format!("{server}: the built-in server {name}{shown}{reads}"));
            }
            LaunchTemplate::Later { kind } => {
                let kind = quoted(&kind.raw);
                self.line(format!("{server}: type {kind}, which does not start in this version"));
            }
        }
    }

    fn variable(&mut self, server: &str, name: &str, value: &Text) {
        let text = format!("{server}: sets {}", quoted(name));
        let runs_code = CODE_VARIABLES.contains(&name)
            || CODE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if runs_code {
            let (value_shown, reads) = (quoted(&value.raw), reads([value]));
            let text = format!("{text} to {value_shown}, which can decide what code runs{reads}");
            self.line(text);
        } else {
            self.secret(text, value);
        }
    }

    fn model(&mut self, model: &ModelTemplate) {
        let name = quoted(&model.name);
        let provider = &model.provider;
        if let Some(url) = &model.base_url {
            let (shown, reads) = (quoted(&url.raw), reads([url]));
            self.line(format!("models {name} ({provider}): sends conversations to {shown}{reads}"));
        }
        if let Some(key) = &model.api_key {
            self.secret(format!("models {name} ({provider}): sends its key"), key);
        }
    }

    fn rule(&mut self, rule: &RuleTemplate) {
        self.line(format!("permissions: {} {}", rule.effect, quoted(&rule.pattern.to_string())));
    }

    fn limits(&mut self, limits: &Limits) {
        let counts = [
            ("rounds", limits.rounds),
            ("calls", limits.calls),
            ("tokens", limits.tokens),
            ("messageBytes", limits.message_bytes),
        ];
        let times = [
            ("turnTimeout", limits.turn_timeout),
            ("connectTimeout", limits.connect_timeout),
            ("startupWait", limits.startup_wait),
            ("requestTimeout", limits.request_timeout),
            ("maxRequestTimeout", limits.max_request_timeout),
        ];
        for (name, count) in counts {
            count.into_iter().for_each(|count| self.line(format!("limits: {name} {count}")));
        }
        for (name, time) in times {
            let millis = time.map(|time| time.as_millis());
            millis.into_iter().for_each(|time| self.line(format!("limits: {name} {time} ms")));
        }
    }

    fn line(&mut self, text: String) {
        self.lines.push(ReviewLine { text, secret: None });
    }

    fn secret(&mut self, text: String, value: &Text) {
        let text = format!("{text}{}", reads([value]));
        self.lines.push(ReviewLine { text, secret: Some(value.raw.clone()) });
    }
}

impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{}", line.text))
    }
}

impl ReviewLine {
    /// The line, safe to print: hidden characters are written out.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the line stands for a value that is not shown.
    pub fn hides_value(&self) -> bool {
        self.secret.is_some()
    }

    /// A digest of the hidden value that tells a change of it and nothing else.
    pub(super) fn fingerprint(&self, salt: &[u8]) -> Option<String> {
        let secret = self.secret.as_ref()?;
        let mut hash = Sha256::new();
        hash.update(salt);
        hash.update(self.text.as_bytes());
        hash.update([0]);
        hash.update(secret.as_bytes());
        Some(hex(&hash.finalize()))
    }
}

/// `, reads A, B`: the variables of the environment that reach the server.
fn reads<'a>(texts: impl IntoIterator<Item = &'a Text>) -> String {
    let mut names: Vec<&str> = texts.into_iter().flat_map(|text| variables(&text.raw)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { String::new() } else { format!(", reads {}", names.join(", ")) }
}
