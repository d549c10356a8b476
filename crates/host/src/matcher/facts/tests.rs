use super::*;

fn facts_of(question: &str) -> Vec<(Value, String)> {
    let now: ZonedDateTime = "2026-08-05T10:00[Europe/Paris]".parse().unwrap();
    extract(&Text::new(question), Some(&now)).into_iter().map(|f| (f.value, f.text)).collect()
}

fn texts(question: &str, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    facts_of(question).into_iter().filter(|(v, _)| wanted(v)).map(|(_, t)| t).collect()
}

fn paths(question: &str) -> Vec<String> {
    texts(question, |v| matches!(v, Value::Path(kind) if *kind != PathKind::Doubtful))
}

fn times(question: &str) -> Vec<String> {
    facts_of(question)
        .into_iter()
        .filter_map(|(v, _)| match v {
            Value::Time(t) => Some(t.strftime("%H:%M").to_string()),
            _ => None,
        })
        .collect()
}

fn dates(question: &str) -> Vec<String> {
    facts_of(question)
        .into_iter()
        .filter_map(|(v, _)| match v {
            Value::Date(d) => Some(d.to_string()),
            _ => None,
        })
        .collect()
}

fn zones(question: &str) -> Vec<String> {
    facts_of(question)
        .into_iter()
        .filter_map(|(v, t)| match v {
            Value::Place(zone) => Some(zone.unwrap_or("-").to_owned()),
            Value::Zone => Some(t),
            _ => None,
        })
        .collect()
}

fn formulas(question: &str) -> Vec<String> {
    texts(question, |v| matches!(v, Value::Expression(e) if !e.doubtful))
}

fn globs(question: &str) -> Vec<String> {
    texts(question, |v| *v == Value::Glob)
}

fn numbers(question: &str) -> Vec<(f64, &'static str)> {
    facts_of(question)
        .into_iter()
        .filter_map(|(v, _)| match v {
            Value::Number(q) => {
                Some((q.value, q.unit.map_or("", |u| units::Units::shared().name(u))))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn times_of_day_are_read_in_many_forms() {
    for (question, time) in [
        ("at 14:30 please", "14:30"),
        ("9:05 pm", "21:05"),
        ("Convert 6pm Paris time", "18:00"),
        ("12 a.m. sharp", "00:00"),
        ("12pm", "12:00"),
        ("9 o'clock", "09:00"),
        ("nine o'clock in the evening", "21:00"),
        ("half past six", "06:30"),
        ("a quarter to 7 in the evening", "18:45"),
        ("at noon", "12:00"),
        ("midnight", "00:00"),
        ("下午3点", "15:00"),
        ("上午九点半", "09:30"),
        ("晚上十一点二十分", "23:20"),
        ("中午12点", "12:00"),
        ("下午 2:15 开会", "14:15"),
        ("18h45", "18:45"),
    ] {
        assert_eq!(times(question), [time], "{question}");
    }
    for question in ["3 days", "25:99", "in 3 files", "有一点问题", "ratio 3:2 mix"] {
        assert!(times(question).is_empty(), "{question}: {:?}", times(question));
    }
}

#[test]
fn dates_are_told_from_today() {
    // The day of the test is a Wednesday.
    for (question, date) in [
        ("today", "2026-08-05"),
        ("the day after tomorrow", "2026-08-07"),
        ("后天", "2026-08-07"),
        ("yesterday", "2026-08-04"),
        ("on Friday", "2026-08-07"),
        ("last Friday", "2026-07-31"),
        ("next Wednesday", "2026-08-12"),
        ("下周五", "2026-08-14"),
        ("周五", "2026-08-07"),
        ("2026-12-24", "2026-12-24"),
        ("May 4", "2027-05-04"),
        ("the 4th of September", "2026-09-04"),
        ("March 3, 2025", "2025-03-03"),
        ("10月1日", "2026-10-01"),
    ] {
        assert_eq!(dates(question), [date], "{question}");
    }
    assert!(dates("may I ask what mars is").is_empty());
}

#[test]
fn places_lead_to_their_zones() {
    for (question, zone) in [
        ("weather in São Paulo", "America/Sao_Paulo"),
        ("weather in New Delhi", "Asia/Kolkata"),
        ("what time is it in tokyo", "Asia/Tokyo"),
        ("北京市今天", "Asia/Shanghai"),
        ("纽约现在几点", "America/New_York"),
        ("at 5 PM EST", "America/New_York"),
        ("10:00 UTC+2", "Etc/GMT-2"),
        ("10:00 GMT-05:30", "-05:30"),
        ("10:00 UTC", "UTC"),
        ("in Asia/Tokyo", "Asia/Tokyo"),
        ("in the United States", "-"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
    ] {
        assert_eq!(zones(question), [zone], "{question}");
    }
    for question in ["the center of it", "tell us more", "an act of la la", "wake me up"] {
        assert!(zones(question).is_empty(), "{question}: {:?}", zones(question));
    }
}

#[test]
fn paths_stand_free_of_the_sentence() {
    for (question, path) in [
        ("What's in the folder /home/anna/projects?", "/home/anna/projects"),
        ("What does Cargo.toml contain?", "Cargo.toml"),
        ("Open ~/notes/todo.md.", "~/notes/todo.md"),
        ("读取/tmp/报告.txt的内容", "/tmp/报告.txt"),
        ("列出/var/log目录下的文件", "/var/log"),
        ("Make images/logo.jpg bigger", "images/logo.jpg"),
        (r"Show C:\Users\me\a.txt", r"C:\Users\me\a.txt"),
        ("list the files in /", "/"),
        ("what is in the src folder", "src"),
        ("show me the README", "README"),
        ("print .gitignore", ".gitignore"),
        ("ls ../other", "../other"),
        ("把 photo.png 缩放", "photo.png"),
        ("/home/anna/音乐 目录里都有什么", "/home/anna/音乐"),
        ("the text of logs/today.log", "logs/today.log"),
    ] {
        assert_eq!(paths(question), [path], "{question}");
    }
    for question in
        ["and/or nothing", "e.g. this", "(125 + 75) / 8", "at 3.5 km/h", "in this folder", "v1.2.3"]
    {
        assert!(paths(question).is_empty(), "{question}: {:?}", paths(question));
    }
}

#[test]
fn patterns_are_written_or_told_in_words() {
    for (question, glob) in [
        ("Find all PDF files under /x", "*.pdf"),
        ("any file called report*.xlsx in /mnt", "report*.xlsx"),
        ("find every .log file", "*.log"),
        ("Python scripts in src", "*.py"),
        ("在 /data 下查找所有 csv 文件", "*.csv"),
        ("files ending in .bak", "*.bak"),
        ("所有以 .sh 结尾的文件", "*.sh"),
        ("/usr 下有没有 .so 文件?", "*.so"),
        ("files whose name contains invoice", "*invoice*"),
        ("files starting with test_", "test_*"),
        ("src/**/*.rs", "src/**/*.rs"),
    ] {
        assert_eq!(globs(question), [glob], "{question}");
    }
    for question in ["open the PDF file report.pdf", "2*(3+4)", "2 * 3"] {
        assert!(globs(question).is_empty(), "{question}: {:?}", globs(question));
    }
}

#[test]
fn numbers_carry_their_units() {
    for (question, number) in [
        ("the next 3 days", (3.0, "day")),
        ("a 5-day forecast", (5.0, "day")),
        ("the coming week", (1.0, "week")),
        ("未来三天", (3.0, "day")),
        ("twenty-five miles", (25.0, "mile")),
        ("1,250.5 dollars", (1250.5, "usd")),
        ("it costs $30", (30.0, "usd")),
        ("-5 degrees", (-5.0, "degree")),
        ("level 3", (3.0, "")),
        ("half an hour", (30.0, "minute")),
        ("an hour", (1.0, "hour")),
        ("3 in Paris", (3.0, "")),
    ] {
        assert_eq!(numbers(question), [number], "{question}");
    }
    assert!(numbers("用一句话解释一下").is_empty());
}

#[test]
fn a_size_is_two_numbers() {
    for question in ["800x600", "800 by 600 pixels", "800×600", "800 px x 600 px"] {
        let values: Vec<f64> = numbers(question).iter().map(|(v, _)| *v).collect();
        assert_eq!(values, [800.0, 600.0], "{question}");
    }
}

#[test]
fn formulas_are_written_or_told_in_words() {
    for (question, formula) in [
        ("Compute (125 + 75) / 8", "(125 + 75) / 8"),
        ("what is 17% of 240", "0.17 * 240"),
        ("what is 7 percent of 50?", "0.07 * 50"),
        ("what is 12 times 8", "12 * 8"),
        ("123乘以456等于多少?", "123 * 456"),
        ("3的5次方", "3^5"),
        ("9的平方是多少", "9^2"),
        ("2 to the power of 10", "2^10"),
        ("the square root of 144", "sqrt(144)"),
        ("144的平方根", "sqrt(144)"),
        ("subtract 3 from 10", "10 - 3"),
        ("add 3 and 5", "3 + 5"),
        ("add 19, 23 and 42", "19 + 23 + 42"),
        ("3和5的和", "3 + 5"),
        ("12 squared plus 5", "12^2 + 5"),
        ("seven times eight", "7 * 8"),
        ("200减去58再除以2等于几", "(200 - 58) / 2"),
        ("2*(3+4)", "2*(3+4)"),
        ("（3+5）×2", "(3 + 5) * 2"),
        ("1,000 divided by 8", "1000 / 8"),
        ("-3 + 5", "-3 + 5"),
    ] {
        assert_eq!(formulas(question), [formula], "{question}");
    }
    for question in ["3 days", "blue-otter-42", "2024-05-04", "1-7", "a/b", "level 3"] {
        assert!(formulas(question).is_empty(), "{question}: {:?}", formulas(question));
    }
}

#[test]
fn sql_is_code_and_not_english() {
    let sql = |q: &str| texts(q, |v| *v == Value::Sql);
    assert_eq!(sql("Run SELECT name FROM users."), ["SELECT name FROM users"]);
    assert_eq!(sql("run `select * from t`"), ["select * from t"]);
    assert!(sql("select a colour from the list").is_empty());
    assert!(sql("How many rows are in the users table?").is_empty());
}

#[test]
fn quotation_marks_are_not_apostrophes() {
    let quoted = |q: &str| texts(q, |v| *v == Value::Quoted);
    assert_eq!(quoted("say 'good day' or \"bye\""), ["good day", "bye"]);
    assert_eq!(quoted("翻译“早上好”"), ["早上好"]);
    assert!(quoted("What's my sister's name? It isn't Ann's").is_empty());
}

#[test]
fn a_long_question_is_read_in_one_pass() {
    // Unclosed marks and endless candidates: quadratic work would not end.
    let long = "\"'`( 1 + a/b 3点 /x ".repeat(500);
    assert!(!facts_of(&long).is_empty());
}

/// How many bytes are looked at to find the facts of so many repetitions.
fn work(unit: &str, count: usize) -> usize {
    let text = Text::new(&unit.repeat(count));
    super::WORK.set(0);
    extract(&text, None);
    super::WORK.get()
}

#[test]
fn a_question_twice_as_long_costs_twice_as_much() {
    for unit in [
        "1",
        "1.",
        "1,111,",
        "111,",
        "-",
        "-1",
        "1 ",
        "1+",
        "1-1_",
        "1+1_ ",
        "(",
        ")",
        "( ",
        "(1+",
        "(1)+",
        "((1)",
        "1)",
        "[",
        "/",
        "/a",
        "a/",
        "//",
        "~/",
        "../",
        "汉",
        "/汉",
        "汉/",
        "\"",
        "'",
        "`",
        "\"a",
        "' ",
        "'a ",
        "《",
        "《》",
        "\"'`",
        "a.",
        "a.com",
        "a@",
        "a@b.cc-",
        "*",
        "*.",
        "pdf files ",
        "every pdf file ",
        "一",
        "百分之",
        "十万",
        "sqrt",
        "sqrt ",
        "the square root of ",
        "then ",
        "1 then ",
        "one ",
        "twenty-",
        "3点",
        "1x1 ",
        "select ",
        "select a from ",
        "UTC+",
        "Asia/",
        "a b ",
        "5 percent of ",
    ] {
        let (once, twice) = (work(unit, 800 / unit.len()), work(unit, 1_600 / unit.len()));
        assert!(twice * 10 <= once * 22 + 20_000, "{unit:?}: {once}, then {twice}");
        // What each byte costs is bounded, too.
        assert!(twice <= 32 * 1_600 + 2_000, "{unit:?}: {twice} for 1600 bytes");
    }
    assert!(work("/a ", 100) > 100, "what is looked at is counted");
}

#[test]
fn a_number_with_commas_is_read_once_and_formulas_after_it_are_found() {
    let formulas = |q: &str| texts(q, |v| matches!(v, Value::Expression(_)));
    assert_eq!(formulas("1,234,567 and 3+4"), ["3+4"]);
    assert_eq!(formulas("of 3,5+6"), ["5+6"]);
    assert_eq!(formulas("1,234+5"), ["1234 + 5"]);
    assert_eq!(formulas("1 + 2 +"), ["1 + 2"]);
    assert_eq!(formulas("((( 1 + 2"), ["1 + 2"]);
    let long = format!("1{} and 3+4", ",111".repeat(3_000));
    assert_eq!(formulas(&long), ["3+4"], "there is fuel left");
    let unclosed = format!("what is 3+4? {}", "(".repeat(5_000));
    assert_eq!(formulas(&unclosed), ["3+4"]);
}

#[test]
fn urls_and_addresses_are_not_paths() {
    let urls = texts("Fetch https://example.com/a_(b)?x=1 now", |v| *v == Value::Url);
    assert_eq!(urls.len(), 1);
    assert!(urls[0].starts_with("https://example.com/a_(b"));
    assert_eq!(texts("write to ann@example.org.", |v| *v == Value::Email), ["ann@example.org"]);
}
