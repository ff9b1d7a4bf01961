//! Asks one SATA disk, its commands wrapped in SCSI's ATA PASS-THROUGH (16) (SAT-3 12.2.2): first whether it sleeps.

pub mod page;

use super::{
    part::Part,
    reading::{AtaReading, Health, Identity, SelfTest, Smart},
    scsi::{ScsiDevice, ask, sense::Registers, sense::Sense, unbelievable},
};
use crate::probe::ReadError;
use page::{IdentifyDevice, Thresholds};

const PASS_THROUGH_16: u8 = 0x85;
const BLOCK_BYTES: usize = 512;

/// ATA commands (ACS-3 7).
const CHECK_POWER_MODE: u8 = 0xe5;
const IDENTIFY_DEVICE: u8 = 0xec;
const SMART: u8 = 0xb0;
/// Features of SMART.
const READ_DATA: u8 = 0xd0;
const READ_THRESHOLDS: u8 = 0xd1;
const READ_LOG: u8 = 0xd5;
const RETURN_STATUS: u8 = 0xda;
/// SMART's key in the LBA registers.
const SMART_LBA: (u8, u8) = (0x4f, 0xc2);
/// The same registers after RETURN STATUS, if a threshold is exceeded.
const FAILING_LBA: (u8, u8) = (0xf4, 0x2c);
const SELF_TEST_LOG: u8 = 0x06;

/// One command.
#[derive(Default)]
struct Command {
    command: u8,
    feature: u8,
    lba_low: u8,
    lba: (u8, u8),
}

/// The whole disk, and its identity.
pub(super) fn read(device: &mut impl ScsiDevice) -> Result<(Option<Identity>, Health), ReadError> {
    if is_asleep(device)? {
        return Ok((None, Health::Asleep));
    }
    let block = data(device, "IDENTIFY DEVICE", &Command { command: IDENTIFY_DEVICE, ..Command::default() })?;
    let identify = IdentifyDevice::parse(&block).map_err(unbelievable)?;
    let reading = match identify.smart {
        Smart::On => smart(device, &identify)?,
        off => AtaReading { smart: off, ..AtaReading::default() },
    };
    Ok((Some(identify.identity), Health::Ata(reading)))
}

fn smart(device: &mut impl ScsiDevice, identify: &IdentifyDevice) -> Result<AtaReading, ReadError> {
    let failing = Part::of(is_failing(device))?;
    // Obsolete since ATA-8, but where it is there it is the device's own report.
    let thresholds = Part::of(smart_block(device, READ_THRESHOLDS, 0).and_then(|block| thresholds(&block)))?;
    let attributes = smart_block(device, READ_DATA, 0)
        .and_then(|block| page::attributes(&block, thresholds.read()).map_err(unbelievable));
    Ok(AtaReading {
        smart: Smart::On,
        is_solid_state: identify.is_solid_state,
        failing,
        attributes: Part::of(attributes)?,
        thresholds: thresholds.map(drop),
        self_test: if identify.has_self_test_log { Part::of(self_test(device))? } else { Part::Absent },
    })
}

fn thresholds(block: &[u8]) -> Result<Thresholds, ReadError> {
    Thresholds::parse(block).map_err(unbelievable)
}

fn self_test(device: &mut impl ScsiDevice) -> Result<Option<SelfTest>, ReadError> {
    let block = smart_block(device, READ_LOG, SELF_TEST_LOG)?;
    page::self_test(&block).map_err(unbelievable)
}

/// A disk that does not report its power mode is awake: old ones do not know the question, and some controllers drop
/// the answer.
fn is_asleep(device: &mut impl ScsiDevice) -> Result<bool, ReadError> {
    /// Standby, and standby_y.
    const STANDBY: [u8; 2] = [0x00, 0x01];
    match registers(device, "CHECK POWER MODE", &Command { command: CHECK_POWER_MODE, ..Command::default() }) {
        Ok(registers) => Ok(STANDBY.contains(&registers.count)),
        Err(ReadError::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_failing(device: &mut impl ScsiDevice) -> Result<bool, ReadError> {
    let command = Command { command: SMART, feature: RETURN_STATUS, lba: SMART_LBA, ..Command::default() };
    let registers = registers(device, "SMART RETURN STATUS", &command)?;
    match (registers.lba_middle, registers.lba_high) {
        SMART_LBA => Ok(false),
        FAILING_LBA => Ok(true),
        (middle, high) => Err(ReadError::Failed {
            message: format!("SMART RETURN STATUS: neither yes nor no ({middle:02x}, {high:02x})"),
        }),
    }
}

fn smart_block(device: &mut impl ScsiDevice, feature: u8, lba_low: u8) -> Result<[u8; BLOCK_BYTES], ReadError> {
    data(device, &format!("SMART {feature:02x}h"), &Command { command: SMART, feature, lba_low, lba: SMART_LBA })
}

/// PIO data-in of one block.
fn data(device: &mut impl ScsiDevice, what: &str, command: &Command) -> Result<[u8; BLOCK_BYTES], ReadError> {
    const PIO_IN: u8 = 4 << 1;
    /// From the device, in blocks, as many as the count field gives.
    const FROM_DEVICE: u8 = 0x08 | 0x04 | 0x02;
    let mut block = [0; BLOCK_BYTES];
    let reply = ask(device, what, &command.wrapped(PIO_IN, FROM_DEVICE, 1), &mut block)?;
    if reply.length < BLOCK_BYTES {
        return Err(ReadError::Failed { message: format!("{what}: {} bytes came", reply.length) });
    }
    Ok(block)
}

/// A command without data, whose answer is in the registers.
fn registers(device: &mut impl ScsiDevice, what: &str, command: &Command) -> Result<Registers, ReadError> {
    const NO_DATA: u8 = 3 << 1;
    const CHECK_CONDITION: u8 = 0x20;
    let reply = ask(device, what, &command.wrapped(NO_DATA, CHECK_CONDITION, 0), &mut [])?;
    let registers = Sense::parse(&reply.sense).and_then(|sense| sense.ata);
    registers.ok_or_else(|| ReadError::Unsupported { message: format!("{what}: no registers came back") })
}

impl Command {
    fn wrapped(&self, protocol: u8, flags: u8, blocks: u8) -> [u8; 16] {
        let mut bytes = [0; 16];
        (bytes[0], bytes[1], bytes[2]) = (PASS_THROUGH_16, protocol, flags);
        (bytes[4], bytes[6], bytes[8]) = (self.feature, blocks, self.lba_low);
        (bytes[10], bytes[12], bytes[14]) = (self.lba.0, self.lba.1, self.command);
        bytes
    }
}

#[cfg(test)]
mod tests;
