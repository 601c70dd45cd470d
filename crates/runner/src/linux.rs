//! What Linux offers to hold a program: the means, and what each of them could not give on this machine.

#[cfg(test)]
mod attempt;
#[cfg_attr(not(test), expect(dead_code, reason = "the launcher will put it up"))]
mod landlock;
#[cfg_attr(not(test), expect(dead_code, reason = "the launcher will install it"))]
mod seccomp;
#[cfg_attr(not(test), expect(dead_code, reason = "the launcher will call it"))]
mod sys;
