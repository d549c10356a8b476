//! A server that speaks Chinese: the weather of a few cities.

use carrick::{Server, ToolError, tool, tools};

/// What the weather is, whatever the day: tests need no real one.
const WEATHER: &[(&str, &str)] =
    &[("北京", "晴,27 摄氏度,微风"), ("上海", "小雨,22 摄氏度"), ("东京", "多云,24 摄氏度")];

/// 查询一个城市今天的天气:气温、晴雨和风力。
#[tool(read_only)]
async fn get_weather(
    /// 城市的名字,例如 北京
    city: String,
) -> Result<String, ToolError> {
    let found = WEATHER.iter().find(|(name, _)| *name == city.trim());
    match found {
        Some((name, weather)) => Ok(format!("{name}今天{weather}。")),
        None => Err(ToolError::new(format!("没有“{city}”的天气数据"))),
    }
}

/// The server.
pub fn server() -> Server {
    Server::builder("weather", "1.0.0")
        .instructions("本服务器提供中国城市的天气。")
        .tools(tools![get_weather])
        .build()
}
