//! `plot CSV SVG TITLE UNIT`: the columns of a table over its first, with logarithms on both
//! sides.

use std::error::Error;
use std::{env, fs};

use plotters::prelude::*;

mod table;

use table::{Column, Table};

/// In points of the picture.
const SIZE: (u32, u32) = (720, 440);
/// The colours of the columns, in turn; they can be told apart without seeing red and green.
const COLOURS: [RGBColor; 6] = [
    RGBColor(120, 120, 120),
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(230, 159, 0),
    RGBColor(0, 130, 110),
    RGBColor(170, 80, 160),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [csv, svg, title, unit] = &arguments[..] else {
        return Err("usage: plot CSV SVG TITLE UNIT".into());
    };
    let table = Table::parse(&fs::read_to_string(csv)?)?;
    let mut picture = String::new();
    draw(&table, title, unit, &mut picture)?;
    fs::write(svg, picture)?;
    Ok(())
}

fn draw(table: &Table, title: &str, unit: &str, out: &mut String) -> Result<(), Box<dyn Error>> {
    const FONT: &str = "sans-serif";
    let area = SVGBackend::with_string(out, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (x, y) = table.ranges().ok_or("the table has no values")?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, (FONT, 24))
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(78)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(table.over.as_str())
        .y_desc(unit)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .label_style((FONT, 16))
        .light_line_style(BLACK.mix(0.04))
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    for (Column { name, points }, colour) in table.columns.iter().zip(COLOURS.iter().cycle()) {
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(name)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        let dots = points.iter().map(|point| Circle::new(*point, 3, colour.filled()));
        chart.draw_series(dots)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .label_font((FONT, 17))
        .draw()?;
    area.present()?;
    Ok(())
}

/// A number on an axis: `10 k` for 10,000.
fn short(value: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let step = STEPS.into_iter().find(|(step, _)| value >= *step);
    let (step, name) = step.unwrap_or((1.0, ""));
    // As many digits as it takes, and none for what only calculation made.
    let digits = format!("{:.3}", value / step);
    format!("{}{name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_axes_are_short() {
        let numbers = [0.25, 1.0, 100.0, 1500.0, 1e4, 2e6].map(short);
        assert_eq!(numbers, ["0.25", "1", "100", "1.5 k", "10 k", "2 M"]);
    }

    #[test]
    fn a_picture_has_a_line_and_a_name_for_each_column() {
        let table = Table::parse("tools,bare,ours\n1,2,3\n10,4,9\n").unwrap();
        let mut picture = String::new();
        draw(&table, "Many tools", "cpu µs", &mut picture).unwrap();
        for word in ["<svg", "Many tools", "cpu µs", "bare", "ours", "polyline", "</svg>"] {
            assert!(picture.contains(word), "{word}");
        }
    }
}
