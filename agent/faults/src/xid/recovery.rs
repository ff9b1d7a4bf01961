//! Xid 154: what the driver reports that a GPU needs before it can be used again. NVML has the same terms (from branch
//! 570).

use nodewell_model::{Action, Severity};

/// What a GPU needs: `nvmlGpuRecoveryAction_t`, and the text that the driver prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    None,
    GpuReset,
    NodeReboot,
    /// What talks to other GPUs over it has to end.
    DrainPeers,
    DrainAndReset,
}

impl Recovery {
    /// By NVML's number.
    #[must_use]
    pub fn numbered(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::GpuReset,
            2 => Self::NodeReboot,
            3 => Self::DrainPeers,
            4 => Self::DrainAndReset,
            _ => return None,
        })
    }

    /// The new one of `GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)`. A number that is not
    /// known is judged by its text; a line that was cut proves nothing.
    #[must_use]
    pub fn changed_to(text: &str) -> Option<Self> {
        let (_, change) = text.split_once("recovery action changed from ")?;
        let (_, to) = change.split_once(" to 0x")?;
        let (number, words) = to.split_at(to.bytes().take_while(u8::is_ascii_hexdigit).count());
        let number = u32::from_str_radix(number, 16).ok()?;
        Self::numbered(number).or_else(|| Self::worded(words.to_ascii_lowercase().as_str()))
    }

    fn worded(words: &str) -> Option<Self> {
        if words.contains("reboot") {
            Some(Self::NodeReboot)
        } else if words.contains("reset") {
            Some(Self::GpuReset)
        } else {
            None
        }
    }

    /// What people should do.
    #[must_use]
    pub fn action(self) -> Action {
        match self {
            Self::None => Action::None,
            Self::GpuReset | Self::DrainAndReset => Action::ResetGpu,
            Self::NodeReboot => Action::Reboot,
            Self::DrainPeers => Action::RestartApp,
        }
    }

    /// How bad it is for the GPU's programs.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::None => Severity::Info,
            Self::DrainPeers => Severity::Warn,
            Self::GpuReset | Self::DrainAndReset => Severity::Error,
            Self::NodeReboot => Severity::Critical,
        }
    }
}
