//! What a rule is: an answer, or a question about the call and a rule for each way it can go.

/// What the kernel does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Makes it.
    Allow,
    /// Fails with this error number, and makes nothing.
    Fail(i32),
    /// Ends the process.
    Kill,
}

impl Answer {
    /// What a program gets that asks for a privilege.
    pub(super) const NO_RIGHT: Self = Self::Fail(libc::EPERM);
    /// What a program gets that should find another way.
    pub(super) const NO_CALL: Self = Self::Fail(libc::ENOSYS);

    /// The value a filter returns for it.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Fail(error) => libc::SECCOMP_RET_ERRNO | (error.unsigned_abs() & libc::SECCOMP_RET_DATA),
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rule {
    /// The answer is known.
    Is(Answer),
    /// It depends.
    If {
        /// On what.
        question: Question,
        /// The rule if so.
        yes: Box<Rule>,
        /// The rule if not.
        no: Box<Rule>,
    },
}

impl From<Answer> for Rule {
    fn from(answer: Answer) -> Self {
        Self::Is(answer)
    }
}

/// A question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question {
    /// The word it is about.
    pub(super) word: Word,
    /// The bits of it that count.
    pub(super) bits: u32,
    /// What is asked of them.
    pub(super) test: Test,
}

/// What can be asked of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// Is it this?
    Equals(u32),
    /// Is it this or more?
    AtLeast(u32),
    /// Is one of these bits set?
    Has(u32),
}

impl Question {
    /// One rule if so, another if not.
    pub(super) fn then(self, yes: impl Into<Rule>, no: impl Into<Rule>) -> Rule {
        Rule::If { question: self, yes: Box::new(yes.into()), no: Box::new(no.into()) }
    }
}

/// The parts of a call, of 32 bits each: a filter sees no more at a time.
///
/// The kernel declares nearly all arguments that we look at as 32 bits wide and ignores what is above, so the low word
/// is the argument, and to look at the high one would let a caller hide the low one behind it. Pointers have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The number of the call.
    Number,
    /// The table that number is of.
    Architecture,
    /// The low half of an argument, counted from 0.
    Low(u8),
    /// The high half.
    High(u8),
}

impl Word {
    /// Where it lies in `struct seccomp_data`, on a little-endian machine.
    pub(super) fn offset(self) -> u32 {
        match self {
            Self::Number => 0,
            Self::Architecture => 4,
            Self::Low(argument) => 16 + 8 * u32::from(argument),
            Self::High(argument) => 20 + 8 * u32::from(argument),
        }
    }

    /// Is it this?
    pub(super) fn equals(self, value: u32) -> Question {
        self.masked(u32::MAX, value)
    }

    /// Is it this, of these bits?
    pub(super) fn masked(self, bits: u32, value: u32) -> Question {
        Question { word: self, bits, test: Test::Equals(value) }
    }

    /// Is it this or more?
    pub(super) fn at_least(self, value: u32) -> Question {
        Question { word: self, bits: u32::MAX, test: Test::AtLeast(value) }
    }

    /// Is one of these bits set?
    pub(super) fn has(self, bits: u32) -> Question {
        Question { word: self, bits: u32::MAX, test: Test::Has(bits) }
    }

    /// A rule for each value of some bits of it, and one for all others.
    pub(super) fn choose(self, bits: u32, cases: Vec<(i32, Rule)>, others: impl Into<Rule>) -> Rule {
        cases.into_iter().rev().fold(others.into(), |otherwise, (value, rule)| {
            self.masked(bits, value.cast_unsigned()).then(rule, otherwise)
        })
    }
}
