//! The server driven as a client drives it: lines over a stream, a real gate behind it.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod client;
#[cfg(test)]
mod curious;
#[cfg(test)]
mod following;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod modern;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod through_the_bridge;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod unmade;
#[cfg(test)]
mod world;
