//! A full disk has a defined answer, and costs nothing that was acknowledged or committed.
#![expect(clippy::print_stdout, reason = "a run tells what it met")]

use std::path::Path;

use stateward_engine::{Clock, Error, JobHandle, SystemClock};
use stateward_model::Problem;
use stateward_tests::crash::{check_counts, count_job, count_options, wait_for, write_count_input};
use stateward_tests::disk::SmallDisk;
use stateward_tests::serve::{Door, MadeUpJob, Serve, refused};

/// More reports than fit into what SQLite may still write once the disk is full.
const REPORTS_MAX: u64 = 5_000;

/// Sends reports until one is refused; returns its number.
fn send_until_refused(job: &MadeUpJob, door: &Door) -> u64 {
    let first = job.acked() + 1;
    for seq in first..first + REPORTS_MAX {
        let answer = job.try_send(door, seq).unwrap().unwrap();
        if answer.status != 200 {
            let problem: Problem = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(answer.status, 507, "{problem:?}");
            assert_eq!(problem.uri, "/problems/storage");
            assert!(problem.detail.contains("the disk of the data folder is full"), "{problem:?}");
            assert!(problem.detail.contains("free some space and send it again"), "{problem:?}");
            return seq;
        }
        // it is stored, so this only notes the acknowledgement
        assert!(job.send(door, seq).unwrap().unwrap().duplicate);
    }
    panic!("{REPORTS_MAX} reports fit onto a full disk");
}

/// DESIGN, Server: a full disk answers 507, acknowledges nothing that it did not store, and takes the
/// resend once there is space.
#[test]
fn a_server_on_a_full_disk_loses_nothing() {
    let Some(disk) = SmallDisk::mount(6 << 10).unwrap() else { return };
    let data_dir = disk.path().join("data");
    let server = Serve::start(&data_dir).unwrap();
    let job = MadeUpJob::new("full", SystemClock::new().now_millis() - 3_600_000);
    job.hello(&server.door()).unwrap();
    for seq in 1..=20 {
        job.send(&server.door(), seq).unwrap();
    }
    let mut refusals = Vec::new();
    let mut server = server;
    for kills in [false, true] {
        disk.fill().unwrap();
        let refused = send_until_refused(&job, &server.door());
        refusals.push(refused);
        job.check_pages(&server.door(), refused - 1).unwrap();
        if kills {
            server.kill().unwrap();
            server = Serve::start(&data_dir).unwrap();
            job.check_pages(&server.door(), refused - 1).unwrap();
            assert_eq!(send_until_refused(&job, &server.door()), refused);
        }
        disk.free().unwrap();
        let reply = job.send(&server.door(), refused).unwrap().unwrap();
        assert!(!reply.duplicate, "{refused} was refused, and stored");
        assert!(job.send(&server.door(), refused).unwrap().unwrap().duplicate);
        job.check(&server.door()).unwrap();
    }
    println!("refused: {refusals:?}");
}

/// A server that finds the disk full at its start says where, and starts once there is space.
#[test]
fn a_server_does_not_start_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount(6 << 10).unwrap() else { return };
    disk.fill().unwrap();
    let data_dir = disk.path().join("data");
    let exit = refused(&data_dir, 0).unwrap();
    assert_eq!(exit.status.code(), Some(3), "{exit:?}");
    let expected =
        [&*data_dir.to_string_lossy(), "No space left on device", "have some space free"];
    assert!(expected.iter().all(|part| exit.said.contains(part)), "{}", exit.said);
    disk.free().unwrap();
    let server = Serve::start(&data_dir).unwrap();
    let job = MadeUpJob::new("full", SystemClock::new().now_millis() - 3_600_000);
    job.hello(&server.door()).unwrap();
    assert!(!job.send(&server.door(), 1).unwrap().unwrap().duplicate);
}

fn start(input: &Path, data_dir: &Path) -> Result<JobHandle, Error> {
    count_job(input)?.start(count_options(data_dir))
}

/// Starts the job and fills the disk after so many epochs; returns what the job said, or nothing
/// where it came to its end first.
fn run_into_a_full_disk(
    input: &Path,
    data_dir: &Path,
    disk: &SmallDisk,
    epochs: u64,
) -> Option<Error> {
    let handle = start(input, data_dir).unwrap();
    let from = handle.epoch();
    let passed = || handle.has_ended() || handle.epoch() >= from + epochs;
    wait_for("epochs", || Ok(passed().then_some(()))).unwrap();
    disk.fill().unwrap();
    wait_for("its end", || Ok(handle.has_ended().then_some(()))).unwrap();
    handle.wait().err()
}

/// §4.1, §4.8: a job that a full disk stopped names the file; with space it goes on, and nothing was
/// lost or repeated.
#[test]
fn a_job_on_a_full_disk_goes_on_with_space() {
    const STOPS: u64 = 3;
    let Some(disk) = SmallDisk::mount(48 << 10).unwrap() else { return };
    let inputs = tempfile::tempdir().unwrap();
    let input = inputs.path().join("numbers.ndjson");
    let records = write_count_input(&input, 60_000).unwrap();
    let data_dir = disk.path().join("data");
    let mut said = Vec::new();
    for stop in 0..STOPS {
        let error = run_into_a_full_disk(&input, &data_dir, &disk, 2 + 2 * stop);
        // the next start throws away what the last run had not committed, which may be room enough
        let again = start(&input, &data_dir).and_then(|handle| {
            wait_for("its end", || Ok(handle.has_ended().then_some(()))).unwrap();
            handle.wait()
        });
        for error in [error, again.err()].into_iter().flatten() {
            let text = error.to_string();
            assert!(text.contains(&*data_dir.to_string_lossy()), "no place: {text}");
            said.push(text);
        }
        disk.free().unwrap();
    }
    let named = said.iter().filter(|text| text.contains("No space left on device"));
    assert!(named.count() > 1, "the disk was hardly ever full: {said:#?}");
    println!("{said:#?}");
    let handle = start(&input, &data_dir).unwrap();
    wait_for("the end", || Ok(handle.has_ended().then_some(()))).unwrap();
    handle.wait().unwrap();
    check_counts(&data_dir, records).unwrap();
}
