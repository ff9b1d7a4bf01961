//! The tables of hardware: what they resolve to, what they refuse.

use nodewell_checks::{
    Settings, cpu::CpuSettings, disk::DiskSettings, fabric::FabricSettings, gpu::GpuSettings, memory::MemorySettings,
    pcie::PcieSettings,
};

use super::*;

fn parsed(text: &str) -> Result<Settings, Vec<String>> {
    read(text).map(|config| config.checks)
}

#[test]
fn nothing_said_is_the_hardwares_own_defaults() {
    assert_eq!(parsed("").unwrap(), Settings::default());
    assert_eq!(parsed("[disk]\n[memory]\n[cpu]\n[pcie]\n[fabric]\n[gpu]\n").unwrap(), Settings::default());
}

#[test]
fn every_key_arrives() {
    let settings = parsed(
        "[disk]\nenabled = false\ninterval = \"2m\"\nignore = [\"sd*\"]\n\
         [memory]\nenabled = false\ninterval = \"5s\"\ncorrected-per-day = 7\n\
         [cpu]\nenabled = false\ninterval = \"6s\"\n\
         [pcie]\nenabled = false\ninterval = \"7s\"\ncorrected-per-hour = 8\nignore = [\"0000:01:*\"]\n\
         [fabric]\nenabled = false\ninterval = \"8s\"\nexpected = [\"mlx5_0/1\"]\nignore = [\"mlx5_3/*\"]\n\
         [gpu]\nenabled = false\ninterval = \"9s\"\nexpected = 8\nlibrary = \"/l.so\"\nxids = \"/x.toml\"\n",
    )
    .unwrap();
    let one = |name: &str| vec![name.to_owned()];
    let seconds = Duration::from_secs;
    let expected = Settings {
        disk: DiskSettings { enabled: false, interval: seconds(120), ignore: one("sd*") },
        memory: MemorySettings { enabled: false, interval: seconds(5), corrected_per_day: 7 },
        cpu: CpuSettings { enabled: false, interval: seconds(6) },
        pcie: PcieSettings { enabled: false, interval: seconds(7), corrected_per_hour: 8, ignore: one("0000:01:*") },
        fabric: FabricSettings {
            enabled: false,
            interval: seconds(8),
            expected: one("mlx5_0/1"),
            ignore: one("mlx5_3/*"),
        },
        gpu: GpuSettings {
            enabled: false,
            interval: seconds(9),
            expected: Some(8),
            library: Some("/l.so".into()),
            xids: Some("/x.toml".into()),
        },
        ..Settings::default()
    };
    assert_eq!(settings, expected);
}

#[test]
fn a_later_file_has_the_last_word_key_by_key() {
    let first = "[disk]\nignore = [\"sda\"]\ninterval = \"2m\"\n[gpu]\nexpected = 8\n";
    let both = read_all(&[first, "[disk]\nignore = []\n[gpu]\nenabled = false\n"]).unwrap().checks;
    assert_eq!((both.disk.ignore.len(), both.disk.interval), (0, Duration::from_secs(120)));
    assert_eq!((both.gpu.expected, both.gpu.enabled), (Some(8), false));
}

#[test]
fn errors_are_reported_with_their_lines() {
    let diagnostics =
        parsed("[disk]\ninterval = \"5s\"\nignore = [\"a**b\"]\n[cpu]\ninterval = \"1s\"\nexpected = 1\n")
            .unwrap_err()
            .join("\n");
    for message in [
        "nodewell.toml:2: \"interval\" below 1m would keep disks awake",
        "nodewell.toml:3: \"a**b\"",
        "nodewell.toml:5: ",
        "nodewell.toml:6: ",
    ] {
        assert!(diagnostics.contains(message), "{message} in {diagnostics}");
    }
    assert!(parsed("[gpu]\ninterval = \"200h\"\n").unwrap_err()[0].contains("from 5s to 7d"));
}
