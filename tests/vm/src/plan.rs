//! Which machine a guest is: its memory, its devices, its kernel's command line.

use std::{ffi::OsString, path::Path};

use crate::{disk::Backing, initramfs, kernel::Kernel};

/// What the kernel needs to read a disk with a whole system: behind virtio, an ext4.
const SYSTEM: [&str; 3] = ["virtio_blk", "crc32c_generic", "ext4"];

/// The first userland lies in memory, and the agent runs beside it.
const MEMORY_MIB: u32 = 768;

/// A guest that is to boot.
#[derive(Debug)]
pub struct Plan {
    /// The start of the command: what runs QEMU.
    within: Vec<OsString>,
    processors: u8,
    memory_mib: u32,
    modules: Vec<&'static str>,
    kernel: Vec<String>,
    devices: Vec<String>,
    reboots: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            within: Vec::new(),
            processors: 1,
            memory_mib: MEMORY_MIB,
            modules: Vec::new(),
            kernel: Vec::new(),
            devices: Vec::new(),
            reboots: false,
        }
    }
}

impl Plan {
    /// Loads these modules at boot, in this order.
    #[must_use]
    pub fn modules(mut self, modules: &[&'static str]) -> Self {
        self.modules.extend(modules);
        self
    }

    /// More arguments on the kernel's command line.
    #[must_use]
    pub fn kernel(mut self, words: &str) -> Self {
        self.kernel.push(words.to_owned());
        self
    }

    /// It runs in what this command enters: another network namespace.
    #[must_use]
    pub fn within(mut self, command: Vec<OsString>) -> Self {
        self.within = command;
        self
    }

    #[must_use]
    pub fn processors(mut self, count: u8) -> Self {
        self.processors = count;
        self
    }

    #[must_use]
    pub fn memory_mib(mut self, mib: u32) -> Self {
        self.memory_mib = mib;
        self
    }

    /// After a panic it boots again, which else ends it.
    #[must_use]
    pub fn reboots(mut self) -> Self {
        self.reboots = true;
        self
    }

    /// Any device, in QEMU's own syntax; `id=` is its name for QMP.
    #[must_use]
    pub fn device(mut self, words: &str) -> Self {
        self.devices.extend(["-device".to_owned(), words.to_owned()]);
        self
    }

    /// A PCI Express slot, where a device can be plugged and unplugged, and whose port reports errors.
    #[must_use]
    pub fn slot(self, id: &str, number: u8) -> Self {
        self.device(&format!("pcie-root-port,id={id},chassis={number},slot={number}"))
    }

    /// An NVMe disk `id`; in `slot`, if it names one.
    #[must_use]
    pub fn nvme(self, id: &str, backing: &dyn Backing, slot: Option<&str>) -> Self {
        let bus = slot.map_or_else(String::new, |slot| format!(",bus={slot}"));
        self.drive(id, backing).device(&format!("nvme,id={id},serial={id},drive=drive-{id}{bus}"))
    }

    /// A SATA disk `id` at port `port` of the machine's AHCI controller.
    #[must_use]
    pub fn sata(self, id: &str, backing: &dyn Backing, port: u8) -> Self {
        self.drive(id, backing).device(&format!("ide-hd,id={id},serial={id},drive=drive-{id},bus=ide.{port}"))
    }

    /// A SCSI disk `id` on a controller of its own.
    #[must_use]
    pub fn scsi(self, id: &str, backing: &dyn Backing) -> Self {
        self.scsi_like(id, backing, "")
    }

    /// The same, one that passes for a disk of this maker and model.
    #[must_use]
    pub fn scsi_of(self, id: &str, backing: &dyn Backing, [maker, model]: [&str; 2]) -> Self {
        self.scsi_like(id, backing, &format!(",vendor={maker},product={model}"))
    }

    fn scsi_like(self, id: &str, backing: &dyn Backing, likeness: &str) -> Self {
        let controller = self.drive(id, backing).device(&format!("virtio-scsi-pci,id=bus-{id}"));
        controller.device(&format!("scsi-hd,id={id},serial={id},drive=drive-{id},bus=bus-{id}.0{likeness}"))
    }

    /// A disk `id` in a slot of the RAID card `card`, which makes a volume of each.
    #[must_use]
    pub fn raid_disk(self, id: &str, backing: &dyn Backing, card: &str, slot: u8) -> Self {
        let place = format!("bus={card}.0,scsi-id={slot}");
        self.drive(id, backing).device(&format!("scsi-hd,id={id},serial={id},drive=drive-{id},{place}"))
    }

    /// Boots the system on an ext4, whose `nodewell-shell.service` is to run [`crate::shell_script`].
    #[must_use]
    pub fn system(self, backing: &dyn Backing) -> Self {
        let disk = self.modules(&SYSTEM).drive("system", backing).device("virtio-blk-pci,id=system,drive=drive-system");
        disk.kernel("nodewell.root=/dev/vda")
    }

    /// What its firmware calls it.
    #[must_use]
    pub fn system_uuid(mut self, uuid: &str) -> Self {
        self.devices.extend(["-uuid".to_owned(), uuid.to_owned()]);
        self
    }

    /// Memory of its firmware's, in which the kernel leaves what it said at last (ACPI's ERST); it stays in `file`.
    #[must_use]
    pub fn error_record_store(mut self, file: &Path) -> Self {
        let memory = format!("memory-backend-file,id=erst,mem-path={},size=64K,share=on", file.display());
        self.devices.extend(["-object".to_owned(), memory]);
        self.device("acpi-erst,memdev=erst")
    }

    /// A folder of this machine's that it can mount as `tag` (9p), to read.
    #[must_use]
    pub fn folder(mut self, tag: &str, folder: &Path) -> Self {
        let of = format!("local,id={tag},path={},security_model=none,readonly=on", folder.display());
        self.devices.extend(["-fsdev".to_owned(), of]);
        self.device(&format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"))
    }

    /// A BMC behind the Unix socket `path`, in the form of OpenIPMI's codec `VM`; KCS without an interrupt. QEMU ends with a
    /// segmentation fault where the wire is there before the interface: one that is tried again and again comes after it.
    #[must_use]
    pub fn bmc(mut self, path: &Path) -> Self {
        let socket = format!("socket,id=bmc-wire,path={},reconnect=1", path.display());
        self.devices.extend(["-chardev".to_owned(), socket]);
        self.device("ipmi-bmc-extern,id=bmc0,chardev=bmc-wire").device("isa-ipmi-kcs,bmc=bmc0,irq=0")
    }

    /// A network card whose cable ends in the tap `interface` of the namespace that QEMU runs in.
    #[must_use]
    pub fn tap(mut self, interface: &str, mac: &str) -> Self {
        let tap = format!("tap,id={interface},ifname={interface},script=no,downscript=no");
        self.devices.extend(["-netdev".to_owned(), tap]);
        self.device(&format!("virtio-net-pci,netdev={interface},mac={mac},romfile="))
    }

    /// A network card `id` whose cable ends nowhere, but is plugged in.
    #[must_use]
    pub fn network(self, id: &str) -> Self {
        // Without a program to boot from the network, which would wait for a key.
        self.device(&format!("virtio-net-pci,id={id},romfile="))
    }

    fn drive(mut self, id: &str, backing: &dyn Backing) -> Self {
        // Nothing is waited for that a crash of this machine could lose.
        let drive = format!("id=drive-{id},file={},format=raw,if=none,cache=unsafe", backing.file());
        self.devices.extend(["-drive".to_owned(), drive]);
        self
    }

    /// A module that is missing would be one line on the console, and a device without a driver.
    ///
    /// # Errors
    /// Which are missing, and what to do.
    pub(crate) fn has_modules(&self, kernel: &Kernel) -> Result<(), String> {
        initramfs::has_modules(kernel, &self.modules)
    }

    /// The whole command, with its sockets and logs in `folder`.
    pub(crate) fn argv(&self, kernel: &Kernel, folder: &Path) -> Vec<OsString> {
        let at = |name: &str| folder.join(name).display().to_string();
        let mut argv: Vec<String> =
            ["qemu-system-x86_64", "-accel", "tcg", "-machine", "q35"].map(str::to_owned).into();
        // A processor with banks for machine checks; TCG leaves out what it cannot do, and warns.
        let (processors, memory) = (self.processors.to_string(), self.memory_mib.to_string());
        argv.extend(["-cpu", "Haswell-v4", "-smp", &processors, "-m", &memory].map(str::to_owned));
        argv.extend(["-nodefaults", "-no-user-config", "-nographic"].map(str::to_owned));
        argv.extend((!self.reboots).then(|| "-no-reboot".to_owned()));
        argv.extend(["-chardev".to_owned(), format!("file,id=console,path={}", at(CONSOLE))]);
        argv.extend(["-serial", "chardev:console", "-device", "virtio-serial-pci"].map(str::to_owned));
        argv.extend(["-chardev".to_owned(), format!("socket,id=qmp,path={},server=on,wait=off", at(QMP))]);
        argv.extend(["-mon", "chardev=qmp,mode=control"].map(str::to_owned));
        argv.extend(["-chardev".to_owned(), format!("socket,id=shell,path={},server=on,wait=off", at(SHELL))]);
        argv.extend(["-device", "virtserialport,chardev=shell,name=shell"].map(str::to_owned));
        argv.extend(["-kernel".to_owned(), kernel.image().display().to_string()]);
        argv.extend(["-initrd".to_owned(), initramfs::path(kernel).display().to_string()]);
        argv.extend(["-append".to_owned(), self.command_line()]);
        argv.extend(self.devices.iter().cloned());
        self.within.iter().cloned().chain(argv.into_iter().map(OsString::from)).collect()
    }

    fn command_line(&self) -> String {
        // Errors and worse reach the console; the rest is for the agent alone.
        // The kernel tries its timer for some milliseconds only, and panics where a busy machine makes QEMU miss them.
        let mut words = vec!["console=ttyS0 loglevel=4 panic=-1 no_timer_check".to_owned()];
        words.push(format!("nodewell.modules={}", self.modules.join(",")));
        words.extend(self.kernel.iter().cloned());
        words.join(" ")
    }
}

/// Its serial console's log, in its folder.
pub(crate) const CONSOLE: &str = "console";
/// Where its monitor listens.
pub(crate) const QMP: &str = "qmp";
/// Where its shell is reached.
pub(crate) const SHELL: &str = "shell";
