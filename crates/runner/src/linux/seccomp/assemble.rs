//! From a rule to instructions of the kernel's packet filter ("classic BPF").
//!
//! A rule is a tree, and so is the program: a question is followed by all of its "yes", then by all of its "no", and
//! every path ends in an answer. Jumps go only forward and only over a "yes".

use libc::sock_filter;

use super::rule::{Question, Rule, Test, Word};

/// The program that answers like the rule.
pub(super) fn assemble(rule: &Rule) -> Vec<sock_filter> {
    below(rule, None)
}

/// The instructions for a rule where the register already holds these bits of that word.
fn below(rule: &Rule, held: Option<(Word, u32)>) -> Vec<sock_filter> {
    let (question, yes, no) = match rule {
        Rule::Is(answer) => return vec![plain(libc::BPF_RET | libc::BPF_K, answer.code())],
        Rule::If { question, yes, no } => (question, yes, no),
    };
    let wanted = (question.word, question.bits);
    let (yes, no) = (below(yes, Some(wanted)), below(no, Some(wanted)));
    let mut program = if held == Some(wanted) { vec![] } else { load(question) };
    program.extend(ask(question.test, yes.len()));
    program.extend(yes);
    program.extend(no);
    program
}

fn load(question: &Question) -> Vec<sock_filter> {
    let mut program = vec![plain(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, question.word.offset())];
    if question.bits != u32::MAX {
        program.push(plain(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, question.bits));
    }
    program
}

/// Goes on if the answer is yes, else over the next `yes` instructions. A conditional jump reaches 255 of them; beyond
/// that, it jumps over a jump.
fn ask(test: Test, yes: usize) -> Vec<sock_filter> {
    let (operation, k) = match test {
        Test::Equals(value) => (libc::BPF_JEQ, value),
        Test::AtLeast(value) => (libc::BPF_JGE, value),
        Test::Has(bits) => (libc::BPF_JSET, bits),
    };
    let code = code(libc::BPF_JMP | operation | libc::BPF_K);
    if let Ok(far) = u8::try_from(yes) {
        return vec![sock_filter { code, jt: 0, jf: far, k }];
    }
    // A length that does not fit here either is a jump out of the program, and no kernel takes such a program.
    let far = u32::try_from(yes).unwrap_or(u32::MAX);
    vec![sock_filter { code, jt: 1, jf: 0, k }, plain(libc::BPF_JMP | libc::BPF_JA, far)]
}

fn plain(operation: u32, k: u32) -> sock_filter {
    sock_filter { code: code(operation), jt: 0, jf: 0, k }
}

/// All operation codes fit; one that did not would be no instruction, and no kernel takes such a program.
fn code(operation: u32) -> u16 {
    u16::try_from(operation).unwrap_or(u16::MAX)
}
