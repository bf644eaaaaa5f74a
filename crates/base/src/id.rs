//! Typed indexes: a `NodeId` cannot index links.

use std::marker::PhantomData;
use std::ops;

/// A newtype over `u32` made by [`new_index!`](crate::new_index).
pub trait Index: Copy + Eq + Ord {
    fn from_usize(index: usize) -> Self;
    fn index(self) -> usize;
}

/// Declares typed indexes: `new_index!(/// A node. pub struct NodeId;);`
#[macro_export]
macro_rules! new_index {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(u32);

        impl $name {
            #[allow(dead_code)]
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            #[allow(dead_code)]
            pub const fn as_u32(self) -> u32 {
                self.0
            }
        }

        impl $crate::Index for $name {
            #[inline]
            fn from_usize(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

/// A vector whose index has a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    raw: Vec<T>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: Index, T> IndexVec<I, T> {
    pub const fn new() -> Self {
        IndexVec { raw: Vec::new(), index: PhantomData }
    }

    pub fn push(&mut self, value: T) -> I {
        let id = I::from_usize(self.raw.len());
        self.raw.push(value);
        id
    }

    pub fn len(&self) -> usize {
        self.raw.len()
    }

    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    pub fn get(&self, id: I) -> Option<&T> {
        self.raw.get(id.index())
    }

    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.raw.len()).map(I::from_usize)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.raw.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.raw.iter_mut()
    }

    pub fn enumerated(&self) -> impl Iterator<Item = (I, &T)> {
        self.raw.iter().enumerate().map(|(i, value)| (I::from_usize(i), value))
    }

    pub fn as_slice(&self) -> &[T] {
        &self.raw
    }
}

impl<I: Index, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Index, T> ops::Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.raw[id.index()]
    }
}

impl<I: Index, T> ops::IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.raw[id.index()]
    }
}

impl<I: Index, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        IndexVec { raw: iter.into_iter().collect(), index: PhantomData }
    }
}

impl<I: Index, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(raw: Vec<T>) -> Self {
        IndexVec { raw, index: PhantomData }
    }
}
