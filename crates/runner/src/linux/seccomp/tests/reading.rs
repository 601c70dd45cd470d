//! The instructions, read as the kernel reads them: every number, and arguments around every value that matters.

use libc::sock_filter;

use super::{USUAL, filters};
use crate::linux::seccomp::rule::{Answer, Rule, Test, Word};
use crate::linux::seccomp::{ARCHITECTURE, Calls, assemble, by_number, program, table, whole};

/// A call as the kernel shows it to a filter.
#[derive(Debug, Clone, Copy)]
struct Shown {
    architecture: u32,
    number: u32,
    arguments: [u64; 6],
}

impl Shown {
    fn word(&self, word: Word) -> u32 {
        let argument = |at: u8| self.arguments[usize::from(at)];
        match word {
            Word::Number => self.number,
            Word::Architecture => self.architecture,
            Word::Low(at) => (argument(at) & 0xffff_ffff) as u32,
            Word::High(at) => (argument(at) >> 32) as u32,
        }
    }

    fn at(&self, offset: u32) -> u32 {
        match (offset, u8::try_from((offset / 8).saturating_sub(2)).unwrap()) {
            (0, _) => self.number,
            (4, _) => self.architecture,
            (_, argument) if offset.is_multiple_of(8) => self.word(Word::Low(argument)),
            (_, argument) => self.word(Word::High(argument)),
        }
    }
}

/// Runs the instructions; what they return, and how many it took.
fn run(program: &[sock_filter], call: &Shown) -> (u32, usize) {
    let (mut register, mut next) = (0, 0);
    for steps in 1.. {
        let sock_filter { code, jt, jf, k } = program[next];
        next += 1;
        match u32::from(code) {
            0x20 => register = call.at(k),
            0x54 => register &= k,
            0x05 => next += k as usize,
            0x15 => next += usize::from(if register == k { jt } else { jf }),
            0x35 => next += usize::from(if register >= k { jt } else { jf }),
            0x45 => next += usize::from(if register & k != 0 { jt } else { jf }),
            0x06 => return (k, steps),
            other => panic!("instruction {other:#x}"),
        }
    }
    unreachable!()
}

/// What a rule says, by walking it.
fn walk(rule: &Rule, call: &Shown) -> Answer {
    match rule {
        Rule::Is(answer) => *answer,
        Rule::If { question, yes, no } => {
            let word = call.word(question.word) & question.bits;
            let so = match question.test {
                Test::Equals(value) => word == value,
                Test::AtLeast(value) => word >= value,
                Test::Has(bits) => word & bits != 0,
            };
            walk(if so { yes } else { no }, call)
        }
    }
}

fn here(number: u32, arguments: [u64; 6]) -> Shown {
    Shown { architecture: ARCHITECTURE.unwrap(), number, arguments }
}

/// Values that rules ask for, their neighbours, and the same with something in the upper half.
fn values() -> Vec<u64> {
    let asked = [0, 1, 2, 3, 5, 6, 10, 16, 17, 31, 38, 40, 262, 0x5412, 0x541C, 0x541D, 0x5423, 0x8000];
    let asked = asked.into_iter().chain([
        0x2000,
        0x6000,
        0x2000_0000,
        0x1000_0000,
        0x0800,
        0x0400,
        0x0040,
        0x0040_0000,
        0xffff_ffff,
    ]);
    asked.flat_map(|value| [value, value + 1, value | 1 << 32, value | 0x8_0800]).collect()
}

#[test]
fn the_instructions_say_what_the_rules_say() {
    let values = values();
    for calls in filters() {
        let (rules, instructions) = (by_number(calls), program(calls).unwrap());
        let rule = whole(ARCHITECTURE.unwrap(), &rules);
        let said = |call: &Shown| {
            let expected = walk(&rule, call);
            assert_eq!(run(&instructions, call).0, expected.code(), "{call:?} with {calls:?}");
            expected
        };
        for number in 0..=table::NEWEST {
            let expected = rules.get(&number).cloned().unwrap_or(Answer::Allow.into());
            for (at, &value) in values.iter().enumerate() {
                let other = values[(at * 7 + number as usize) % values.len()];
                for arguments in [[value; 6], [0, value, other, value, 0, 0], [value, other, 0, 0, 0, 0]] {
                    let call = here(number, arguments);
                    assert_eq!(said(&call), walk(&expected, &call), "{call:?}");
                }
            }
        }
    }
}

#[test]
fn above_the_lid_there_is_nothing_and_x32_is_above() {
    let instructions = program(USUAL).unwrap();
    for number in [table::NEWEST + 1, 512, 547, 0x4000_0000, 0x4000_0000 + 272, 0x4000_0000 + 41, u32::MAX] {
        assert_eq!(run(&instructions, &here(number, [0; 6])).0, Answer::NO_CALL.code(), "{number}");
    }
}

#[test]
fn another_architecture_ends_the_process() {
    const I386: u32 = 0x4000_0003;
    let instructions = program(USUAL).unwrap();
    for architecture in [I386, 0x4000_0028, 0, u32::MAX] {
        let call = Shown { architecture, ..here(0, [0; 6]) };
        assert_eq!(run(&instructions, &call).0, Answer::Kill.code(), "{architecture:#x}");
    }
}

#[test]
fn what_is_always_allowed_is_known_from_the_number_alone_and_soon() {
    for calls in filters() {
        let (rules, instructions) = (by_number(calls), program(calls).unwrap());
        assert!(
            instructions.len() < 4096,
            "{} instructions are more than the kernel takes",
            instructions.len()
        );
        let allowed = (0..=table::NEWEST).filter(|number| !rules.contains_key(number));
        for number in allowed {
            let (answer, steps) = run(&instructions, &here(number, [u64::MAX; 6]));
            assert_eq!(answer, Answer::Allow.code(), "{number}");
            assert!(steps <= 12, "{number} takes {steps} steps");
        }
    }
}

#[test]
fn no_call_has_two_rules() {
    for calls in filters() {
        let groups = table::TABLE.iter().chain(table::ONLY_HERE);
        let named: usize = groups.map(|group| group.calls.len()).sum();
        let argued = crate::linux::seccomp::arguments::rules(calls).len();
        assert_eq!(by_number(calls).len(), named + argued);
    }
}

#[test]
fn a_jump_reaches_over_a_long_rule() {
    let long = |end: Answer| {
        (0..300).fold(Rule::from(end), |rule, value| Word::Low(0).equals(value).then(Answer::Kill, rule))
    };
    let rule = Word::Number.equals(7).then(long(Answer::Allow), long(Answer::NO_RIGHT));
    let instructions = assemble::assemble(&rule);
    for (number, argument) in [(7, 0), (7, 299), (7, 300), (8, 0), (8, 299), (8, 300)] {
        let call = here(number, [argument; 6]);
        assert_eq!(run(&instructions, &call).0, walk(&rule, &call).code(), "{call:?}");
    }
}

#[test]
fn more_network_never_means_less_of_anything() {
    let wide = |network| program(Calls { network, unix_sockets: true, listen: true }).unwrap();
    let (off, full) = (wide(crate::order::Network::Off), wide(crate::order::Network::Full));
    let values = values();
    for number in 0..=table::NEWEST {
        for &value in &values {
            let call = here(number, [value; 6]);
            if run(&off, &call).0 == Answer::Allow.code() {
                assert_eq!(run(&full, &call).0, Answer::Allow.code(), "{call:?}");
            }
        }
    }
}
