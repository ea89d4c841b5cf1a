// Curves over two logarithmic axes: shows exact values under the pointer or by arrow keys, zooms, and hides curves. A
// polyline has its values in its attributes; the visible part is drawn from them again after each zoom.
"use strict";
const NS = "http://www.w3.org/2000/svg";
const UNITS = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const brief = (value) => String(Number(value.toPrecision(4)));
const size = (bytes) => { for (const [unit, name] of UNITS) if (bytes >= unit) return `${brief(bytes / unit)} ${name}`; return `${brief(bytes)} B`; };
const exact = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
const share = (part) => `${Number((100 * part).toPrecision(3))} %`;
const numbers = (text) => (text ? text.split(" ").map(Number) : []);

function make(parent, name, attributes, words) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (words !== undefined) made.textContent = words;
  parent.append(made);
  return made;
}

// Returns the numbers at which a logarithmic axis has lines: powers of `base`; if these are few, also 2 and 5 times them.
function ticks(low, high, base) {
  const found = [];
  const steps = base === 10 && high - low < 2 ? [1, 2, 5] : base === 2 && high - low < 3 ? [1, 1.25, 1.5, 1.75] : [1];
  for (let power = Math.floor(low); power <= high; ++power) {
    for (const step of steps) {
      const value = step * base ** power, at = Math.log(value) / Math.log(base);
      if (at >= low && at <= high) found.push([at, value]);
    }
  }
  return found;
}

function plot(figure) {
  const svg = figure.querySelector("svg.figure"), tip = figure.querySelector(".tip"), data = svg.dataset;
  const layer = (name) => svg.querySelector(`.${name}`);
  const top = Number(data.top), tall = Number(data.plot), shares = data.shares === "1";
  const whole = { left: Number(data.left), right: Number(data.right), low: Number(data.low), high: Number(data.high) };
  const curves = [...svg.querySelectorAll("polyline")].map((line) => {
    const of = Number(line.dataset.of), counts = numbers(line.dataset.y);
    return { line, of, counts, name: line.dataset.name, group: line.dataset.group, kind: line.dataset.kind,
             dots: line.dataset.dots === "1", colour: line.classList[1], sizes: numbers(line.dataset.x),
             values: counts.map((count) => (of ? count / of : count)) };
  });
  let view = { ...whole }, chosen = null, begun = null;

  const across = (bytes) => (Math.log2(bytes) - view.left) / (view.right - view.left);
  const down = (value) => (value > 0 ? (view.high - Math.log10(value)) / (view.high - view.low) : 1);
  const pressed = (key, value) => figure.querySelector(`button[data-${key}="${value}"]`)?.getAttribute("aria-pressed") !== "false";
  const seen = () => curves.filter((one) => pressed("group", one.group) && pressed("kind", one.kind));
  const within = (x, y) => x >= 0 && x <= 1 && y >= 0 && y <= 1;
  const percent = (part) => `${(100 * part).toFixed(3)}%`;

  function drawTicks() {
    const layerOfTicks = layer("ticks");
    layerOfTicks.replaceChildren();
    for (const [at, value] of ticks(view.low, view.high, 10)) {
      const y = top + tall * (view.high - at) / (view.high - view.low);
      make(layerOfTicks, "line", { class: "grid", x1: 0, x2: "100%", y1: y, y2: y });
      make(layerOfTicks, "text", { x: 0, y: y - 4 }, shares ? share(value) : exact(Number(value.toPrecision(3))));
    }
    const lines = ticks(view.left, view.right, 2), step = Math.ceil(lines.length / (svg.clientWidth < 600 ? 5 : 10));
    lines.forEach(([at, value], i) => {
      const x = (at - view.left) / (view.right - view.left);
      make(layerOfTicks, "line", { class: "grid", x1: percent(x), x2: percent(x), y1: top, y2: top + tall });
      if (i % step !== 0) return;
      const anchor = x < 0.06 ? "start" : x > 0.94 ? "end" : "middle";
      make(layerOfTicks, "text", { x: percent(x), y: svg.clientHeight - 8, "text-anchor": anchor }, size(value));
    });
  }

  function draw() {
    drawTicks();
    const dots = layer("dots"), shown = new Set(seen());
    dots.replaceChildren();
    for (const one of curves) {
      if (shown.has(one)) one.line.removeAttribute("display"); else one.line.setAttribute("display", "none");
      const points = one.sizes.map((bytes, i) => [across(bytes), Math.min(1, down(one.values[i]))]);
      one.line.setAttribute("points", points.map(([x, y]) => `${(1000 * x).toFixed(1)},${(1000 * y).toFixed(1)}`).join(" "));
      if (!one.dots || !shown.has(one)) continue;
      for (const [x, y] of points) if (within(x, y)) make(dots, "circle", { class: one.colour, cx: percent(x), cy: top + tall * y, r: 4 });
    }
    if (chosen && shown.has(chosen.curve)) show(chosen.curve, chosen.index); else hide();
  }

  function hide() {
    chosen = null;
    tip.hidden = true;
    if (!begun) layer("mark").replaceChildren();
  }

  function show(curve, index) {
    const x = across(curve.sizes[index]), y = Math.min(1, down(curve.values[index])), mark = layer("mark");
    chosen = { curve, index };
    mark.replaceChildren();
    tip.hidden = !within(x, y);
    if (tip.hidden) return;
    const where = top + tall * y;
    make(mark, "line", { x1: percent(x), x2: percent(x), y1: top, y2: top + tall });
    make(mark, "line", { x1: 0, x2: "100%", y1: where, y2: where });
    make(mark, "circle", { class: curve.colour, cx: percent(x), cy: where, r: 6 });
    const count = exact(curve.counts[index]);
    tip.textContent = `${curve.name}\n${size(curve.sizes[index])} (${exact(curve.sizes[index])} B): ` +
      (shares ? `${count} misses of ${exact(curve.of)} references, ${share(curve.values[index])}` : `${count} page faults`);
    const width = svg.clientWidth, at = x * width;
    tip.style.left = `${Math.max(0, Math.min(width - tip.offsetWidth, at + (at > width / 2 ? -tip.offsetWidth - 12 : 12)))}px`;
    tip.style.top = `${where > tall / 2 ? Math.max(0, where - tip.offsetHeight - 12) : where + 12}px`;
  }

  // Returns the visible point nearest to a place in pixels.
  function nearest(px, py) {
    let best = null;
    for (const curve of seen()) {
      curve.sizes.forEach((bytes, index) => {
        const x = across(bytes), y = Math.min(1, down(curve.values[index]));
        if (!within(x, y)) return;
        const far = (x * svg.clientWidth - px) ** 2 + (top + tall * y - py) ** 2;
        if (!best || far < best.far) best = { curve, index, far };
      });
    }
    return best;
  }

  function zoom(to) {
    const fits = to.right - to.left > 0.05 && to.high - to.low > 0.01;
    view = !fits ? view : to.right - to.left > whole.right - whole.left ? { ...whole } : to;
    draw();
  }
  function scale(factor) {
    const middle = chosen ? [across(chosen.curve.sizes[chosen.index]), Math.min(1, down(chosen.curve.values[chosen.index]))] : [0.5, 0.5];
    const x = view.left + middle[0] * (view.right - view.left), y = view.high - middle[1] * (view.high - view.low);
    zoom({ left: x - (x - view.left) * factor, right: x + (view.right - x) * factor,
           low: y - (y - view.low) * factor, high: y + (view.high - y) * factor });
  }
  function reset() { view = { ...whole }; draw(); }

  const place = (event) => { const box = svg.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  function select(to) {
    const mark = layer("mark");
    mark.replaceChildren();
    make(mark, "rect", { x: Math.min(begun[0], to[0]), y: Math.min(begun[1], to[1]), width: Math.abs(to[0] - begun[0]), height: Math.abs(to[1] - begun[1]) });
  }
  const wide = (to) => Math.abs(to[0] - begun[0]) > 12;
  svg.addEventListener("pointerdown", (event) => { begun = place(event); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (begun && wide(at)) { tip.hidden = true; select(at); return; }
    const found = nearest(...at);
    if (found) show(found.curve, found.index);
  });
  svg.addEventListener("pointerup", (event) => {
    const to = place(event), from = begun;
    if (!from) return;
    const wasWide = wide(to);
    begun = null;
    layer("mark").replaceChildren();
    if (!wasWide) { const found = nearest(...to); if (found) show(found.curve, found.index); return; }
    const x = (px) => view.left + Math.max(0, Math.min(1, px / svg.clientWidth)) * (view.right - view.left);
    const y = (py) => view.high - Math.max(0, Math.min(1, (py - top) / tall)) * (view.high - view.low);
    const flat = Math.abs(to[1] - from[1]) <= 12;  // a stroke along the axis keeps the full height
    hide();
    zoom({ left: x(Math.min(from[0], to[0])), right: x(Math.max(from[0], to[0])),
           high: flat ? view.high : y(Math.min(from[1], to[1])), low: flat ? view.low : y(Math.max(from[1], to[1])) });
  });
  svg.addEventListener("pointercancel", () => { begun = null; hide(); });
  svg.addEventListener("pointerleave", () => { if (!begun && document.activeElement !== svg) hide(); });
  svg.addEventListener("blur", () => hide());
  svg.addEventListener("dblclick", reset);

  function step(across_, down_) {
    const all = seen().filter((one) => one.sizes.length);
    if (!all.length) return;
    if (!chosen) { show(all[0], 0); return; }
    const curve = all[(all.indexOf(chosen.curve) + down_ + all.length) % all.length];
    const bytes = chosen.curve.sizes[chosen.index];
    const near = curve.sizes.reduce((best, one, i) => (Math.abs(Math.log(one / bytes)) < Math.abs(Math.log(curve.sizes[best] / bytes)) ? i : best), 0);
    show(curve, Math.max(0, Math.min(curve.sizes.length - 1, (down_ ? near : chosen.index) + across_)));
  }
  const keys = { ArrowRight: () => step(1, 0), ArrowLeft: () => step(-1, 0), ArrowDown: () => step(0, 1), ArrowUp: () => step(0, -1),
                 "+": () => scale(0.5), "-": () => scale(2), 0: reset, Escape: reset };
  svg.addEventListener("keydown", (event) => { if (keys[event.key] && !event.ctrlKey) { keys[event.key](); event.preventDefault(); } });
  const tools = { in: () => scale(0.5), out: () => scale(2), reset };
  for (const button of figure.querySelectorAll("button[data-zoom]")) button.addEventListener("click", tools[button.dataset.zoom]);
  for (const button of figure.querySelectorAll("button[aria-pressed]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      draw();
    });
  }
  addEventListener("resize", draw);
  draw();
}

for (const figure of document.querySelectorAll("figure.plot")) plot(figure);
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });
