//! Parameters as types of the caller, through serde.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_path_to_error::Segment;

use crate::engine::answer::NodeInfo;
use reclass_base::stack::grow;
use reclass_base::value::{Map, Value};

/// A parameter that does not fit the type of the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfitParameter {
    pub node: String,
    /// The path of the parameter, `nginx:workers`; empty for all parameters.
    pub path: String,
    /// The reason, in the words of serde. It may contain the value.
    pub reason: String,
}

impl fmt::Display for UnfitParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnfitParameter { node, path, reason } = self;
        match &**path {
            "" => write!(f, "node '{node}': the parameters do not fit: {reason}"),
            _ => write!(f, "node '{node}': parameter '{path}' does not fit: {reason}"),
        }
    }
}

impl std::error::Error for UnfitParameter {}

impl NodeInfo {
    /// The parameters as a type of the caller. Values have the types of JSON (Y7): a date is an ISO 8601 string,
    /// binary data is base64, a set is a list, and the keys of mappings are strings. An integer beyond 64 bits is
    /// the string of its digits, because as a number it would be rounded.
    ///
    /// # Errors
    ///
    /// The first parameter that does not fit, with its path.
    pub fn parameters_as<T: DeserializeOwned>(&self) -> Result<T, UnfitParameter> {
        let unfit =
            |path: String, reason: String| UnfitParameter { node: self.name.to_string(), path, reason };
        let data = serde_json::to_value(without_large(&self.parameters))
            .map_err(|error| unfit(String::new(), error.to_string()))?;
        serde_path_to_error::deserialize(data).map_err(|error| {
            let parts = error.path().iter().map(|segment| match segment {
                Segment::Seq { index } => index.to_string(),
                Segment::Map { key } => key.clone(),
                Segment::Enum { variant } => variant.clone(),
                Segment::Unknown => "?".to_owned(),
            });
            unfit(parts.collect::<Vec<_>>().join(":"), error.inner().to_string())
        })
    }
}

/// The value with the digits of integers beyond 64 bits, which `serde_json` would take for floats.
fn without_large(value: &Value) -> Value {
    match value {
        Value::BigInt(number) if u64::try_from(&**number).is_err() => Value::text(number.to_string()),
        Value::List(items) => grow(|| Value::list(items.iter().map(without_large).collect())),
        Value::Map(map) => grow(|| {
            Value::map(map.iter().map(|(key, value)| (key.clone(), without_large(value))).collect::<Map>())
        }),
        other => other.clone(),
    }
}

/// The sections of an answer, as `reclass --nodeinfo` prints them, without the time.
impl Serialize for NodeInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut info = serializer.serialize_struct("NodeInfo", 7)?;
        info.serialize_field("name", &self.name)?;
        info.serialize_field("uri", &self.uri)?;
        info.serialize_field("environment", &self.environment)?;
        info.serialize_field("classes", &*self.classes)?;
        info.serialize_field("applications", &self.applications)?;
        info.serialize_field("parameters", &self.parameters)?;
        info.serialize_field("exports", &self.exports)?;
        info.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use serde::Deserialize;

    use crate::engine::answer::NodeInfo;
    use reclass_base::value::Value;
    use reclass_yaml::parse_value;

    #[derive(Deserialize, PartialEq, Debug)]
    struct Parameters {
        ports: Vec<u16>,
        since: String,
        rest: Option<bool>,
    }

    fn node(parameters: &str) -> NodeInfo {
        NodeInfo {
            name: "web1".into(),
            uri: "".into(),
            environment: Value::text("base"),
            classes: [].into(),
            applications: Vec::new(),
            parameters: parse_value(parameters).expect("YAML"),
            exports: Value::default(),
            warnings: Vec::new(),
            wire_values: OnceLock::new(),
            logged_warnings: OnceLock::new(),
        }
    }

    #[test]
    fn parameters_fit_or_the_path_is_named() {
        let fits = node("{ports: [80, 443], since: 2001-02-03, more: 1}");
        let since = "2001-02-03".to_owned();
        assert_eq!(fits.parameters_as(), Ok(Parameters { ports: vec![80, 443], since, rest: None }));
        let unfit = node("{ports: [80, many], since: 2001-02-03}");
        assert_eq!(
            unfit.parameters_as::<Parameters>().expect_err("an error").to_string(),
            "node 'web1': parameter 'ports:1' does not fit: invalid type: string \"many\", expected u16"
        );
        let missing = node("{ports: []}").parameters_as::<Parameters>().expect_err("an error");
        assert_eq!(missing.to_string(), "node 'web1': the parameters do not fit: missing field `since`");
    }
    #[test]
    fn a_large_integer_is_never_rounded() {
        type Numbers<T> = std::collections::BTreeMap<String, T>;
        let large = node("{n: 123456789012345678901234567890}");
        let unfit = large.parameters_as::<Numbers<f64>>().expect_err("an error").to_string();
        assert!(
            unfit.starts_with("node 'web1': parameter 'n' does not fit: invalid type: string"),
            "{unfit}"
        );
        let kept = large.parameters_as::<Numbers<serde_json::Value>>().expect("any value");
        assert_eq!(kept["n"], "123456789012345678901234567890");
        let most = node("{n: 18446744073709551615}");
        assert_eq!(most.parameters_as::<Numbers<u64>>().expect("64 bits")["n"], u64::MAX);
    }

    #[test]
    fn an_answer_is_data() {
        let data = serde_json::to_value(node("{a: 2001-02-03}")).expect("JSON");
        assert_eq!(data["name"], "web1");
        assert_eq!(data["parameters"], serde_json::json!({"a": "2001-02-03"}));
    }
}
