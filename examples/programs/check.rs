use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Asks the gate; gives the answer's head and text.
fn ask(owner: &str, subject: &str, size: &str) -> std::io::Result<(String, String)> {
    let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let query = format!("owner={}&subject={}&size={}", encode(owner), encode(subject), encode(size));
    let end = Instant::now() + Duration::from_secs(2);
    let mut gate = UnixStream::connect("/run/softquota/gate.sock")?;
    gate.set_write_timeout(Some(Duration::from_secs(2)))?;
    write!(
        gate,
        "GET /v1/check?{query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: close\r\n\r\n"
    )?;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        // A time-out of zero is an error, too: the time is over.
        gate.set_read_timeout(Some(end.saturating_duration_since(Instant::now())))?;
        match gate.read(&mut part)? {
            0 => break,
            bytes => answer.extend_from_slice(&part[..bytes]),
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((head.to_lowercase(), text.to_string()))
}

/// Tells whether the upload may start, and what to tell the person.
fn may_store(owner: &str, subject: &str, size: &str) -> (bool, String) {
    match ask(owner, subject, size) {
        Ok((head, text)) if head.contains("\r\nx-softquota-decision: allowed") => (true, text),
        Ok((head, text)) if head.contains("\r\nx-softquota-decision: refused") => (false, text),
        _ => (true, "The quota could not be checked.".into()), // false denies
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (allowed, message) = may_store(&args[1], &args[2], &args[3]);
    eprint!("{message}");
    std::process::exit(if allowed { 0 } else { 1 });
}
