//! The layout of a job's lineage: layers from left to right, stable while the rates change.
//!
//! A node's layer is its longest path from a source. Within a layer nodes stand in the order of
//! the mean position of their predecessors, ties by declaration; so the picture depends on the
//! topology only.

use stateward_model::Name;
use stateward_model::view::LineageGraph;

/// Width of a node, px.
pub const NODE_WIDTH: f64 = 216.0;
const NODE_HEAD: f64 = 48.0;
/// Height of one state in its operator, px.
pub const STATE_HEIGHT: f64 = 50.0;
const LAYER_GAP: f64 = 96.0;
const NODE_GAP: f64 = 28.0;
const MARGIN: f64 = 12.0;
const EDGE_WIDTH_MAX: f64 = 9.0;

/// A node with its place, px.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedNode {
    /// Index into the graph's nodes.
    pub node: usize,
    /// Indexes into the graph's states, top to bottom.
    pub states: Vec<usize>,
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Height.
    pub height: f64,
}

impl PlacedNode {
    /// Top edge of the n-th state.
    pub fn state_y(&self, n: usize) -> f64 {
        self.y + NODE_HEAD + n as f64 * STATE_HEIGHT
    }
}

/// An edge with its curve.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedEdge {
    /// Index into the graph's edges.
    pub edge: usize,
    /// Path data.
    pub path: String,
    /// Stroke width, px.
    pub width: f64,
    /// Where its rate is written.
    pub label: (f64, f64),
}

/// A computed layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Nodes.
    pub nodes: Vec<PlacedNode>,
    /// Edges.
    pub edges: Vec<PlacedEdge>,
    /// Width of the picture, px.
    pub width: f64,
    /// Height of the picture, px.
    pub height: f64,
}

/// Lays a graph out.
pub fn layout(graph: &LineageGraph) -> Layout {
    let ends: Vec<Option<(usize, usize)>> = graph
        .edges
        .iter()
        .map(|edge| {
            let find = |uid: &Name| graph.nodes.iter().position(|node| node.uid == *uid);
            Some((find(&edge.from)?, find(&edge.to)?))
        })
        .collect();
    let known: Vec<(usize, usize)> = ends.iter().copied().flatten().collect();
    let layers = ordered(&layers(graph.nodes.len(), &known), &known);
    let nodes = place(graph, &layers);
    let edges = ends
        .iter()
        .enumerate()
        .filter_map(|(edge, ends)| {
            let (from, to) = (*ends)?;
            let from = nodes.iter().find(|placed| placed.node == from)?;
            let to = nodes.iter().find(|placed| placed.node == to)?;
            Some(curve(edge, from, to, edge_width(graph, edge)))
        })
        .collect();
    let right = nodes.iter().map(|n| n.x + NODE_WIDTH).fold(0.0, f64::max);
    let bottom = nodes.iter().map(|n| n.y + n.height).fold(0.0, f64::max);
    Layout { nodes, edges, width: right + MARGIN, height: bottom + MARGIN }
}

/// The layer of each node; a cycle, which a topology does not have, ends the search.
fn layers(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; nodes];
    for _ in 0..nodes {
        let mut moved = false;
        for &(from, to) in edges {
            let next = layer.get(from).copied().unwrap_or_default() + 1;
            if let Some(slot) = layer.get_mut(to)
                && *slot < next
                && next < nodes.max(1)
            {
                *slot = next;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    layer
}

fn ordered(layer: &[usize], edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let count = layer.iter().max().map_or(0, |max| max + 1);
    let mut position = vec![0.0; layer.len()];
    let mut columns = Vec::with_capacity(count);
    for column in 0..count {
        let mut members: Vec<(f64, usize)> = layer
            .iter()
            .enumerate()
            .filter(|(_, l)| **l == column)
            .map(|(node, _)| {
                let before: Vec<f64> = edges
                    .iter()
                    .filter(|(_, to)| *to == node)
                    .filter_map(|(from, _)| position.get(*from).copied())
                    .collect();
                let mean = before.iter().sum::<f64>() / before.len().max(1) as f64;
                (mean, node)
            })
            .collect();
        members.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let nodes: Vec<usize> = members.into_iter().map(|(_, node)| node).collect();
        let middle = (nodes.len() as f64 - 1.0) / 2.0;
        for (index, node) in nodes.iter().enumerate() {
            if let Some(slot) = position.get_mut(*node) {
                *slot = index as f64 - middle;
            }
        }
        columns.push(nodes);
    }
    columns
}

fn place(graph: &LineageGraph, layers: &[Vec<usize>]) -> Vec<PlacedNode> {
    let states_of = |node: usize| -> Vec<usize> {
        let uid = graph.nodes.get(node).map(|node| node.uid.as_str());
        let mut states: Vec<usize> = (0..graph.states.len())
            .filter(|index| graph.states.get(*index).map(|row| row.operator.as_str()) == uid)
            .collect();
        states.sort_by_key(|index| graph.states.get(*index).map(|row| row.state.clone()));
        states
    };
    let height = |states: usize| {
        if states == 0 { NODE_HEAD } else { NODE_HEAD + states as f64 * STATE_HEIGHT + 8.0 }
    };
    let column_height = |column: &Vec<usize>| {
        let nodes: f64 = column.iter().map(|node| height(states_of(*node).len())).sum();
        nodes + NODE_GAP * (column.len().max(1) - 1) as f64
    };
    let tallest = layers.iter().map(column_height).fold(0.0, f64::max);
    let mut placed = Vec::with_capacity(graph.nodes.len());
    for (column, nodes) in layers.iter().enumerate() {
        let mut y = MARGIN + (tallest - column_height(nodes)) / 2.0;
        for node in nodes {
            let states = states_of(*node);
            let height = height(states.len());
            let x = MARGIN + column as f64 * (NODE_WIDTH + LAYER_GAP);
            placed.push(PlacedNode { node: *node, states, x, y, height });
            y += height + NODE_GAP;
        }
    }
    placed
}

fn edge_width(graph: &LineageGraph, edge: usize) -> f64 {
    let rate =
        |index: usize| graph.edge_rates.get(index).copied().flatten().unwrap_or_default().max(0.0);
    let most = (0..graph.edges.len()).map(rate).fold(0.0, f64::max);
    if most <= 0.0 { 1.0 } else { 1.0 + (EDGE_WIDTH_MAX - 1.0) * (rate(edge) / most).sqrt() }
}

fn curve(edge: usize, from: &PlacedNode, to: &PlacedNode, width: f64) -> PlacedEdge {
    let (x1, y1) = (from.x + NODE_WIDTH, from.y + NODE_HEAD / 2.0);
    let (x2, y2) = (to.x, to.y + NODE_HEAD / 2.0);
    let bend = (x2 - x1).abs().max(LAYER_GAP) / 2.0;
    PlacedEdge {
        edge,
        path: format!(
            "M{x1:.0} {y1:.0}C{:.0} {y1:.0} {:.0} {y2:.0} {x2:.0} {y2:.0}",
            x1 + bend,
            x2 - bend
        ),
        width,
        label: (f64::midpoint(x1, x2), f64::midpoint(y1, y2) - 8.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateward_model::wire::{EdgeDeclaration, NodeDeclaration, NodeKind};

    fn graph(nodes: &[&str], edges: &[(&str, &str, f64)]) -> LineageGraph {
        let name = |text: &str| Name::new(text).unwrap();
        LineageGraph {
            nodes: nodes
                .iter()
                .map(|uid| NodeDeclaration {
                    uid: name(uid),
                    kind: NodeKind::Operator,
                    site: String::new(),
                    detail: String::new(),
                })
                .collect(),
            edges: edges
                .iter()
                .map(|(from, to, _)| EdgeDeclaration {
                    from: name(from),
                    to: name(to),
                    exchange: true,
                })
                .collect(),
            edge_rates: edges.iter().map(|(_, _, rate)| Some(*rate)).collect(),
            ..LineageGraph::default()
        }
    }

    fn x_of(layout: &Layout, node: usize) -> f64 {
        layout.nodes.iter().find(|placed| placed.node == node).unwrap().x
    }

    #[test]
    fn edges_run_from_left_to_right_by_the_longest_path() {
        let diamond = graph(
            &["s", "a", "b", "t"],
            &[("s", "a", 1.0), ("a", "b", 1.0), ("s", "t", 1.0), ("b", "t", 1.0)],
        );
        let layout = layout(&diamond);
        assert!(x_of(&layout, 0) < x_of(&layout, 1));
        assert!(x_of(&layout, 1) < x_of(&layout, 2));
        assert!(x_of(&layout, 2) < x_of(&layout, 3));
        assert_eq!(layout.edges.len(), 4);
    }

    #[test]
    fn rates_change_widths_and_nothing_else() {
        let nodes = ["s", "a", "b", "t"];
        let quiet = layout(&graph(&nodes, &[("s", "a", 1.0), ("s", "b", 2.0), ("a", "t", 0.0)]));
        let busy = layout(&graph(&nodes, &[("s", "a", 9.0), ("s", "b", 1.0), ("a", "t", 3.0)]));
        assert_eq!(quiet.nodes, busy.nodes);
        assert_eq!((quiet.width, quiet.height), (busy.width, busy.height));
        assert_ne!(quiet.edges[0].width.to_bits(), busy.edges[0].width.to_bits());
        assert!(quiet.edges.iter().all(|edge| (1.0..=EDGE_WIDTH_MAX).contains(&edge.width)));
    }

    #[test]
    fn nodes_of_a_layer_do_not_overlap() {
        let layout = layout(&graph(
            &["s", "a", "b", "c"],
            &[("s", "a", 1.0), ("s", "b", 1.0), ("s", "c", 1.0)],
        ));
        let mut spans: Vec<(f64, f64)> =
            layout.nodes.iter().filter(|n| n.node > 0).map(|n| (n.y, n.y + n.height)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn a_cycle_or_an_unknown_node_does_not_hang() {
        let odd = graph(&["a", "b"], &[("a", "b", 1.0), ("b", "a", 1.0), ("a", "missing", 1.0)]);
        assert_eq!(layout(&odd).edges.len(), 2);
        assert_eq!(layout(&LineageGraph::default()).nodes.len(), 0);
    }
}
