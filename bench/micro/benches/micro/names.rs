//! Names of tools as providers accept them, and the way back.

use carrick_host::model::names::{ToolNames, ToolRef};
use criterion::Criterion;
use std::collections::HashMap;
use std::hint::black_box;

use crate::measure;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("names");
    for count in [30, 1_000] {
        let on = format!("{count} tools");
        let tool = |number: usize| ToolRef {
            server: format!("server-{}", number % 10),
            // Every fourth cannot be plain.
            tool: format!("look.up_{number}").replacen(
                '.',
                if number.is_multiple_of(4) { "." } else { "_" },
                1,
            ),
        };
        let tools: Vec<ToolRef> = (0..count).map(tool).collect();
        let names = ToolNames::new(tools.clone(), &[]);
        let wanted = &tools[count / 2];
        let exposed = names.exposed(wanted).unwrap_or_default().to_owned();
        let written = wanted.to_string();
        let map: HashMap<&str, &ToolRef> = names.iter().map(|(tool, name)| (name, tool)).collect();
        measure(&mut group, "carrick table", &on, count, || {
            ToolNames::new(black_box(&tools).iter().cloned(), &[])
        });
        measure(&mut group, "carrick to the name", &on, 1, || {
            names.exposed(black_box(wanted)).is_some()
        });
        measure(&mut group, "carrick from the name", &on, 1, || {
            names.resolve(black_box(&exposed)).is_ok()
        });
        measure(&mut group, "carrick from server/tool", &on, 1, || {
            names.resolve(black_box(&written)).is_ok()
        });
        measure(&mut group, "limit one look into a map", &on, 1, || {
            map.contains_key(black_box(&*exposed))
        });
    }
    group.finish();
}
