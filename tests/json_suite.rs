//! JSONTestSuite (github.com/nst/JSONTestSuite), which is not part of this repository: `PIPESTATE_JSON_SUITE` names its
//! folder `test_parsing`.

use std::fs;
use std::path::PathBuf;

use pipestate::document::Document;

/// What D3 says of a file: `y_` is JSON, `n_` is not, and of the undecided `i_` ones `JSON.parse` takes all that are
/// UTF-8 without a byte order mark: numbers of any size, lone surrogates, any depth.
fn is_json(name: &str, text: &[u8]) -> bool {
    match name.split('_').next() {
        Some("y") => true,
        Some("n") => false,
        _ => std::str::from_utf8(text).is_ok_and(|text| !text.starts_with('\u{feff}')),
    }
}

#[test]
fn json_test_suite_is_taken_and_refused_as_json_parse_does() {
    let Some(folder) = std::env::var_os("PIPESTATE_JSON_SUITE").map(PathBuf::from) else {
        println!("skipped: PIPESTATE_JSON_SUITE does not name JSONTestSuite's folder test_parsing");
        return;
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("PIPESTATE_JSON_SUITE is a folder") {
        let path = entry.expect("the folder lists").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if !name.ends_with(".json") {
            continue;
        }
        let text = fs::read(&path).expect("the file reads");
        // Once as it is, and once as a member of a state document.
        let wrapped = [b"{\"v\": ", text.as_slice(), b"}"].concat();
        let expected = is_json(&name, &text);
        for text in [text, wrapped] {
            let fault = Document::parse(text).err();
            if fault.is_none() != expected {
                wrong.push(format!("{name}: {fault:?}"));
            }
        }
        count += 1;
    }
    assert!(count > 300, "{} holds {count} files of JSONTestSuite", folder.display());
    assert_eq!(wrong, Vec::<String>::new());
}
