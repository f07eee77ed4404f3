//! Secrets by their keys.

use reclass_base::json;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::settings::Settings;
use reclass_base::value::{Key, Map};
use reclass_yaml::parse_value;

fn secrets() -> Secrets {
    Secrets::of(&Settings::from_options(&Map::default()).expect("the defaults are right").0)
}

#[test]
fn values_are_hidden_by_their_keys() {
    for (text, expected) in [
        (
            "{db: {password: x, port: 5}, url: 'pg://x@h'}",
            r#"{"db":{"password":"***","port":5},"url":"pg://x@h"}"#,
        ),
        ("{passwords: {ada: [x, 1], bob: ~}}", r#"{"passwords":{"ada":["***","***"],"bob":null}}"#),
        ("{password_auth: false}", r#"{"password_auth":false}"#),
        ("{tokens: {engine: cache, 1: x}}", r#"{"tokens":{"engine":"cache","1":"***"}}"#),
        (
            "{tokens: [x, [y], {name: ada, used: true, of: {port: 5}}], ports: [{name: web}]}",
            r#"{"tokens":["***",["***"],{"name":"***","used":true,"of":{"port":"***"}}],"ports":[{"name":"web"}]}"#,
        ),
        (
            "{secret: {name: tls}, secrets: {name: x}}",
            r#"{"secret":{"name":"tls"},"secrets":{"name":"***"}}"#,
        ),
    ] {
        let value = parse_value(text).expect("yaml");
        let shown = secrets().hide(&value, Cover::Open, &|_| false);
        assert_eq!(json::dumps(&shown, false), expected);
        assert_eq!(Secrets::none().hide(&value, Cover::Open, &|_| false), value);
    }
}

#[test]
fn a_path_is_judged_like_a_value() {
    let secrets = secrets();
    for (path, covered) in [
        ("db:password", true),
        ("passwords:ada:0", true),
        ("tokens", true),
        ("tokens:0", true),
        ("tokens:engine", false),
        ("tokens:0:name", true),
        ("db:port", false),
    ] {
        let keys: Vec<Key> = path.split(':').map(Key::from).collect();
        assert_eq!(secrets.covers(&keys), covered, "{path}");
    }
}

#[test]
fn names_that_are_secret_by_default() {
    let secrets = secrets();
    for name in [
        "password",
        "db_password",
        "Token",
        "api_key",
        "API_KEYS",
        "api_key2",
        "my_api_key_prod",
        "apiKey",
        "api-key",
        "privateKey",
        "private-key",
        "aws_access_key",
        "pass",
        "smtp_pass",
        "~password",
    ] {
        assert_ne!(secrets.cover(name), Cover::Open, "{name}");
    }
    for name in [
        "port",
        "nginx_proxy_openstack_api_keystone",
        "public_key",
        "keys",
        "bypass",
        "passive",
        "accessKeyName",
    ] {
        assert_eq!(secrets.cover(name), Cover::Open, "{name}");
    }
}
