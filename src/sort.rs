//! One stable sort for all types. The standard library's is compiled anew for each of them and each order, 5 kB at a time, for
//! lists of phases, findings and names.

use std::cmp::Ordering;

/// Puts `items` in order; those that are equal keep theirs.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|place| unsorted[place].take()));
}

/// The places of items from the first to the last.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

#[cfg(test)]
mod tests {
    use super::sort_by;

    #[test]
    fn what_is_equal_keeps_its_order() {
        let mut words = vec!["pear", "fig", "apple", "nut", "plum", "kiwi", "date"];
        sort_by(&mut words, |a, b| a.len().cmp(&b.len()));
        assert_eq!(words, ["fig", "nut", "pear", "plum", "kiwi", "date", "apple"]);
    }
}
