//! A tournament of slots (D. E. Knuth, The Art of Computer Programming, vol. 3, §5.4.1) with matches of four: each
//! armed slot has a seat, the soonest of four neighbours meets three other winners, and so on up to the champion, the
//! next event. When a slot is armed anew, only the matches on the path up from its seat are played again. A heap needs
//! more comparisons, and how deep an entry sinks and past which of its children cannot be predicted, whereas here no
//! branch depends on a comparison. A match is one cache line.

use super::key::{Key, sooner};

/// Two matches deep: no need to shrink.
const FEW_SEATS: usize = 16;

/// Four sides of a match: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Match(pub [Key; 4]);

impl Match {
    #[inline]
    fn winner(&self) -> Key {
        let [a, b, c, d] = self.0;
        sooner(sooner(a, b), sooner(c, d))
    }
}

#[derive(Debug)]
pub(super) struct Tournament {
    /// Side s of match m is place 4 m + s. The winner of match m > 0 stands in place m − 1, that of match 0 is the
    /// champion. The places of no winner, from `matches.len() - 1` on, are the seats of slots; an empty one holds
    /// [`Key::NONE`].
    pub matches: Vec<Match>,
    pub champion: Key,
    /// Empty seats.
    pub free: Vec<u32>,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament { matches: vec![Match([Key::NONE; 4])], champion: Key::NONE, free: vec![3, 2, 1, 0] }
    }
}

impl Tournament {
    pub fn leave(&mut self, seat: u32) {
        self.play(seat, Key::NONE);
        self.free.push(seat);
    }

    /// An empty seat. `seats` are those of the slots.
    fn take_seat(&mut self, seats: &mut [u32]) -> u32 {
        self.free.pop().unwrap_or_else(|| self.grow(seats))
    }

    /// All seats are taken: another match takes the place of the first one, whose slot goes there. Gives a new seat.
    #[cold]
    pub fn grow(&mut self, seats: &mut [u32]) -> u32 {
        let new = self.matches.len() as u32;
        let place = new as usize - 1;
        let first = self.matches[place / 4].0[place % 4];
        self.matches.push(Match([first, Key::NONE, Key::NONE, Key::NONE]));
        seats[first.event().slot as usize] = 4 * new;
        self.free.extend([4 * new + 3, 4 * new + 2]);
        4 * new + 1
    }

    /// Whether three of four seats are empty. When a thousand flows begin at once, all their first links are armed,
    /// later one in a hundred is: without the empty seats every event has fewer matches to play.
    #[inline]
    pub fn is_sparse(&self) -> bool {
        let seats = 3 * self.matches.len() + 1;
        seats > FEW_SEATS && 4 * self.free.len() > 3 * seats
    }

    /// Begins again with as many matches as the armed slots need.
    #[cold]
    pub fn shrink(&mut self, seats: &mut [u32]) {
        let old = std::mem::take(self);
        let places = old.matches.iter().flat_map(|played| played.0).skip(old.matches.len() - 1);
        for key in places.filter(|&key| key != Key::NONE) {
            let seat = self.take_seat(seats);
            seats[key.event().slot as usize] = seat;
            self.play(seat, key);
        }
    }

    /// Puts `key` on the seat and plays its matches again, up to the champion.
    #[inline]
    pub fn play(&mut self, seat: u32, mut key: Key) {
        let mut place = seat as usize;
        loop {
            let number = place / 4;
            let played = &mut self.matches[number];
            played.0[place % 4] = key;
            key = played.winner();
            if number == 0 {
                break;
            }
            place = number - 1;
        }
        self.champion = key;
    }
}
