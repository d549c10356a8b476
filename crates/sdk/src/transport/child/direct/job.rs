//! A Windows job: the child and all that it starts, which the system ends when the job is closed.
//! That is when this process ends, in whatever way.

use std::{
    ffi::c_void,
    io,
    mem::size_of,
    os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    ptr::null,
};

use tokio::process::{Child, Command};
use windows_sys::Win32::System::{
    JobObjects::{
        AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
        JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
        QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
    },
    Threading::CREATE_NO_WINDOW,
};

/// The job that a child is in.
#[derive(Debug)]
pub(super) struct Tree {
    job: OwnedHandle,
    id: u32,
}

impl Tree {
    /// Keeps the child from opening a window for its console.
    pub(super) fn prepare(command: &mut Command) {
        command.creation_flags(CREATE_NO_WINDOW);
    }

    /// Puts the child in a job. What it has started by then is not in it.
    pub(super) fn new(child: &Child) -> io::Result<Self> {
        let ended = || io::Error::other("the child has no process id");
        let (id, process) = child.id().zip(child.raw_handle()).ok_or_else(ended)?;
        #[expect(unsafe_code, reason = "the system's interface")]
        // SAFETY: both arguments may be null. The handle is checked, new, and owned by nobody.
        let job = unsafe {
            let job = CreateJobObjectW(null(), null());
            if job.is_null() {
                return Err(io::Error::last_os_error());
            }
            OwnedHandle::from_raw_handle(job)
        };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        #[expect(unsafe_code, reason = "the system's interface")]
        // SAFETY: both handles are open during the calls, and the structure is the one that goes
        // with its constant and has the size that is given.
        let done = unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast::<c_void>(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            ) != 0
                && AssignProcessToJobObject(job.as_raw_handle(), process) != 0
        };
        if done { Ok(Self { job, id }) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn is_empty(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        #[expect(unsafe_code, reason = "the system's interface")]
        // SAFETY: the handle is open, and the structure is the one that goes with its constant and
        // has the size that is given; its length need not be told.
        let known = unsafe {
            QueryInformationJobObject(
                self.job.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut counts).cast::<c_void>(),
                size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32,
                std::ptr::null_mut(),
            )
        };
        known != 0 && counts.ActiveProcesses == 0
    }

    /// Nothing asks a process without a window to end but the closing of its stdin.
    pub(super) fn terminate(&self) {
        self.kill();
    }

    pub(super) fn kill(&self) {
        #[expect(unsafe_code, reason = "the system's interface")]
        // SAFETY: the handle is open. A failure means that nothing is left.
        unsafe {
            TerminateJobObject(self.job.as_raw_handle(), 1);
        }
    }
}
