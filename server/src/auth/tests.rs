//! Who may call, over a real socket.

use crate::fixture::{Answer, Fixture, frame, hello_of, report_of};

fn cookie_of(answer: &Answer) -> String {
    let line = answer.head.lines().find(|line| line.starts_with("set-cookie: ")).unwrap();
    let value = line.trim_start_matches("set-cookie: ");
    assert!(value.contains("HttpOnly; SameSite=Strict; Path=/"), "{value}");
    format!("Cookie: {}", value.split(';').next().unwrap())
}

/// DESIGN, HTTP: Host and Origin are checked on every request, reads too (DNS rebinding).
#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let fixture = Fixture::start().await;
    let port = fixture.server.addr().port();
    let token = format!("Authorization: Bearer {}", fixture.token());
    let host = |name: &str| format!("Host: {name}");
    let (own, alias, six) = (
        host(&format!("127.0.0.1:{port}")),
        host(&format!("LocalHost:{port}")),
        host(&format!("[::1]:{port}")),
    );
    let (evil, bare, other) = (host("evil.example"), host("127.0.0.1"), host("127.0.0.1:1"));
    let good_origin = format!("Origin: http://localhost:{port}");
    let cases: [(&[&str], u16); 11] = [
        (&[&own], 200),
        (&[&alias], 200),
        (&[&six], 200),
        (&[&own, &good_origin], 200),
        (&[], 403),
        (&[&evil], 403),
        (&[&bare], 403),
        (&[&other], 403),
        (&[&own, &evil], 403),
        (&[&own, "Origin: http://evil.example"], 403),
        (&[&own, "Origin: null"], 403),
    ];
    for path in ["/api/v1/jobs", "/healthz", "/"] {
        for (headers, status) in cases {
            let mut all = headers.to_vec();
            all.push(&token);
            let answer = fixture.send_raw(&format!("GET {path}"), &all, b"").await;
            // hyper itself refuses a request without a Host or with two
            let refused = status == 403 && (400..=403).contains(&answer.status);
            assert!(answer.status == status || refused, "{path} {headers:?} {answer:?}");
        }
    }
    fixture.server.stop().await;
}

/// DESIGN, Start token: opened once it becomes a session, and leaves the address bar.
#[tokio::test]
async fn the_start_url_becomes_a_session() {
    let fixture = Fixture::start().await;
    let token = fixture.token();
    let html = ["Accept: text/html"];
    let stranger = fixture.send("GET /", &html, b"").await;
    assert_eq!(stranger.status, 401);
    assert!(stranger.text().contains("Open the URL that Stateward printed"));
    let wrong = fixture.send("GET /?token=wrong", &html, b"").await;
    assert_eq!(wrong.status, 401);
    assert!(!wrong.head.contains("set-cookie"));

    let opened = fixture.send(&format!("GET //states?a=1&token={token}&b=2"), &html, b"").await;
    assert_eq!(opened.status, 303);
    assert!(opened.head.contains("location: /states?a=1&b=2\r\n"), "{}", opened.head);
    let cookie = cookie_of(&opened);
    assert!(!cookie.contains(&token));
    let page = fixture.send("GET /states", &[&cookie], b"").await;
    assert_eq!((page.status, page.text()), (200, "<p>page</p>".to_owned()));
    assert_eq!(fixture.send("GET /api/v1/jobs", &[&cookie], b"").await.status, 200);

    let fixture = fixture.restart().await;
    // the port is another one now, and so is the cookie's name
    let cookie = {
        let id = cookie.split('=').nth(1).unwrap();
        format!("Cookie: other=1; stateward_session_{}={id}", fixture.server.addr().port())
    };
    assert_eq!(fixture.send("GET /api/v1/jobs", &[&cookie], b"").await.status, 200);
    assert_eq!(fixture.token(), token);
    fixture.server.stop().await;
}

/// DESIGN, Start token: the API takes it as Bearer or as the password of Basic.
#[tokio::test]
async fn programs_send_the_token() {
    use base64::Engine as _;
    let fixture = Fixture::start().await;
    let basic = |password: &str| {
        let pair = format!("scraper:{password}");
        format!("Authorization: Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let token = fixture.token();
    let cases = [
        (bearer(&token), 200),
        (basic(&token), 200),
        (bearer(&token[1..]), 401),
        (bearer(&format!("{token}0")), 401),
        (basic("x"), 401),
        ("Authorization: nonsense".to_owned(), 401),
        ("X-Nothing: 1".to_owned(), 401),
    ];
    for path in ["/api/v1/jobs", "/metrics", "/federate"] {
        for (header, status) in &cases {
            let answer = fixture.send(&format!("GET {path}"), &[header], b"").await;
            assert_eq!(answer.status, *status, "{path} {header}");
            if *status == 401 {
                assert!(answer.head.contains("application/problem+json"));
            }
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(fixture.send(&format!("GET {path}"), &[], b"").await.status, 200);
    }
    fixture.server.stop().await;
}

/// What changes something and comes with a cookie must come from a page of this server.
#[tokio::test]
async fn changes_by_cookie_need_the_same_origin() {
    let fixture = Fixture::start().await;
    let token = fixture.token();
    let cookie = cookie_of(&fixture.send(&format!("GET /?token={token}"), &[], b"").await);
    let rule = br#"{"name":"n","subject":"disk_bytes","above":1,"severity":"info"}"#;
    let port = fixture.server.addr().port();
    let own = format!("Origin: http://127.0.0.1:{port}");
    let alias = format!("Origin: http://localhost:{port}");
    let cases: [(&[&str], u16); 4] = [
        (&[&cookie], 403),
        (&[&cookie, &alias], 403),
        (&[&cookie, &own, "Sec-Fetch-Site: same-site"], 403),
        (&[&cookie, &own, "Sec-Fetch-Site: same-origin"], 201),
    ];
    for (headers, status) in cases {
        let answer = fixture.send("POST /api/v1/alerts/rules", headers, rule).await;
        assert_eq!(answer.status, status, "{headers:?} {}", answer.text());
    }
    let audit = fixture.app().audit(None, 10).await.unwrap().rows;
    assert_eq!(audit[0].actor, "browser");
    fixture.server.stop().await;
}

/// Bad input: a 100 MB body gets an answer, and so does a small one that unpacks to a large one.
#[tokio::test]
async fn large_bodies_are_refused() {
    let fixture = Fixture::start().await;
    let large = vec![b'x'; 100_000_000];
    let answer = fixture.call("POST /api/v1/agent/report", &large).await;
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("more than 16777216 bytes"), "{}", answer.text());
    let bomb = zstd::bulk::compress(&vec![b' '; 100_000_000], 1).unwrap();
    let answer = fixture.call("POST /api/v1/agent/report", &bomb).await;
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("raise server.body_bytes_max"), "{}", answer.text());
    let large = vec![b'x'; 100_000];
    let answer = fixture.call("POST /api/v1/alerts/rules", &large).await;
    assert_eq!(answer.status, 413);
    fixture.server.stop().await;
}

/// The agent's whole conversation over HTTP, and problems where it goes wrong.
#[tokio::test]
async fn agents_talk_http() {
    let fixture = Fixture::start().await;
    let report = frame(&report_of("r1", 1));
    let early = fixture.call("POST /api/v1/agent/report", &report).await;
    let problem: stateward_model::Problem = early.json();
    assert_eq!((early.status, &*problem.uri), (404, "/problems/not-found"));
    let hello = fixture.call("POST /api/v1/agent/hello", &frame(&hello_of("r1"))).await;
    assert_eq!(hello.text(), r#"{"protocol":1,"stored_seq":null}"#);
    let stored = fixture.call("POST /api/v1/agent/report", &report).await;
    assert_eq!(stored.text(), r#"{"seq":1,"duplicate":false}"#);
    let commands = fixture.call("GET /api/v1/agent/commands?run=r1&after=0&wait=0", b"").await;
    assert_eq!(commands.text(), r#"{"version":0,"commands":[]}"#);
    for (line, status) in [
        ("GET /api/v1/agent/commands", 400),
        ("GET /api/v1/agent/commands?run=r2", 404),
        ("GET /api/v1/nothing", 404),
        ("GET /api/v1/states?sort=x", 400),
        ("GET /api/v1/states/a/b/c/d", 404),
        ("PUT /api/v1/alerts/rules/x", 400),
    ] {
        let answer = fixture.call(line, b"{}").await;
        assert_eq!(answer.status, status, "{line}");
        assert_eq!(answer.json::<stateward_model::Problem>().status, status);
    }
    let text = fixture.call("GET /federate", b"").await.text();
    assert!(text.contains(
        "stateward_state_writes_total{namespace=\"default\",job_name=\"flights\",operator=\"airports\",state=\"due\"} 10\n"
    ));
    assert!(text.contains("observed=\"read\",le=\"0.015\"} 1\n"), "{text}");
    let own = fixture.call("GET /metrics", b"").await.text();
    assert!(own.contains("stateward_server_reports_total{outcome=\"stored\"} 1\n"), "{own}");
    fixture.server.stop().await;
}

/// Live pages are told, and do not keep the server from stopping.
#[tokio::test]
async fn live_events_arrive() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let mut stream = tokio::net::TcpStream::connect(fixture.server.addr()).await.unwrap();
    let head = format!(
        "GET /api/v1/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        fixture.server.addr(),
        fixture.token()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut seen = String::new();
    let mut bytes = [0; 4_096];
    while !seen.contains("\r\n\r\n") {
        let n = stream.read(&mut bytes).await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    // two within a second make one event
    fixture.report(&report_of("r1", 1)).await.unwrap();
    fixture.report(&report_of("r1", 2)).await.unwrap();
    fixture.server.stop().await;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    seen.push_str(&String::from_utf8_lossy(&rest));
    let expected = "event: report\ndata: {\"event\":\"report\",\"job\":\"default/flights\"}\n\n";
    assert_eq!(seen.matches(expected).count(), 1, "{seen}");
}

#[tokio::test]
async fn a_used_port_is_named_with_the_way_out() {
    let fixture = Fixture::start().await;
    let dir = tempfile::tempdir().unwrap();
    let config = crate::Config::for_folder(dir.path(), fixture.server.addr().port()).unwrap();
    let error = crate::Server::start(config).await.unwrap_err().to_string();
    assert!(
        error.contains(&fixture.server.addr().to_string()) && error.contains("--port"),
        "{error}"
    );
    let config = crate::Config::for_folder(fixture.dir.path(), 0).unwrap();
    let error = crate::Server::start(config).await.unwrap_err().to_string();
    assert!(error.contains("another stateward uses the data folder"), "{error}");
    fixture.server.stop().await;
}
