// SPDX-License-Identifier: BSL-1.0
// Values in their units, as millpond/report/figures/figure_html.py writes them, and the lines of an axis.
const scaled = (units) => (value) => {
  const [unit, name] = units.find(([least]) => Math.abs(value) >= least) ?? units.at(-1);
  return `${Number((value / unit).toPrecision(3))}${name && ` ${name}`}`;
};
export const exact = (value) =>
  Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, "\u00a0") : String(Number(value.toPrecision(4)));
const percent = (part) => `${Number((100 * part).toPrecision(3))} %`;
const texts = {
  number: exact,
  count: scaled([[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]),
  bytes: scaled([[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]),
  size: scaled([[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]),
  seconds: scaled([[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]),
  share: percent,
  change: (ratio) => { const change = Number((100 * (ratio - 1)).toPrecision(3)); return `${change > 0 ? "+" : ""}${Math.abs(change) < 1e-3 ? 0 : change} %`; },
};

// A value as the line of an axis names it.
export const short = (axis, value) => (value === 0 && axis.unit !== "change" ? "0" : texts[axis.unit ?? "number"](value));

// A value as exactly as it is known.
export function full(axis, value) {
  if (axis.names) return axis.names[value] ?? "";
  const words = short(axis, value);
  const whole = Number.isInteger(value) && value >= 1000;
  return axis.unit === "size" && whole ? `${words} (${exact(value)} B)` : whole && axis.unit === "count" ? exact(value) : words;
}

// The scale of an axis: to a line, from it, and the values between two places at which a line is drawn.
export function scale(axis) {
  if (!axis.log) return { to: (value) => value, from: (at) => at, lines: evenly };
  const base = axis.unit === "size" ? 2 : 10, log = base === 2 ? Math.log2 : Math.log10;
  const lines = (low, high, most) => {
    const spread = (steps) => {
      const found = [];
      for (let power = Math.floor(low); power <= high; ++power) {
        for (const step of steps) if (log(step) + power >= low && log(step) + power <= high) found.push(log(step) + power);
      }
      return found;
    };
    const finer = high - low > 3 ? [] : spread(base === 2 ? [1, 1.25, 1.5, 1.75] : [1, 2, 5]);
    const found = finer.length && finer.length <= most ? finer : spread([1]);
    if (found.length < 2) return evenly(base ** low, base ** high, most).filter((v) => v > 0).map(log);
    return found.filter((_, i) => i % Math.ceil(found.length / most) === 0);
  };
  // Of changes, 0 % is the middle: half and double are equally far.
  return { to: log, from: (at) => base ** at, lines: axis.unit === "change" ? changes : lines };
}

function evenly(low, high, most) {
  const raw = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const CHANGES = [0, -2, 2, -5, 5, -10, 10, -20, 20, -30, 30, -50, 50, -80, 100, 200, 400, -90, 900];
function changes(low, high, most) {
  const kept = [];
  for (const change of CHANGES) {
    const at = Math.log10(1 + change / 100);
    if (at >= low && at <= high && kept.every((one) => Math.abs(one - at) >= (high - low) / most)) kept.push(at);
  }
  return kept.sort((a, b) => a - b);
}
