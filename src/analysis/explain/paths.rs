//! Paths turn the layers of a node into the places that its parameters have.

use super::place::ValuePlaces;
use super::teller::Teller;
use crate::base::pattern::PathPattern;
use crate::engine::exports::OtherNodes;
use crate::engine::node::{Computation, Layers};

/// The paths of one node's parameters, those inside of what references bring in too.
pub struct Paths<'a> {
    places: ValuePlaces<'a>,
    others: OtherNodes<'a>,
}

impl<'a> Paths<'a> {
    /// The paths of a node whose layers are known.
    pub fn new(computation: &'a Computation<'a>, layers: &'a Layers) -> Paths<'a> {
        Paths { places: ValuePlaces::new(computation, layers), others: computation.others(layers, None) }
    }

    /// Whether any path matches.
    pub fn any(&mut self, pattern: &PathPattern) -> bool {
        let (computation, layers) = (self.places.computation(), self.places.layers());
        let mut teller = Teller::new(computation, layers, &self.others, false);
        !teller.matching(pattern).is_empty()
    }
}
