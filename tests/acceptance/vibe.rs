//! The document of Co-Vibe, the teams' part: what agents of a team see, by the bridge and over HTTP.

mod bad_input;
mod books;
mod bridge;
mod clients;
mod contexts;
mod coordination;
mod coordination_input;
mod desk;
mod feedback;
mod guarded;
mod identity;
mod origin;
mod overlap;
mod overlap_files;
mod overlap_race;
mod paths;
mod sessions;
mod signin;
mod state;
mod state_audit;
mod state_routes;
mod state_week;
mod streams;
mod tasks;
mod throng;
mod troubles;
