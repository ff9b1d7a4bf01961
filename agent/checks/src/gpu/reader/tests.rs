use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use tempfile::TempDir;

use super::*;
use crate::gpu::{Ecc, FabricState, Mig, Remap, Retired, XidEvent};
use crate::probe::device_file::tests::{add, mount_dev};

const ONE: &str = "0000:05:00.0";
const TWO: &str = "0000:b6:00.0";

/// The simulated library, built once. Cargo puts it beside what it built this test into.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let mut build = nodewell_kit::cargo(Path::new(env!("CARGO_MANIFEST_DIR")));
    build.args(["build", "--quiet", "-p", "nodewell-fake-nvml", "--target-dir"]);
    assert!(build.arg(target).status().unwrap().success());
    target.join("debug/libnodewell_fake_nvml.so")
});

/// A machine with simulated GPUs: a sysfs tree and a copy of the library with a script of its own.
struct Machine {
    root: TempDir,
}

impl Machine {
    /// GPUs at these addresses, which answer and support what `values` contain.
    fn new(gpus: &[(&str, &str)]) -> Self {
        let machine = Self { root: TempDir::new().unwrap() };
        fs::copy(&*LIBRARY, machine.library()).unwrap();
        machine.load_module();
        for (address, _) in gpus {
            machine.plug(address, "0x10de", "nvidia");
        }
        machine.script(&gpus.iter().map(|(address, values)| format!("gpu {address} {values}\n")).collect::<String>());
        machine
    }

    fn library(&self) -> PathBuf {
        self.root.path().join("libnvidia-ml.so.1")
    }

    fn script(&self, text: &str) {
        let (script, new) = (self.root.path().join("libnvidia-ml.so.1.script"), self.root.path().join("new"));
        fs::write(&new, text).unwrap();
        fs::rename(new, script).unwrap();
    }

    fn add(&self, line: &str) {
        let script = self.root.path().join("libnvidia-ml.so.1.script");
        self.script(&format!("{}{line}\n", fs::read_to_string(script).unwrap()));
    }

    fn load_module(&self) {
        let module = self.root.path().join("module/nvidia");
        fs::create_dir_all(&module).unwrap();
        fs::write(module.join("version"), "580.65.06\n").unwrap();
    }

    fn device(&self, address: &str) -> PathBuf {
        self.root.path().join("bus/pci/devices").join(address)
    }

    fn plug(&self, address: &str, vendor: &str, driver: &str) {
        let device = self.device(address);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("vendor"), format!("{vendor}\n")).unwrap();
        fs::write(device.join("class"), "0x030200\n").unwrap();
        fs::write(device.join("config"), b"\xde\x10\x30\x23").unwrap();
        let drivers = self.root.path().join("bus/pci/drivers").join(driver);
        fs::create_dir_all(&drivers).unwrap();
        symlink(drivers, device.join("driver")).unwrap();
    }

    fn reader(&self) -> GpuReader {
        let roots = Roots { sys: self.root.path().to_owned(), ..Roots::default() };
        GpuReader::new(roots, &GpuSettings { library: Some(self.library()), ..GpuSettings::default() })
    }
}

fn gpu(reader: &mut GpuReader, address: &str) -> GpuReading {
    match reader.read(address).unwrap().parse().unwrap() {
        DeviceReading::Gpu(gpu) => *gpu,
        DeviceReading::Driver(driver) => panic!("{driver:?}"),
    }
}

fn driver(reader: &mut GpuReader) -> DriverReading {
    match reader.read(DRIVER).unwrap().parse().unwrap() {
        DeviceReading::Driver(driver) => driver,
        DeviceReading::Gpu(gpu) => panic!("{gpu:?}"),
    }
}

/// Takes a name out of a library's table: the library of a driver that does not have the function yet.
fn blot_out(library: &Path, function: &str) {
    let mut bytes = fs::read(library).unwrap();
    let name = format!("\0{function}\0").into_bytes();
    let places: Vec<_> = bytes.windows(name.len()).enumerate().filter(|(_, window)| *window == name).collect();
    let places: Vec<_> = places.into_iter().map(|(place, _)| place + 1).collect();
    assert!(!places.is_empty(), "{function} is in the library");
    places.into_iter().for_each(|place| bytes[place] = b'x');
    fs::write(library, bytes).unwrap();
}

#[test]
fn all_that_is_judged_is_read() {
    let values = "name=NVIDIA_H100 uuid=GPU-1 serial=165 vbios=96.00.61.00.01 ecc=1,2,3,4 slowdown=0x48 \
                  retire-pending=1 links=101 fabric=3,0,0x155 mig=0,1 persistence=1 energy=77 field-144=1 \
                  field-145=0 field-29=10 field-30=2 field-230=1";
    let machine = Machine::new(&[(ONE, values), (TWO, "")]);
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE, TWO]);
    let read = gpu(&mut reader, ONE);
    let ecc = Ecc { corrected: Some(1), uncorrected: Some(2), corrected_ever: Some(3), uncorrected_ever: Some(4) };
    let identity = super::super::Identity {
        name: Some("NVIDIA H100".into()),
        uuid: Some("GPU-1".into()),
        serial: Some("165".into()),
        vbios: Some("96.00.61.00.01".into()),
    };
    let expected = GpuReading {
        vendor: Vendor::Nvidia,
        identity,
        access: Access::Answers,
        ecc: Some(ecc),
        remap: Some(Remap { pending: true, failed: false }),
        retired: Some(Retired { pages: Some(12), pending: true }),
        slowdown: Some(0x48),
        links: vec![Some(true), Some(false), Some(true)],
        fabric: Some(FabricState { state: 3, status: 0, health_mask: 0x155 }),
        mig: Some(Mig { current: 0, pending: 1 }),
        persistence: Some(true),
        recovery: Some(1),
        energy_millijoules: Some(77),
        missing_file: None,
        read_at: read.read_at,
    };
    assert_eq!(read, expected);
    assert_ne!(read.read_at, Timestamp::default());

    let nothing = gpu(&mut reader, TWO);
    assert_eq!(nothing, GpuReading { vendor: Vendor::Nvidia, read_at: nothing.read_at, ..GpuReading::default() });
    assert_eq!(driver(&mut reader).version.as_deref(), Some("580.65.06"));
}

#[test]
fn sixteen_gpus_are_read_and_one_that_is_lost_is_reported() {
    let addresses: Vec<_> = (0..16).map(|bus| format!("0000:{bus:02x}:00.0")).collect();
    let gpus: Vec<_> = addresses.iter().map(|address| (address.as_str(), "ecc=0,0,0,0")).collect();
    let machine = Machine::new(&gpus);
    machine.add(&format!("fail all 15 {}", addresses[9]));
    let mut reader = machine.reader();
    let listed = reader.list().unwrap();
    let lost: Vec<_> = listed[1..].iter().filter(|name| gpu(&mut reader, name).access == Access::Lost).collect();
    assert_eq!((listed.len(), lost), (17, vec![&addresses[9]]));
}

#[test]
fn what_the_library_answers_for_a_gpu_reports_how_it_can_be_reached() {
    for (code, access) in [
        (15, Access::Lost),
        (16, Access::ResetRequired),
        (8, Access::NoPower),
        (11, Access::NoInterrupts),
        (6, Access::Unlisted),
    ] {
        let machine = Machine::new(&[(ONE, "")]);
        machine.add(&format!("fail nvmlDeviceGetHandleByPciBusId_v2 {code} {ONE}"));
        assert_eq!(gpu(&mut machine.reader(), ONE).access, access, "{code}");
    }
    let machine = Machine::new(&[(ONE, "")]);
    machine.add(&format!("fail nvmlDeviceGetHandleByPciBusId_v2 999 {ONE}"));
    assert!(matches!(machine.reader().read(ONE), Err(ReadError::Failed { .. })));
}

#[test]
fn a_gpu_that_is_lost_between_two_questions_is_lost() {
    let machine = Machine::new(&[(ONE, "ecc=0,0,0,0 persistence=1")]);
    let mut reader = machine.reader();
    assert_eq!(gpu(&mut reader, ONE).access, Access::Answers);
    machine.add(&format!("fail nvmlDeviceGetTotalEccErrors 15 {ONE}"));
    assert_eq!(gpu(&mut reader, ONE).access, Access::Lost);
}

#[test]
fn a_part_that_is_not_found_is_no_gpu_that_is_not_found() {
    for code in [6, 8, 11] {
        let machine = Machine::new(&[(ONE, "ecc=0,0,0,0 persistence=1")]);
        machine.add(&format!("fail nvmlDeviceGetPersistenceMode {code} {ONE}"));
        let reading = gpu(&mut machine.reader(), ONE);
        assert_eq!((reading.access, reading.persistence), (Access::Answers, None), "{code}");
        assert!(reading.ecc.is_some());
    }
}

#[test]
fn the_bus_reports_that_a_gpu_is_lost_though_the_library_hangs() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.add("hang nvmlInit_v2");
    fs::write(machine.device(ONE).join("config"), [0xff; 64]).unwrap();
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE]);
    assert_eq!(gpu(&mut reader, ONE).access, Access::Lost);
}

#[test]
fn a_gpu_that_sleeps_is_not_woken() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.add("hang nvmlInit_v2");
    fs::create_dir(machine.device(ONE).join("power")).unwrap();
    fs::write(machine.device(ONE).join("power/runtime_status"), "suspended\n").unwrap();
    assert_eq!(gpu(&mut machine.reader(), ONE).access, Access::Asleep);
}

#[test]
fn another_order_after_a_reset_changes_nothing() {
    let machine = Machine::new(&[(ONE, "uuid=GPU-1"), (TWO, "uuid=GPU-2")]);
    let mut reader = machine.reader();
    let before = gpu(&mut reader, TWO).identity;
    machine.script(&format!("gpu {TWO} uuid=GPU-2\ngpu {ONE} uuid=GPU-1\n"));
    assert_eq!(gpu(&mut reader, TWO).identity, before);
    assert_eq!(before.uuid.as_deref(), Some("GPU-2"));
}

#[test]
fn a_gpu_that_came_after_the_librarys_start_is_found() {
    let machine = Machine::new(&[(ONE, "")]);
    let mut reader = machine.reader();
    assert_eq!(gpu(&mut reader, ONE).access, Access::Answers);
    machine.plug(TWO, "0x10de", "nvidia");
    machine.add(&format!("gpu {TWO}"));
    assert_eq!(gpu(&mut reader, TWO).access, Access::Answers);
}

#[test]
fn an_older_drivers_library_lacks_functions_and_works() {
    let machine = Machine::new(&[(ONE, "ecc=0,1,0,1 mig=0,0 fabric=3,0,0 field-144=1")]);
    for function in
        ["nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetMigMode", "nvmlDeviceGetFieldValues", "nvmlEventSetFree"]
    {
        blot_out(&machine.library(), function);
    }
    let mut reader = machine.reader();
    reader.list().unwrap();
    driver(&mut reader);
    reader.list().unwrap();
    assert!(!reader.has_events(), "a set that cannot be freed is not made");
    let read = gpu(&mut reader, ONE);
    assert_eq!((read.fabric, read.mig, read.remap, read.recovery), (None, None, None, None));
    assert_eq!(read.ecc.unwrap().uncorrected, Some(1));
}

#[test]
fn what_is_not_there_is_gone_and_the_driver_may_come_late() {
    let machine = Machine::new(&[(ONE, "")]);
    fs::remove_dir_all(machine.root.path().join("module")).unwrap();
    let mut reader = machine.reader();
    assert!(matches!(reader.list(), Err(ReadError::Gone { .. })));
    machine.load_module();
    fs::rename(machine.library(), machine.root.path().join("later")).unwrap();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE]);
    assert_eq!(reader.read(ONE), Err(ReadError::Gone { what: "libnvidia-ml.so.1".into() }));
    fs::rename(machine.root.path().join("later"), machine.library()).unwrap();
    assert!(matches!(reader.read(ONE), Err(ReadError::Gone { .. })), "tried once in a round");
    reader.list().unwrap();
    assert_eq!(gpu(&mut reader, ONE).access, Access::Answers);
    assert_eq!(reader.read(TWO), Err(ReadError::Gone { what: TWO.into() }));
}

#[test]
fn a_library_that_the_driver_refuses_is_a_mismatch() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.add("fail nvmlInit_v2 18");
    let mut reader = machine.reader();
    reader.list().unwrap();
    assert!(driver(&mut reader).mismatch);
    assert!(matches!(reader.read(ONE), Err(ReadError::Failed { .. })));
    machine.script(&format!("gpu {ONE}\n"));
    reader.list().unwrap();
    assert!(!driver(&mut reader).mismatch);
}

#[test]
fn a_driver_without_gpus_is_read_without_the_library() {
    let machine = Machine::new(&[]);
    machine.add("fail nvmlInit_v2 999");
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER]);
    assert!(!reader.has_events());
    assert!(!driver(&mut reader).mismatch);
}

#[test]
fn gpus_of_others_are_not_listed_but_named() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.plug(TWO, "0x10de", "vfio-pci");
    machine.plug("0000:c1:00.0", "0x8086", "i915");
    machine.plug("0000:c2:00.0", "0x1002", "amdgpu");
    machine.plug("0000:c3:00.0", "0x1002", "amdgpu");
    let ras = machine.device("0000:c3:00.0").join("ras");
    fs::create_dir(&ras).unwrap();
    fs::write(ras.join("umc_err_count"), "ue: 1\nce: 4\n").unwrap();
    fs::write(ras.join("gfx_err_count"), "ue: 2\nce: 0\nde: 9\n").unwrap();
    fs::write(ras.join("features"), "feature mask: 0x3fff\n").unwrap();
    fs::write(machine.device("0000:c3:00.0").join("vbios_version"), "113-D65209-080\n").unwrap();
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE, "0000:c3:00.0"]);
    assert_eq!(driver(&mut reader).elsewhere, [TWO]);
    let amd = gpu(&mut reader, "0000:c3:00.0");
    assert_eq!((amd.vendor, amd.ecc.unwrap().uncorrected, amd.ecc.unwrap().corrected), (Vendor::Amd, Some(3), Some(4)));
    assert_eq!(amd.identity.vbios.as_deref(), Some("113-D65209-080"));
}

#[test]
fn the_files_of_an_amd_gpu_are_looked_for() {
    let machine = Machine::new(&[]);
    machine.plug(ONE, "0x1002", "amdgpu");
    fs::create_dir(machine.device(ONE).join("ras")).unwrap();
    let root = machine.root.path();
    let roots = Roots { sys: root.to_owned(), proc: root.join("proc"), dev: root.join("dev"), ..Roots::default() };
    mount_dev(&roots, &["devtmpfs"]);
    let missing = || {
        let mut reader = GpuReader::new(roots.clone(), &GpuSettings::default());
        gpu(&mut reader, ONE).missing_file
    };
    assert_eq!(missing(), None, "the kernel has neither");
    add(&root.join("class/kfd/kfd"), "DEVNAME=kfd\n");
    add(&machine.device(ONE).join("drm/card0"), "DEVNAME=dri/card0\n");
    add(&machine.device(ONE).join("drm/renderD128"), "DEVNAME=dri/renderD128\n");
    assert_eq!(missing().as_deref(), Some("kfd"));
    fs::create_dir_all(root.join("dev/dri")).unwrap();
    fs::write(root.join("dev/kfd"), "").unwrap();
    assert_eq!(missing().as_deref(), Some("dri/renderD128"));
    fs::write(root.join("dev/dri/renderD128"), "").unwrap();
    assert_eq!(missing(), None);
}

#[test]
fn a_slice_for_a_virtual_machine_is_no_gpu() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.plug(TWO, "0x10de", "nvidia");
    symlink(machine.device(ONE), machine.device(TWO).join("physfn")).unwrap();
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE]);
}

#[test]
fn switches_are_no_gpus_and_known_to_the_driver() {
    let machine = Machine::new(&[(ONE, "")]);
    machine.plug(TWO, "0x10de", "nvidia-nvswitch");
    fs::write(machine.device(TWO).join("class"), "0x068000\n").unwrap();
    let mut reader = machine.reader();
    assert_eq!(reader.list().unwrap(), [DRIVER, ONE]);
    assert_eq!(driver(&mut reader).switches, [TWO]);
}

#[test]
fn xids_are_waited_for_and_a_storm_is_counted() {
    let machine = Machine::new(&[(ONE, ""), (TWO, "no-events")]);
    machine.add(&format!("event {ONE} 13 7"));
    let mut reader = machine.reader();
    assert!(!reader.has_events(), "no GPU is known");
    reader.list().unwrap();
    assert!(reader.has_events(), "nothing better is known yet");
    driver(&mut reader);
    assert!(reader.has_events());
    let wait = |reader: &mut GpuReader| -> Vec<XidEvent> {
        let events = reader.wait(Duration::from_millis(20)).unwrap();
        events.into_iter().map(|events| events.parse().unwrap()).collect()
    };
    assert!(wait(&mut reader).is_empty(), "what was before is not news");
    machine.add(&format!("event {ONE} 31 1000\nevent {ONE} 79\nevent {TWO} 79"));
    let events = |xid, times| XidEvent { device: ONE.into(), xid, times };
    assert_eq!(wait(&mut reader), [events(31, 1000), events(79, 1)]);
    assert!(wait(&mut reader).is_empty());
}

#[test]
fn a_wait_that_fails_is_not_tried_until_the_next_round() {
    let machine = Machine::new(&[(ONE, "")]);
    let mut reader = machine.reader();
    reader.list().unwrap();
    driver(&mut reader);
    machine.add("fail nvmlEventSetWait_v2 15");
    assert!(reader.wait(Duration::ZERO).is_err());
    assert!(!reader.has_events());
    machine.script(&format!("gpu {ONE}\n"));
    driver(&mut reader);
    assert!(reader.has_events());
}
