//! Which cryptography TLS uses: ring, for everything that connects or listens in this process.

use std::sync::Once;

/// Makes ring the provider of this process. Whoever builds something that speaks TLS calls this first.
pub(crate) fn provide() {
    static PROVIDED: Once = Once::new();
    PROVIDED.call_once(|| {
        // It fails only where a program that holds us as a library chose another one before: theirs is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}
