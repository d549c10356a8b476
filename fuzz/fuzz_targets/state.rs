//! The target `state` of `carrick_soak::targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| carrick_soak::targets::run("state", data));
