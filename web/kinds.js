// SPDX-License-Identifier: BSL-1.0
// What each kind of figure shows. A kind is an object with
//   whole               the range of both axes, {x: [low, high], y: [low, high]}, in the coordinates of the chart
//   axes(view, size)    for each axis the places of its lines and their words
//   series(theme, state) series of the library for what is visible
//   near(at, state)     the item at a place of the chart; move(item, across, down, state) its neighbour
//   place(item)         its place; text(item) its exact values
//   legends             rows of entries that hide: {key, name, colour, dash, shown}
import { exact, full, scale, short } from "./format.js";

const RAMP = ["#faf6df", "#e6f4b9", "#b5ed94", "#6fe570", "#4bdc85", "#2bd0ad", "#2591a9", "#1e4983", "#171a5d"];
const DASHES = ["solid", [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4]];
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const around = (low, high, least, below = 0.03, above = 0.03) => {
  const span = Math.max(high - low, least), middle = (high - low < least ? (low + high - least) / 2 : low);
  return [middle - below * span, middle + (1 + above) * span];
};
const extent = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
const nameLines = (names) => (low, high, most) => {
  const first = Math.max(0, Math.ceil(low - 0.5)), last = Math.min(names.length - 1, Math.floor(high - 0.5));
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return names.flatMap((_, i) => (i >= first && i <= last && (i - first) % step === 0 ? [i + 0.5] : []));
};
const lined = (axis, places, words) => ({ axis, places, words });

// A series of boxes, dots and lines that `draw(params, api)` makes.
const custom = (data, draw, more = {}) => ({ type: "custom", clip: true, silent: true, data, renderItem: draw, ...more });

export function curves(figure) {
  const x = scale(figure.x), y = scale(figure.y), classes = figure.x.names;
  // Bars of one class stand side by side, one place for each group; those of other kinds of a group lie over it.
  const slots = [...new Set(figure.series.filter((one) => one.look === "bars").map((one) => one.group ?? one.name))];
  const beside = (one) => (one.look === "bars" ? 0.84 * ((slots.indexOf(one.group ?? one.name) + 0.5) / slots.length - 0.5) : 0);
  const all = figure.series.map((one, number) => ({
    ...one, number, dash: one.dash ?? 0, colour: one.colour ?? 0, look: one.look ?? "line",
    xs: one.points.map(([at]) => (classes ? at + 0.5 + beside(one) : x.to(at))),
    ys: one.points.map(([, value]) => y.to(one.of ? value / one.of : value)),
    ends: (one.intervals ?? []).map(([low, high]) => [y.to(low), y.to(high)]),
  }));
  const xs = all.flatMap((one) => one.xs.filter(Number.isFinite)).concat((figure.marks ?? []).map((mark) => x.to(mark.x)));
  const ys = all.flatMap((one) => one.ys.concat(one.ends.flat()).filter(Number.isFinite));
  const [low, high] = extent(ys.length ? ys : [0, 1]), filled = all.some((one) => one.look === "bars" || one.look === "area");
  const from = !figure.y.log && (filled || low > 0 && low < 0.5 * high) ? 0 : low;
  const [left, right] = extent(xs.length ? xs : [0, 1]);
  const whole = {
    x: classes ? [0, Math.max(classes.length, slots.length ? 6 / slots.length : 1)] : around(left, right, figure.x.log ? 1 : 1e-12, filled ? 0 : 0.02, filled ? 0 : 0.02),
    y: figure.y.log ? around(from, high, 0.3, 0.06, 0.06) : [from === 0 ? 0 : from - 0.05 * (high - from), high + 0.06 * (high - from || 1)],
  };
  for (const one of all) one.ys = one.ys.map((value) => (Number.isFinite(value) ? value : whole.y[0]));
  const groups = new Map(), kinds = new Map();
  for (const one of all) {
    const entry = groups.get(one.group ?? one.name) ?? { key: `g${one.group ?? one.name}`, name: one.group ?? one.name, colour: one.colour, dash: 0, shown: false };
    if (one.group === undefined && one.kind === undefined) entry.dash = one.dash;
    entry.shown ||= one.shown !== false || one.group !== undefined;
    groups.set(entry.name, entry);
    if (one.kind === undefined) continue;
    const kind = kinds.get(one.kind) ?? { key: `k${one.kind}`, name: one.kind, colour: -1, dash: one.dash, shown: false };
    kind.shown ||= one.shown !== false;
    kinds.set(one.kind, kind);
  }
  const legends = [[...groups.values()], [...kinds.values()]].filter((entries) => entries.length > 1);
  const visible = (state) => all.filter((one) => one.xs.length && !state.hidden.has(`g${one.group ?? one.name}`) && !state.hidden.has(`k${one.kind}`));

  function series(theme, state) {
    const drawn = visible(state).flatMap((one) => {
      const colour = theme.colour(one.colour), data = one.xs.map((at, i) => [at, one.ys[i]]);
      if (one.look === "bars") {
        return [custom(data, (_, api) => {
          const [cx, top] = api.coord([api.value(0), api.value(1)]), bottom = api.coord([0, whole.y[0]])[1], wide = 0.8 * api.size([1, 0])[0] / slots.length;
          return { type: "rect", shape: { x: cx - wide / 2, y: api.value(1) > 0 ? Math.min(top, bottom - 1) : bottom, width: wide, height: Math.max(bottom - top, api.value(1) > 0 ? 1 : 0) }, style: { fill: colour, opacity: one.dash ? 0.4 : 1 } };
        })];
      }
      const line = {
        type: "line", silent: true, clip: true, data, sampling: data.length > 4000 ? "minmax" : undefined, step: one.look === "steps" ? "end" : false,
        showSymbol: one.look === "dots" || one.has_dots === true, symbol: one.dash && one.look === "dots" ? "emptyCircle" : "circle", symbolSize: 7, color: colour,
        lineStyle: { width: one.look === "dots" ? 0 : 1.75, type: DASHES[one.dash], color: colour },
        areaStyle: one.look === "area" ? { opacity: 0.22, origin: "start" } : undefined,
      };
      if (!one.ends.length) return [line];
      return [line, custom(one.ends.map(([a, b], i) => [one.xs[i], a, b]), (_, api) => {
        const [cx, y1] = api.coord([api.value(0), api.value(1)]), y2 = api.coord([api.value(0), api.value(2)])[1];
        return { type: "line", shape: { x1: cx, x2: cx, y1, y2 }, style: { stroke: colour, lineWidth: 1.5 } };
      })];
    });
    const marks = (figure.marks ?? []).map((mark) => ({ ...mark, at: x.to(mark.x) }));
    if (!marks.length) return drawn;
    return [...drawn, custom(marks.map((mark) => [mark.at, whole.y[0]]), (params, api) => {
      const [cx] = api.coord([api.value(0), whole.y[0]]), { y: top, height } = params.coordSys;
      return { type: "group", children: [
        { type: "line", shape: { x1: cx, x2: cx, y1: top, y2: top + height }, style: { stroke: theme.soft, lineDash: [2, 3] } },
        { type: "text", style: { text: marks[params.dataIndex].name, x: cx + 4, y: top + 2 + 14 * (params.dataIndex % 3), fill: theme.soft, font: theme.font } },
      ] };
    })];
  }

  return {
    whole, legends, series,
    axes: (view, [across, down]) => ({
      x: lined(figure.x, ...worded(figure.x, classes ? nameLines(classes) : x.lines, view.x, across / (figure.x.unit === "share" ? 70 : 90), x, classes)),
      y: lined(figure.y, ...worded(figure.y, y.lines, view.y, down / 44, y)),
    }),
    near([px, py], state, toPixel) {
      let best = null;
      for (const one of visible(state)) {
        for (let i = 0; i < one.xs.length; ++i) {
          const [x1, y1] = toPixel(one.xs[i], one.ys[i]), far = (x1 - px) ** 2 + (one.look === "bars" ? 0.01 : 1) * (y1 - py) ** 2;
          if (inside(state.view, one.xs[i], one.ys[i]) && (!best || far < best.far)) best = { one, i, far };
        }
      }
      return best;
    },
    move(item, across, down, state) {
      const shown = visible(state);
      if (!item || !shown.includes(item.one)) return shown.length ? { one: shown[0], i: 0 } : null;
      if (!down) return { one: item.one, i: clamp(item.i + across, 0, item.one.xs.length - 1) };
      const one = shown[(shown.indexOf(item.one) + down + shown.length) % shown.length], at = item.one.xs[item.i];
      return { one, i: one.xs.reduce((best, value, i) => (Math.abs(value - at) < Math.abs(one.xs[best] - at) ? i : best), 0) };
    },
    place: (item) => [item.one.xs[item.i], item.one.ys[item.i]],
    text({ one, i }) {
      const [at, value] = one.points[i], ends = one.intervals?.[i];
      const words = one.of ? `${exact(value)} ${figure.y.name} of ${exact(one.of)} ${figure.of_what ?? ""}, ${short({ unit: "share" }, value / one.of)}`
        : figure.y.unit === "count" ? `${exact(value)} ${figure.y.name}` : `${figure.y.name} ${full(figure.y, value)}`;
      return `${one.name ? `${one.name}\n` : ""}${full(figure.x, at)}: ${words}${ends ? ` (${full(figure.y, ends[0])} to ${full(figure.y, ends[1])})` : ""}`;
    },
  };
}

const inside = (view, x, y) => x >= view.x[0] && x <= view.x[1] && y >= view.y[0] && y <= view.y[1];
function worded(axis, lines, [low, high], most, { from }, names) {
  const places = lines(low, high, Math.max(2, Math.floor(most)));
  return [places, (at) => (names ? names[Math.floor(at)] : short(axis, Number(from(at).toPrecision(6))))];
}

export function heat(figure) {
  const columns = figure.x.names, rows = figure.y.names, log = figure.value.log;
  const cells = figure.cells.map(([x, y, value, kind = 0, wide = 1, more = null]) => ({ x, y, value, kind, wide, more }));
  const known = cells.map((cell) => cell.value).filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [least, most] = extent(known.length ? known : [0, 1]), low = figure.low ?? least, high = figure.high ?? most;
  const strength = (value) => (figure.kinds ? clamp(figure.value.unit === "share" ? value : Math.log1p(value) / Math.log1p(most || 1), 0, 1) : high === low ? 0.5
    : clamp(log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low), 0, 1));
  const gaps = new Set(figure.gaps ?? []), at = new Map();
  for (const cell of cells) for (let x = cell.x; x < cell.x + cell.wide; ++x) at.set(`${x},${cell.y}`, cell);
  const legends = figure.kinds ? [figure.kinds.map(([name, colour], kind) => ({ key: `h${kind}`, name, colour, dash: 0, shown: true, box: true }))] : [];
  const visible = (state) => cells.filter((cell) => !state.hidden.has(`h${cell.kind}`));
  return {
    whole: { x: [0, columns.length], y: [0, rows.length] }, legends,
    ramp: figure.kinds ? null : { low: short(figure.value, low), high: short(figure.value, high), name: figure.value.name },
    axes: (view, [across, down]) => ({
      x: lined(figure.x, ...worded(figure.x, nameLines(columns), view.x, across / 90, {}, columns)),
      y: lined(figure.y, ...worded(figure.y, nameLines(rows), view.y, down / 18, {}, rows)),
    }),
    series(theme, state) {
      const drawn = visible(state);
      return [custom(drawn.map((cell) => [cell.x, cell.y]), (params, api) => {
        const cell = drawn[params.dataIndex], [x, y] = api.coord([cell.x, cell.y + 1]), [width, tall] = api.size([cell.wide, 1]);
        const part = strength(cell.value), fill = figure.kinds ? theme.colour(figure.kinds[cell.kind][1]) : RAMP[Math.round(part * (RAMP.length - 1))];
        const box = { type: "rect", shape: { x, y: y + (gaps.has(cell.y) ? 2 : 0), width: width + 0.3, height: tall - (gaps.has(cell.y) ? 2 : 0) + 0.3 },
                      style: { fill, opacity: figure.kinds ? 0.15 + 0.85 * part : 1 } };
        if (!figure.labels || width < 36 || tall < 13) return box;
        return { type: "group", children: [box, { type: "text", style: { text: short(figure.value, cell.value), x: x + width / 2, y: y + tall / 2, align: "center", verticalAlign: "middle", fill: part > 0.68 ? "#fff" : "#000", font: theme.font } }] };
      })];
    },
    near: (_, state, __, [x, y]) => { const cell = at.get(`${Math.floor(x)},${Math.floor(y)}`); return cell && !state.hidden.has(`h${cell.kind}`) ? cell : null; },
    move(item, across, down, state) {
      const shown = visible(state);
      if (!item) return shown.reduce((best, cell) => (!best || cell.y > best.y ? cell : best), null);
      const ahead = shown.filter((cell) => (across ? cell.y === item.y && (cell.x - item.x) * across > 0 : (item.y - cell.y) * down > 0));
      const far = (cell) => Math.abs(cell.y - item.y) * 1e6 + Math.abs(cell.x - item.x);
      return ahead.reduce((best, cell) => (!best || far(cell) < far(best) ? cell : best), null) ?? item;
    },
    place: (cell) => [cell.x + cell.wide / 2, cell.y + 0.5],
    text(cell) {
      const last = cell.wide > 1 ? ` to ${columns[cell.x + cell.wide - 1]}` : "", value = (axis, one) => `${axis.name} ${full(axis, one)}`;
      const words = [...(figure.kinds ? [figure.kinds[cell.kind][0]] : []), value(figure.value, cell.value), ...(cell.more === null ? [] : [value(figure.more, cell.more)])];
      return `${rows[cell.y]}, ${columns[cell.x]}${last}\n${words.join(", ")}`;
    },
  };
}

export function intervals(figure) {
  const x = scale(figure.axis), rows = figure.rows, last = rows.length;
  const ends = rows.flatMap((row) => [row.low, row.high, row.median, ...(row.dots ?? []).map(([value]) => value)]).map(x.to).filter(Number.isFinite);
  const [low, high] = extent([...ends, ...(figure.axis.unit === "change" ? [x.to(1)] : [])]);
  const items = rows.flatMap((row, n) => [{ n, at: x.to(row.median), words: `median ${full(figure.axis, row.median)} (${full(figure.axis, row.low)} to ${full(figure.axis, row.high)})` },
    ...(row.dots ?? []).map(([value, words], i) => ({ n, at: x.to(value), down: (((i + 1) * 0.6180339887) % 1) - 0.5, words }))]);
  const place = (item) => [item.at, last - item.n - 0.5 - 0.5 * (item.down ?? 0)];
  return {
    whole: { x: around(low, high, 0.02), y: [0, last] }, legends: [],
    axes: (view, [across]) => ({
      x: lined(figure.axis, ...worded(figure.axis, x.lines, view.x, across / 60, x)),
      y: lined({ name: "" }, rows.map((_, n) => last - n - 0.5), (at) => rows[Math.round(last - at - 0.5)]?.name),
    }),
    series: (theme) => [
      custom(rows.map((row, n) => [x.to(row.low), last - n - 0.5, x.to(row.high), x.to(row.median)]), (params, api) => {
        const row = rows[params.dataIndex], [x1, y] = api.coord([api.value(0), api.value(1)]), [x2] = api.coord([api.value(2), 0]), [m] = api.coord([api.value(3), 0]);
        return { type: "group", children: [
          { type: "rect", shape: { x: x1, y: y - 11, width: Math.max(2, x2 - x1), height: 22, r: 2 }, style: { fill: theme.verdicts[row.verdict ?? ""] } },
          { type: "line", shape: { x1: m, x2: m, y1: y - 13, y2: y + 13 }, style: { stroke: theme.ink, lineWidth: 2 } }] };
      }),
      custom(items.filter((item) => item.down !== undefined).map(place), (_, api) => {
        const [cx, cy] = api.coord([api.value(0), api.value(1)]);
        return { type: "circle", shape: { cx, cy, r: 2.6 }, style: { fill: theme.colour(0), opacity: 0.75 } };
      }),
      ...(figure.axis.unit === "change" ? [custom([[x.to(1), 0]], (params, api) => {
        const [cx] = api.coord([api.value(0), 0]), { y, height } = params.coordSys;
        return { type: "line", shape: { x1: cx, x2: cx, y1: y, y2: y + height }, style: { stroke: theme.soft } };
      })] : [])],
    near: ([px, py], _, toPixel) => items.reduce((best, item) => {
      const [x1, y1] = toPixel(...place(item)), far = (x1 - px) ** 2 + (y1 - py) ** 2;
      return !best || far < best.far ? { ...item, far } : best;
    }, null),
    move(item, across, down) {
      const n = clamp((item?.n ?? 0) + (item ? down : 0), 0, last - 1), row = items.filter((one) => one.n === n).sort((a, b) => a.at - b.at);
      const here = row.findIndex((one) => one.at === item?.at && one.words === item?.words);
      return row[down || !item ? row.findIndex((one) => one.down === undefined) : clamp(here + across, 0, row.length - 1)];
    },
    place,
    text: (item) => `${rows[item.n].name}\n${item.words}`,
  };
}
