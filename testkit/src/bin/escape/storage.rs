//! Ways to more of the disk than one was given. The aim is `MEGABYTES`, or `DIRECTORY:MEGABYTES` for somewhere else.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::answer::Attack;
use crate::memory::HELD;
use crate::processes::counted;

const MEGABYTE: usize = 1024 * 1024;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("disk-file", |aim| {
        let (place, most) = aimed(aim)?;
        let path = place.join(format!("filler-{}", std::process::id()));
        let outcome = File::create(&path).and_then(|mut file| filled(&mut file, most));
        fs::remove_file(path)?;
        outcome
    }),
    ("disk-files", |aim| {
        let (place, most) = aimed(aim)?;
        let place = place.join(format!("fillers-{}", std::process::id()));
        fs::create_dir(&place)?;
        let each = |number| fs::write(place.join(format!("{number}")), vec![1; MEGABYTE]);
        let outcome = (0..most).try_for_each(|number| each(number).map_err(|error| counted(&error, number)));
        if outcome.is_ok() {
            std::thread::sleep(HELD);
        }
        fs::remove_dir_all(place)?;
        outcome.map(|()| format!("{most} MB"))
    }),
    ("disk-deleted", |aim| {
        let (place, most) = aimed(aim)?;
        let path = place.join(format!("deleted-{}", std::process::id()));
        let mut held = Vec::new();
        for number in 0..most {
            let mut file = File::create(&path)?;
            fs::remove_file(&path)?;
            file.write_all(&vec![1; MEGABYTE]).map_err(|error| counted(&error, number))?;
            held.push(file);
        }
        // Who only measures must get to see it.
        std::thread::sleep(HELD);
        Ok(format!("{most} MB"))
    }),
    ("disk-names", |aim| {
        let (place, most) = aimed(aim)?;
        let place = place.join(format!("names-{}", std::process::id()));
        fs::create_dir(&place)?;
        let each = |number| File::create(place.join(format!("{number}"))).map(drop);
        let outcome = (0..most).try_for_each(|number| each(number).map_err(|error| counted(&error, number)));
        fs::remove_dir_all(place)?;
        outcome.map(|()| format!("{most} names"))
    }),
];

fn aimed(aim: &str) -> io::Result<(PathBuf, usize)> {
    let (place, most) = aim.rsplit_once(':').unwrap_or((".", aim));
    let most = most.parse().map_err(|_| io::Error::other("how much?"))?;
    Ok((Path::new(place).to_owned(), most))
}

fn filled(file: &mut File, most: usize) -> io::Result<String> {
    let piece = vec![1; MEGABYTE];
    for number in 0..most {
        file.write_all(&piece).map_err(|error| counted(&error, number))?;
    }
    Ok(format!("{most} MB"))
}
