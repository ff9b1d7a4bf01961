use nodewell_rules::{Format, LoadPlan, Replay, load, matcher::Matcher};
use std::{fs, hint::black_box, sync::Arc, time::Instant};
fn best(mut f: impl FnMut() -> u64) -> (f64, u64) {
    let mut b = f64::MAX;
    let mut r = 0;
    for _ in 0..5 {
        let t = Instant::now();
        r = f();
        b = b.min(t.elapsed().as_secs_f64());
    }
    (b, r)
}
fn main() {
    let t = Instant::now();
    let set = Arc::new(load(&LoadPlan::default()).set);
    println!("load {:?}", t.elapsed());
    let t = Instant::now();
    let matcher = Matcher::new(&set, 0).unwrap();
    println!("matcher {:?}, slow {}", t.elapsed(), matcher.slow_lane().count());
    if std::env::var("H").is_ok() {
        let ex: Vec<String> = set
            .rules
            .iter()
            .filter(|r| r.reader == 0 && r.counting.is_none())
            .filter_map(|r| r.examples.matches.first())
            .map(|e| e.text.clone())
            .filter(|t| t.bytes().all(|b| (b' '..=b'~').contains(&b)))
            .collect();
        let mut out = String::new();
        for i in 0..20000usize {
            out += &format!("6,{i},{},-;{}\n", i * 1000, ex[(i * 7919) % ex.len()]);
        }
        fs::write("/tmp/sp/hits.kmsg", out).unwrap();
    }
    for path in std::env::args().skip(1) {
        let one = fs::read(&path).unwrap();
        let mut bytes = Vec::new();
        let mut lines = 0;
        let per = one.iter().filter(|b| **b == b'\n').count();
        while lines < 1_000_000.max(per) {
            bytes.extend(&one);
            lines += per;
        }

        let m = lines as f64 / 1e6;
        let (mc, _) = best(|| memchr::memchr_iter(b'\n', black_box(&bytes)).count() as u64);
        let (sc, cands) = best(|| matcher.count_candidates(black_box(&bytes)));
        let (rp, found) = best(|| {
            let mut n = 0;
            Replay::new(Arc::clone(&set), Format::Auto).run(black_box(&bytes[..]), |_| n += 1).unwrap();
            n
        });
        println!(
            "{path}: {} B/line; memchr {:.1} scan {:.1} replay {:.2} M lines/s; candidates {:.2} %, findings {:.2} %",
            bytes.len() / lines,
            m / mc,
            m / sc,
            m / rp,
            100.0 * cands as f64 / lines as f64,
            100.0 * found as f64 / lines as f64
        );
    }
}
