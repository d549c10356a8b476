//! A server with one tool and a shared value, over stdin and stdout.
//!
//! `cargo build -p carrick --example weather` builds it; a host starts it by the
//! program's path. What it tells is the typical weather of the cities in its
//! table, since an example must not need the network.

use carrick::transport::{LineTransport, stdio};
use carrick::{Server, State, ToolError, tool, tools};
use schemars::JsonSchema;
use serde::Serialize;
use std::error::Error;

/// Typical day temperatures in °C, in January and in July.
#[derive(Clone, Copy)]
struct Climate(&'static [(&'static str, f64, f64)]);

const CLIMATE: Climate =
    Climate(&[("Beijing", 1.8, 31.1), ("Paris", 7.2, 25.2), ("Nairobi", 25.9, 22.5)]);

/// A day's weather.
#[derive(Serialize, JsonSchema)]
struct Day {
    /// Days from today; 0 is today
    day: u32,
    /// The highest temperature in °C
    high: f64,
}

/// What `get_forecast` answers.
#[derive(Serialize, JsonSchema)]
struct Forecast {
    /// The city, as the table names it
    city: &'static str,
    /// One entry a day
    days: Vec<Day>,
}

/// Forecast for a city: the temperatures of the coming days.
#[tool(read_only)]
async fn get_forecast(
    climate: State<Climate>,
    /// The city's English name, such as Paris
    city: String,
    /// How many days, 1 to 14
    #[default(1)]
    days: u32,
) -> Result<Forecast, ToolError> {
    let Climate(cities) = *climate;
    let known = cities.iter().find(|(name, ..)| name.eq_ignore_ascii_case(city.trim()));
    let Some(&(city, january, july)) = known else {
        let names: Vec<_> = cities.iter().map(|(name, ..)| *name).collect();
        return Err(ToolError::new(format!("no such city; there are {}", names.join(", "))));
    };
    if !(1..=14).contains(&days) {
        return Err(ToolError::new("days must be 1 to 14"));
    }
    let high = (january + july) / 2.0;
    Ok(Forecast { city, days: (0..days).map(|day| Day { day, high }).collect() })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("weather", "1.0.0")
        .instructions("Temperatures are in °C.")
        .state(CLIMATE)
        .tools(tools![get_forecast])
        .build();
    let (input, output) = stdio::take()?;
    carrick::serve(&server, LineTransport::new(input, output)).await?;
    Ok(())
}
