// SPDX-License-Identifier: BSL-1.0
// A call tree as an icicle: callers above, the width of a node is the measure. A click or Enter enlarges a node; a search
// strengthens those whose names have the words, and counts their share.
import { full } from "./format.js";

export const ROW_PIXELS = 18;
const hue = (name) => [...name].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) >>> 0, 7) % 8;

// Places the nodes: left and right ends as parts of the whole, and depth. Larger children stand first. O(nodes log nodes)
function layout(figure, measure) {
  const nodes = figure.nodes.map(([parent, name, values]) => ({ parent, name: figure.names[name], value: values[measure], children: [], depth: 0 }));
  const roots = [];
  for (const node of nodes) {
    if (node.parent < 0) { roots.push(node); continue; }
    node.above = nodes[node.parent];
    node.depth = node.above.depth + 1;
    node.above.children.push(node);
  }
  const total = roots.reduce((sum, node) => sum + node.value, 0) || 1;
  const spread = (siblings, left) => {
    siblings.sort((a, b) => b.value - a.value);
    for (const node of siblings) { node.left = left; node.right = left += node.value / total; node.siblings = siblings; }
  };
  spread(roots, 0);
  for (const node of nodes) spread(node.children, node.left);
  return { nodes: nodes.filter((node) => node.value > 0), roots, total };
}

export function icicle(figure) {
  let laid = layout(figure, 0), measure = 0, words = "";
  const deepest = laid.nodes.reduce((most, node) => Math.max(most, node.depth), 0) + 1;
  const rows = Math.min(deepest, 32);
  const matches = (node) => words && node.name.toLowerCase().includes(words);
  const whole = { x: [0, 1], y: [deepest - rows, deepest] };
  const down = (node) => deepest - node.depth - 0.5;
  return {
    whole, height: rows * ROW_PIXELS + 36, legends: [], measures: figure.measures.map((one) => one.name), plain: true,
    axes: (view) => ({
      x: { axis: { name: "" }, places: [view.x[0], view.x[1]], words: () => "" }, y: { axis: { name: "" }, places: [], words: () => "" },
    }),
    // Switches the measure.
    choose(number) { measure = number; laid = layout(figure, number); },
    // Returns how much of the measure the found nodes have; a node inside a found one does not count again.
    search(text) {
      words = text.trim().toLowerCase();
      if (!words) return "";
      const found = laid.nodes.filter(matches);
      const outer = found.filter((node) => { for (let up = node.above; up; up = up.above) if (matches(up)) return false; return true; });
      const part = outer.reduce((sum, node) => sum + node.right - node.left, 0);
      return `${found.length} found, ${Number((100 * part).toPrecision(3))} % of ${figure.measures[measure].name}`;
    },
    series(theme, state) {
      const least = (state.view.x[1] - state.view.x[0]) * 0.5 / Math.max(1, state.size[0]);
      const drawn = laid.nodes.filter((node) => node.right - node.left > least && node.right > state.view.x[0] && node.left < state.view.x[1]);
      return [{ type: "custom", clip: true, silent: true, data: drawn.map((node) => [node.left, down(node)]), renderItem(params, api) {
        const node = drawn[params.dataIndex], box = params.coordSys, tall = api.size([0, 1])[1];
        const left = Math.max(box.x, api.coord([node.left, 0])[0]), right = Math.min(box.x + box.width, api.coord([node.right, 0])[0]), y = api.coord([0, down(node)])[1] - tall / 2;
        const shape = { x: left, y, width: Math.max(0.5, right - left - 0.6), height: tall - 1, r: 1 };
        const rect = { type: "rect", shape, style: { fill: matches(node) ? theme.found : theme.colour(hue(node.name)), opacity: matches(node) ? 0.9 : words ? 0.12 : 0.34 } };
        if (right - left < 28) return rect;
        return { type: "group", children: [rect, { type: "text", style: { text: node.name, x: left + 4, y: y + tall / 2, width: right - left - 8, overflow: "truncate", ellipsis: "…", verticalAlign: "middle", fill: matches(node) ? "#000" : theme.ink, font: theme.font } }] };
      } }];
    },
    near: (_, __, ___, [x, y]) => laid.nodes.find((node) => node.depth === Math.floor(deepest - y) && x >= node.left && x < node.right) ?? null,
    move(node, across, below) {
      if (!node) return laid.roots[0];
      if (below) return (below > 0 ? node.children.find((one) => one.value > 0) : node.above) ?? node;
      const rank = node.siblings.filter((one) => one.value > 0);
      return rank[Math.max(0, Math.min(rank.length - 1, rank.indexOf(node) + across))];
    },
    enlarge: (node) => {
      const top = Math.min(deepest, deepest - Math.max(0, node.depth - 2));
      return { x: [node.left, node.right], y: rows === deepest ? whole.y : [Math.max(0, top - rows), Math.max(rows, top)] };
    },
    place: (node) => [(node.left + node.right) / 2, down(node)],
    clampTo: (node, view) => [Math.max(view.x[0], Math.min(view.x[1], (node.left + node.right) / 2)), down(node)],
    text: (node) => `${node.name}\n${figure.measures[measure].name} ${full(figure.measures[measure], node.value)}, ${Number((100 * node.value / laid.total).toPrecision(3))} %`,
  };
}
