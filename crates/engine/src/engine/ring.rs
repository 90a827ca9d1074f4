//! A growing ring buffer: a queue whose places are found with a mask.

/// First in, first out. The capacity is a power of two and doubles when it is full.
pub struct Ring<T> {
    places: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy> Ring<T> {
    /// An empty ring; `filler` stands in unused places.
    pub fn new(filler: T) -> Self {
        Ring { places: vec![filler; 16], head: 0, len: 0 }
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The element `ahead` places behind the oldest one.
    #[inline]
    pub fn get(&self, ahead: usize) -> Option<&T> {
        (ahead < self.len).then(|| &self.places[(self.head + ahead) & (self.places.len() - 1)])
    }

    /// The elements, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|ahead| self.get(ahead))
    }

    /// Appends an element.
    #[inline]
    pub fn push(&mut self, element: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = (self.head + self.len) & (self.places.len() - 1);
        self.places[place] = element;
        self.len += 1;
    }

    /// Forgets the oldest element.
    #[inline]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0, "nothing to drop");
        self.head = (self.head + 1) & (self.places.len() - 1);
        self.len -= 1;
    }

    #[cold]
    fn grow(&mut self) {
        self.places.rotate_left(self.head);
        self.head = 0;
        let filler = self.places[0];
        self.places.resize(self.places.len() * 2, filler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_a_plain_queue(pushes in prop::collection::vec(any::<bool>(), 1..300)) {
            let (mut ring, mut plain) = (Ring::new(0), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push || number % 3 == 0 {
                    ring.push(number);
                    plain.push_back(number);
                } else if plain.pop_front().is_some() {
                    ring.drop_front();
                }
                prop_assert_eq!(ring.front(), plain.front());
                prop_assert_eq!(ring.get(5), plain.get(5));
                prop_assert!(ring.iter().eq(&plain));
                prop_assert_eq!(ring.len(), plain.len());
            }
        }
    }
}
