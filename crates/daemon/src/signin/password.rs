//! Passwords: which may be chosen, what is kept of them, and that looking at many costs no more than a few at a time do, in lines
//! that strangers cannot fill for who is known.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use covenant_gate::{Fault, random};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};
use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

/// The fewest and the most characters of a password.
pub(crate) const SHORTEST: usize = 12;
pub(crate) const LONGEST: usize = 256;

/// What one costs to look at, for us and for whoever tries many.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// What a kept one may make us spend.
const MOST_MEMORY_KIB: u32 = 256 * 1024;
const MOST_PASSES: u32 = 10;

/// How many are looked at at a time, and how many wait for that.
const AT_A_TIME: usize = 2;
const WAITING: usize = 32;

/// The same for those who are known here, where strangers stand in the line: who they are strangers do not know.
const KNOWN_AT_A_TIME: usize = 1;
const KNOWN_WAITING: usize = 32;

/// When whoever finds the line full is told so, unless their password was right before that.
const CROWDED: Duration = Duration::from_secs(3);

/// What is kept of the password of nobody: it costs what another costs, and no password fits it.
static NOBODYS: LazyLock<String> = LazyLock::new(|| written(&[0; 16], &[0; 32]));

/// Why a password cannot be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("A password has at least {SHORTEST} characters.")]
    TooShort,
    #[error("A password has at most {LONGEST} characters.")]
    TooLong,
}

/// Why a password was not looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotLooked {
    /// Too many wait.
    #[error("too many passwords are looked at")]
    Busy,
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A password as it is compared: however a keyboard composed it, it is the same.
pub(crate) struct Password(Zeroizing<String>);

impl Password {
    /// What somebody typed; none of what nobody can have chosen.
    pub(crate) fn typed(text: &str) -> Result<Self, Unfit> {
        if text.chars().nth(LONGEST).is_some() {
            return Err(Unfit::TooLong);
        }
        let composed = Zeroizing::new(text.nfkc().collect::<String>());
        match composed.chars().take(LONGEST + 1).count() {
            ..SHORTEST => Err(Unfit::TooShort),
            SHORTEST..=LONGEST => Ok(Self(composed)),
            _ => Err(Unfit::TooLong),
        }
    }
}

/// Hashes passwords, a few at a time.
pub(crate) struct Passwords {
    /// The line for everybody, which strangers can fill.
    open: Line,
    /// The line for those who are known here.
    known: Line,
}

/// Who works now, and who waits for that.
struct Line {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { open: Line::of(AT_A_TIME, WAITING), known: Line::of(KNOWN_AT_A_TIME, KNOWN_WAITING) }
    }
}

impl Passwords {
    /// What is kept of a password that somebody chose, who was invited.
    pub(crate) async fn keep(&self, password: Password) -> Result<String, NotLooked> {
        let salt = random::bytes::<16>()?;
        let hashed = move || {
            let mut out = [0; 32];
            hash(MEMORY_KIB, PASSES, LANES, &password, &salt, &mut out).then(|| written(&salt, &out))
        };
        self.known.work(self.known.place()?, hashed).await?.ok_or_else(|| {
            Fault::new("the password could not be kept", "argon2 refused its parameters").into()
        })
    }

    /// Whether that is the password; where there is none, or none was typed, it takes as long to say no.
    pub(crate) async fn fits(
        &self,
        password: Option<Password>,
        kept: Option<String>,
    ) -> Result<bool, NotLooked> {
        match self.open.place() {
            Ok(place) => self.open.compare(place, password, kept).await,
            Err(_) => self.fits_in_a_crowd(password, kept).await,
        }
    }

    /// The same where the line is full. Whoever knows the password of somebody who is here is told so. Everybody else is told
    /// that too many wait, all at the same moment: it says nothing of who is here.
    async fn fits_in_a_crowd(
        &self,
        password: Option<Password>,
        kept: Option<String>,
    ) -> Result<bool, NotLooked> {
        let end = Instant::now() + CROWDED;
        if kept.is_some()
            && let Ok(place) = self.known.place()
            && let Ok(Ok(true)) = timeout_at(end, self.known.compare(place, password, kept)).await
        {
            return Ok(true);
        }
        sleep_until(end).await;
        Err(NotLooked::Busy)
    }
}

impl Line {
    fn of(at_a_time: usize, waiting: usize) -> Self {
        let (turns, places) = (Semaphore::new(at_a_time), Semaphore::new(at_a_time + waiting));
        Self { turns: Arc::new(turns), places: Arc::new(places) }
    }

    /// A place in it, if one is free.
    fn place(&self) -> Result<OwnedSemaphorePermit, NotLooked> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| NotLooked::Busy)
    }

    async fn compare(
        &self,
        place: OwnedSemaphorePermit,
        password: Option<Password>,
        kept: Option<String>,
    ) -> Result<bool, NotLooked> {
        let look = move || {
            let possible = password.is_some() && kept.is_some();
            let password = password.unwrap_or_else(|| Password(Zeroizing::new(String::new())));
            let kept = kept.as_deref().unwrap_or(&NOBODYS);
            fits(&password, kept) && possible
        };
        self.work(place, look).await
    }

    /// Does that on a thread of its own when it is its turn, which it keeps even if nobody waits for it any more.
    async fn work<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotLooked> {
        let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else { return Err(NotLooked::Busy) };
        let held: (OwnedSemaphorePermit, OwnedSemaphorePermit) = (place, turn);
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(held);
            done
        });
        done.await.map_err(|error| Fault::new("the password could not be looked at", error).into())
    }
}

fn hash(memory: u32, passes: u32, lanes: u32, password: &Password, salt: &[u8], out: &mut [u8]) -> bool {
    let Ok(params) = Params::new(memory, passes, lanes, Some(out.len())) else { return false };
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(password.0.as_bytes(), salt, out).is_ok()
}

fn written(salt: &[u8; 16], out: &[u8; 32]) -> String {
    let (salt, out) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(out));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${out}")
}

fn fits(password: &Password, kept: &str) -> bool {
    let Some(kept) = Kept::read(kept) else { return false };
    let mut out = vec![0; kept.out.len()];
    hash(kept.memory, kept.passes, kept.lanes, password, &kept.salt, &mut out)
        && bool::from(out.ct_eq(&kept.out))
}

/// What is kept, taken apart.
struct Kept {
    memory: u32,
    passes: u32,
    lanes: u32,
    salt: Vec<u8>,
    out: Vec<u8>,
}

impl Kept {
    fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("$argon2id$v=19$")?;
        let mut parts = rest.split('$');
        let (costs, salt, out) = (parts.next()?, parts.next()?, parts.next()?);
        let mut costs = costs.split(',');
        let mut cost = |name: &str| costs.next()?.strip_prefix(name)?.parse::<u32>().ok();
        let (memory, passes, lanes) = (cost("m=")?, cost("t=")?, cost("p=")?);
        let bearable = memory <= MOST_MEMORY_KIB && passes <= MOST_PASSES && lanes == LANES;
        let (salt, out) = (STANDARD_NO_PAD.decode(salt).ok()?, STANDARD_NO_PAD.decode(out).ok()?);
        let sound = bearable && parts.next().is_none() && (16..=64).contains(&out.len());
        sound.then_some(Self { memory, passes, lanes, salt, out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Password {
        Password::typed(text).unwrap()
    }

    #[tokio::test]
    async fn a_password_fits_what_is_kept_of_it_and_no_other_does() {
        let passwords = Passwords::default();
        let kept = passwords.keep(typed("correct horse battery")).await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !kept.contains("horse"), "{kept}");
        let fits = async |text: &str, kept: Option<&String>| {
            passwords.fits(Password::typed(text).ok(), kept.cloned()).await.unwrap()
        };
        assert!(fits("correct horse battery", Some(&kept)).await);
        assert!(!fits("correct horse batterz", Some(&kept)).await);
        assert!(!fits("correct horse battery", None).await && !fits("", Some(&kept)).await);
        let again = passwords.keep(typed("correct horse battery")).await.unwrap();
        assert_ne!(kept, again, "each has a salt of its own");
        for damaged in ["", "$argon2id$v=19$m=1", &kept[1..], &kept.replace("m=19456", "m=99999999")] {
            assert!(!fits("correct horse battery", Some(&damaged.to_owned())).await, "{damaged}");
        }
    }

    #[test]
    fn nobodys_password_costs_what_anothers_costs() {
        let nobodys = Kept::read(&NOBODYS).unwrap();
        assert_eq!((nobodys.memory, nobodys.passes), (MEMORY_KIB, PASSES));
    }

    #[tokio::test]
    async fn a_password_is_the_same_however_it_was_composed() {
        let passwords = Passwords::default();
        let kept = passwords.keep(typed("pa\u{df}wo\u{0308}rter 12")).await.unwrap();
        assert!(passwords.fits(Some(typed("pa\u{df}w\u{f6}rter 12")), Some(kept)).await.unwrap());
    }

    #[test]
    fn a_password_has_twelve_to_256_characters_as_it_is_compared() {
        let unfit = |text: &str| Password::typed(text).err();
        assert_eq!(unfit("elevenchars"), Some(Unfit::TooShort));
        assert_eq!(unfit("twelve chars"), None);
        assert_eq!(unfit(&"o\u{0308}".repeat(11)), Some(Unfit::TooShort));
        assert_eq!(unfit(&"x".repeat(256)), None);
        assert_eq!(unfit(&"x".repeat(257)), Some(Unfit::TooLong));
        assert_eq!(unfit(&"\u{fdfa}".repeat(200)), Some(Unfit::TooLong), "one becomes eighteen");
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_who_fill_the_line_keep_out_nobody_who_is_known() {
        let passwords = Passwords::default();
        let kept = passwords.keep(typed("correct horse battery")).await.unwrap();
        let strangers = Arc::clone(&passwords.open.places).acquire_many_owned(34).await.unwrap();
        let right = passwords.fits(Some(typed("correct horse battery")), Some(kept.clone()));
        assert!(right.await.unwrap());
        passwords.keep(typed("correct horse stable")).await.unwrap();
        drop(strangers);
        assert!(!passwords.fits(None, Some(kept)).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_crowd_whoever_is_wrong_is_told_what_a_stranger_is_told_and_when() {
        let passwords = Passwords::default();
        let kept = passwords.keep(typed("correct horse battery")).await.unwrap();
        let _strangers = Arc::clone(&passwords.open.places).acquire_many_owned(34).await.unwrap();
        for (typed, kept) in [
            (Some(typed("correct horse batterz")), Some(kept.clone())),
            (None, Some(kept)),
            (Some(typed("correct horse battery")), None),
            (None, None),
        ] {
            let came = Instant::now();
            assert!(matches!(passwords.fits(typed, kept).await, Err(NotLooked::Busy)));
            let waited = came.elapsed();
            assert!(waited >= CROWDED && waited < CROWDED * 2, "{waited:?}");
        }
    }
}
