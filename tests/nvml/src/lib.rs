//! `libnvidia-ml.so.1` for the tests: the C functions that the GPU monitor calls, scripted by a file.
