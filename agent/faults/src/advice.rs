//! What people should do, in a sentence: for what names an action and no more.

use nodewell_model::Action;

/// What to do about a GPU, or what joins GPUs, that asks for `action`.
#[must_use]
pub fn of_gpus(action: Action) -> &'static str {
    match action {
        Action::None => "Nothing.",
        Action::Watch => "Nothing for one; look into it if more of them come, or if programs on the GPU fail.",
        Action::RestartApp => {
            "Restart the program that used the GPU. If it happens to other programs on the same GPU too, run the \
             vendor's diagnosis."
        }
        Action::ResetGpu => {
            "Drain the pods that use GPUs, `nodewell release gpu`, then `nvidia-smi --gpu-reset -i ADDRESS`; GPUs that are \
             joined by switches are reset together (without -i). If the reset fails, drain the node and reboot it."
        }
        Action::Reboot => {
            "Drain the node and reboot it. If it comes back, cut the power once; then have the hardware looked at."
        }
        Action::PowerCycle => "Drain the node, switch it off, cut its standby power for a moment.",
        Action::CheckCooling => "Check fans, air flow and dust, and how hot the air comes in.",
        Action::CheckCabling => "Check cables, connectors and seats of the link; swap them to see whether it moves.",
        Action::CheckConfiguration => "Check the versions and settings that the meaning names.",
        Action::InspectHardware | Action::ReplaceHardware => {
            "Drain the node and have the hardware looked at: seat, power, connectors; then the vendor's diagnosis."
        }
        _ => "See the meaning.",
    }
}
