//! Test peers and fixtures for the workspace.

pub mod asking;
pub mod conformance;
pub mod crossing;
pub mod faulty;
pub mod fixture;
pub mod model;
pub mod peer;
pub mod replay;
pub mod weather;

#[cfg(all(test, feature = "preserve-order"))]
mod tests {
    #[test]
    fn members_keep_their_order() {
        let value: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
        assert_eq!(value.to_string(), r#"{"b":1,"a":2}"#);
    }
}
