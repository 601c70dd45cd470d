//! A program as a tree. Its depth is bounded by the parser, because chains of operators and of suffixes lie flat.

use num_bigint::BigInt;
use std::sync::Arc;

/// A place in the text: both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Where a name's value lies; the resolver decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the frame of the function, by slot.
    Local(usize),
    /// In a variable of an enclosing function, by its number among those captured.
    Free(usize),
    /// Among the names of the module.
    Global(usize),
    /// Neither: a built-in or one of the host's, by its number among those the program names.
    Outside(usize),
}

/// A name as it is used.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) text: Arc<str>,
    pub(crate) place: Place,
}

/// A literal that becomes a value once per run.
#[derive(Debug)]
pub(crate) enum Literal {
    Text(String),
    Big(BigInt),
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// By its number among the program's literals.
    Literal(usize),
    Name(Name),
    /// A left fold: operators with their right operands, applied in order.
    Chain {
        first: Box<Expr>,
        rest: Vec<(Binary, Expr)>,
    },
    Unary(Unary, Box<Expr>),
    Conditional(Box<[Expr; 3]>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Comprehension(Box<Comprehension>),
    Lambda(Arc<Function>),
    /// A value and what is done to it in order: `a.b(c)[d]`.
    Path {
        base: Box<Expr>,
        steps: Vec<Step>,
    },
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) span: Span,
    pub(crate) kind: StepKind,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Attribute(Arc<str>),
    Call(Vec<Argument>),
    Index(Expr),
    Slice(Box<[Option<Expr>; 3]>),
}

#[derive(Debug)]
pub(crate) enum Argument {
    Positional(Expr),
    Named(Arc<str>, Expr),
    Sequence(Expr),
    Mapping(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Plus,
    Minus,
    Invert,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    Differ,
    Less,
    Greater,
    AtMost,
    AtLeast,
    In,
    NotIn,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
}

impl Binary {
    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "==",
            Self::Differ => "!=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::BitAnd => "&",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::Remainder => "%",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) body: Body,
    pub(crate) clauses: Vec<Clause>,
    /// The slots of its variables, from and to; they are made anew each time.
    pub(crate) slots: (usize, usize),
}

#[derive(Debug)]
pub(crate) enum Body {
    Item(Expr),
    Entry(Expr, Expr),
}

#[derive(Debug)]
pub(crate) enum Clause {
    For(Target, Expr),
    If(Expr),
}

/// What can be assigned to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) span: Span,
    pub(crate) kind: TargetKind,
}

#[derive(Debug)]
pub(crate) enum TargetKind {
    Name(Name),
    Index(Box<Expr>, Box<Expr>),
    Several(Vec<Target>),
}

/// A `def` or a `lambda`.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its number among the functions of the program: what recursion is told by.
    pub(crate) id: usize,
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Parameters,
    pub(crate) body: Vec<Statement>,
    pub(crate) scope: Scope,
}

/// Parameters take the first slots of the frame: positional, keyword-only, `*args`, `**kwargs`.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// Those before `*`, then those after it.
    pub(crate) names: Vec<Parameter>,
    /// How many of them are before it.
    pub(crate) positional: usize,
    pub(crate) rest: Option<Arc<str>>,
    pub(crate) keywords: Option<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) default: Option<Expr>,
}

/// What the resolver knows of a function's variables.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// How many slots a frame has, and what is in each.
    pub(crate) slots: Vec<Arc<str>>,
    /// Slots whose variable an inner function uses too.
    pub(crate) shared: Vec<usize>,
    /// What is taken from the enclosing function when this one is made.
    pub(crate) captures: Vec<Capture>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Capture {
    Local(usize, Arc<str>),
    Free(usize, Arc<str>),
}

impl Capture {
    pub(crate) fn name(&self) -> &Arc<str> {
        match self {
            Self::Local(_, name) | Self::Free(_, name) => name,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) span: Span,
    pub(crate) kind: StatementKind,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Expr(Expr),
    Assign(Target, Expr),
    Augment(Target, Binary, Expr),
    Return(Option<Expr>),
    Break,
    Continue,
    Pass,
    If { branches: Vec<(Expr, Vec<Statement>)>, otherwise: Vec<Statement> },
    For { target: Target, over: Expr, body: Vec<Statement> },
    Def(Name, Arc<Function>),
}
