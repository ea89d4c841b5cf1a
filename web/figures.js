// SPDX-License-Identifier: BSL-1.0
// Turns the specifications of figures on a page into charts of Apache ECharts, with one interaction for all of them:
//   pointer   exact values; a drag over a part enlarges it, a double click shows everything again
//   keys      arrows go from value to value, + and − zoom, 0 and Escape show everything
//   legend    buttons that hide
// A chart is drawn when it comes near the window, again when the colours of the page change, and before printing.
import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { graphic, init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { icicle } from "./icicle.js";
import { curves, heat, intervals } from "./kinds.js";

use([CustomChart, LineChart, GridComponent, CanvasRenderer]);
const KINDS = { curves, heat, icicle, intervals };
const PIXELS = { curves: 320, heat: 320, intervals: 0, icicle: 0 };
const PRINTED = 680;
const charts = new Set();

function add(parent, name, attributes = {}, words = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = words;
  parent.append(made);
  return made;
}

function colours() {
  const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: read("ink"), soft: read("soft"), line: read("line"), grid: read("grid"), found: "#ffd24d", font: "12px system-ui, sans-serif",
    verdicts: { better: read("good-band"), worse: read("bad-band"), "": read("noise-band") },
    colour: (place) => (place === -1 ? read("ink") : place === -2 ? read("rest") : read(`c${place % 8}`)),
  };
}

class Chart {
  constructor(host, figure) {
    this.figure = figure;
    this.kind = KINDS[figure.figure](figure);
    this.state = { hidden: new Set(), view: this.kind.whole, size: [0, 0] };
    this.item = null;
    for (const entry of this.kind.legends.flat()) if (!entry.shown) this.state.hidden.add(entry.key);
    this.makeLegends(host);
    if (this.kind.measures) this.makeSearch(host);
    this.stage = add(host, "div", { class: "stage", tabindex: "0", role: "application", "aria-label": `${figure.title}: arrows go from value to value, plus and minus zoom, 0 shows everything` });
    const rows = figure.figure === "intervals" ? 34 * figure.rows.length + 40 : PIXELS[figure.figure];
    this.stage.style.height = `${figure.height || this.kind.height || rows}px`;
    this.tip = add(host, "p", { class: "tip", role: "status", hidden: "" });
    this.makeTools(host);
    this.listen();
  }

  makeLegends(host) {
    for (const entries of this.kind.legends) {
      const row = add(host, "p", { class: "toggles", role: "group", "aria-label": "shown" });
      for (const entry of entries) {
        const button = add(row, "button", { type: "button", "aria-pressed": String(entry.shown), "data-key": entry.key });
        const colour = entry.colour === -1 ? "ink" : entry.colour === -2 ? "rest" : `c${entry.colour % 8}`;
        add(button, "span", { class: `swatch k-${colour} ${entry.box ? "box" : `d${entry.dash}`}`, "aria-hidden": "true" });
        button.append(` ${entry.name}`);
        button.addEventListener("click", () => {
          const shown = this.state.hidden.delete(entry.key);
          if (!shown) this.state.hidden.add(entry.key);
          button.setAttribute("aria-pressed", String(shown));
          this.render();
        });
      }
    }
    if (!this.kind.ramp) return;
    const row = add(host, "p", { class: "ramp soft" }, `${this.kind.ramp.name}: ${this.kind.ramp.low} `);
    add(row, "span", { "aria-hidden": "true" });
    row.append(` ${this.kind.ramp.high}`);
  }

  makeSearch(host) {
    const row = add(host, "p", { class: "toggles" });
    const buttons = this.kind.measures.map((name, number) => {
      const button = add(row, "button", { type: "button", "aria-pressed": String(number === 0), "data-measure": String(number) }, name);
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        this.kind.choose(number);
        this.item = null;
        find();
        this.zoom(this.kind.whole);
      });
      return button;
    });
    const field = add(row, "input", { type: "search", "aria-label": "find a function", placeholder: "find a function" });
    const found = add(row, "span", { class: "soft found", role: "status" });
    const find = () => { found.textContent = this.kind.search(field.value); };
    field.addEventListener("input", () => { find(); this.render(); });
  }

  makeTools(host) {
    const row = add(host, "p", { class: "tools" });
    for (const [name, words, act] of [["in", "Zoom in", () => this.scale(0.5)], ["out", "Zoom out", () => this.scale(2)], ["reset", "Reset", () => this.zoom(this.kind.whole)]]) {
      add(row, "button", { type: "button", "data-zoom": name }, words).addEventListener("click", act);
    }
  }

  // Makes the chart of the library, at the first time at which it has a size.
  open() {
    if (this.chart || !this.stage.clientWidth) return;
    this.chart = init(this.stage, null, { renderer: "canvas", devicePixelRatio: Math.max(devicePixelRatio, 2) });
    this.cross = new graphic.Group({ silent: true });
    this.chart.getZr().add(this.cross);
    this.render();
    const zr = this.chart.getZr();
    zr.on("mousedown", ({ offsetX, offsetY }) => { this.begun = [offsetX, offsetY]; });
    zr.on("mousemove", ({ offsetX, offsetY }) => this.point([offsetX, offsetY]));
    zr.on("mouseup", ({ offsetX, offsetY }) => this.release([offsetX, offsetY]));
    zr.on("globalout", () => { this.begun = null; if (document.activeElement !== this.stage) this.show(null); });
    zr.on("dblclick", () => this.zoom(this.kind.whole));
  }

  render(size) {
    if (!this.chart) return;
    const theme = this.theme = colours(), { view } = this.state;
    this.chart.resize(size);
    this.state.size = [this.chart.getWidth(), this.chart.getHeight()];
    const { x, y } = this.kind.axes(view, this.state.size);
    const axis = (of, [min, max], more) => ({
      type: "value", min, max, name: of.axis.name, nameTextStyle: { color: theme.soft }, axisTick: { show: false, customValues: of.places },
      axisLabel: { color: theme.soft, customValues: of.places, formatter: of.words, hideOverlap: true, ...more.label }, axisLine: { show: more.line, onZero: false, lineStyle: { color: theme.soft } },
      splitLine: { show: more.grid, lineStyle: { color: theme.grid } }, ...more.own,
    });
    const plain = this.kind.plain, classes = Boolean(this.figure.y?.names) || this.figure.figure === "intervals";
    const narrow = Math.min(240, 0.34 * this.state.size[0]);
    this.chart.setOption({
      animation: false, textStyle: { fontFamily: "system-ui, sans-serif" },
      grid: plain ? { left: 0, right: 0, top: 2, bottom: 2 } : { left: 4, right: 14, top: y.axis.name ? 26 : 8, bottom: x.axis.name ? 22 : 4, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
      xAxis: axis(x, view.x, { line: !plain, grid: !classes && !plain && !this.figure.x?.names, own: { nameLocation: "middle", nameGap: 24 } }),
      yAxis: axis(y, view.y, { line: false, grid: !classes && !plain, label: { width: classes ? narrow : undefined, overflow: classes ? "truncate" : undefined }, own: { nameLocation: "end", nameGap: 10, nameTextStyle: { color: theme.soft, align: "left" } } }),
      series: this.kind.series(theme, this.state),
    }, true);
    if (this.item) this.show(this.item);
  }

  // Between pixels and places of the chart.
  pixel(x, y) { return this.chart.convertToPixel({ gridIndex: 0 }, [x, y]); }
  place([px, py]) { return this.chart.convertFromPixel({ gridIndex: 0 }, [px, py]); }
  toPixel() {
    const { x, y } = this.state.view, [left, bottom] = this.pixel(x[0], y[0]), [right, top] = this.pixel(x[1], y[1]);
    return (at, value) => [left + (at - x[0]) / (x[1] - x[0]) * (right - left), bottom + (value - y[0]) / (y[1] - y[0]) * (top - bottom)];
  }

  near(px) {
    const at = this.place(px), { x, y } = this.state.view;
    if (at[0] < x[0] || at[0] > x[1] || at[1] < y[0] || at[1] > y[1]) return null;
    return this.kind.near(px, this.state, this.toPixel(), at);
  }

  point(at) {
    const from = this.begun;
    if (!from || Math.abs(at[0] - from[0]) <= 12) { this.show(this.near(at)); return; }
    this.show(null);
    const [x, y] = [Math.min(at[0], from[0]), Math.min(at[1], from[1])];
    this.cross.add(new graphic.Rect({ silent: true, shape: { x, y, width: Math.abs(at[0] - from[0]), height: Math.abs(at[1] - from[1]) }, style: { fill: this.theme.colour(0), opacity: 0.25 } }));
  }

  release(to) {
    const from = this.begun;
    this.begun = null;
    if (!from) return;
    if (Math.abs(to[0] - from[0]) <= 12) {
      const found = this.near(to);
      if (found && this.kind.enlarge) this.zoom(this.kind.enlarge(found));
      this.show(found);
      return;
    }
    const [a, b] = [this.place(from), this.place(to)], { view } = this.state;
    const range = (i, [low, high]) => [Math.max(low, Math.min(a[i], b[i])), Math.min(high, Math.max(a[i], b[i]))];
    this.show(null);
    // A stroke along the axis keeps the height; so does one in a tree.
    this.zoom({ x: range(0, view.x), y: Math.abs(to[1] - from[1]) <= 12 || this.kind.enlarge ? view.y : range(1, view.y) });
  }

  // Shows the exact values of an item; hides them if it is null or out of sight.
  show(item) {
    if (!this.chart) return;
    this.item = item;
    this.cross.removeAll();
    const { x, y } = this.state.view, at = item && (this.kind.clampTo?.(item, this.state.view) ?? this.kind.place(item));
    this.tip.hidden = !item || at[0] < x[0] || at[0] > x[1] || at[1] < y[0] || at[1] > y[1];
    if (this.tip.hidden) return;
    const [px, py] = this.pixel(...at), [left, top] = this.pixel(x[0], y[1]), [right, bottom] = this.pixel(x[1], y[0]);
    const stroke = { stroke: this.theme.soft, lineDash: [2, 3], opacity: 0.8 };
    if (!this.kind.plain) {
      this.cross.add(new graphic.Line({ silent: true, shape: { x1: px, x2: px, y1: top, y2: bottom }, style: stroke }));
      this.cross.add(new graphic.Line({ silent: true, shape: { x1: left, x2: right, y1: py, y2: py }, style: stroke }));
    }
    this.cross.add(new graphic.Circle({ silent: true, shape: { cx: px, cy: py, r: 5 }, style: { fill: "none", stroke: this.theme.ink, lineWidth: 2 } }));
    const text = this.kind.text(item);
    if (this.tip.textContent !== text) this.tip.textContent = text;
    const width = this.state.size[0], wide = this.tip.offsetWidth, tall = this.tip.offsetHeight;
    this.tip.style.left = `${Math.max(0, Math.min(width - wide, px + (px > width / 2 ? -wide - 12 : 12)))}px`;
    this.tip.style.top = `${this.stage.offsetTop + (py > this.state.size[1] / 2 ? Math.max(0, py - tall - 12) : py + 12)}px`;
  }

  zoom(to) {
    const wide = (of, i) => of[i][1] - of[i][0], { whole } = this.kind;
    const tiny = wide(to, "x") < 1e-6 * wide(whole, "x") || wide(to, "y") < 1e-6 * wide(whole, "y");
    if (!tiny) this.state.view = wide(to, "x") > wide(whole, "x") ? whole : to;
    this.open();
    this.render();
  }

  scale(factor) {
    const { x, y } = this.state.view, middle = this.item ? this.kind.place(this.item) : [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
    const range = ([low, high], at) => [at - (at - low) * factor, at + (high - at) * factor];
    this.zoom({ x: range(x, middle[0]), y: this.kind.enlarge ? y : range(y, middle[1]) });
  }

  listen() {
    const step = (across, down) => { this.open(); this.show(this.kind.move(this.item, across, down, this.state)); };
    const keys = {
      ArrowRight: () => step(1, 0), ArrowLeft: () => step(-1, 0), ArrowDown: () => step(0, 1), ArrowUp: () => step(0, -1),
      "+": () => this.scale(0.5), "-": () => this.scale(2), 0: () => this.zoom(this.kind.whole), Escape: () => this.zoom(this.kind.whole),
      Enter: () => { if (this.item && this.kind.enlarge) this.zoom(this.kind.enlarge(this.item)); },
    };
    this.stage.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      keys[event.key]();
      event.preventDefault();
    });
    this.stage.addEventListener("blur", () => this.show(null));
  }
}

// Draws the figures of an element at the first time at which it is near the window, or all of them for a print.
const waiting = new Set();
const seen = new IntersectionObserver((entries) => { for (const entry of entries) if (entry.isIntersecting) begin(entry.target); }, { rootMargin: "400px" });
const sized = new ResizeObserver((entries) => { for (const entry of entries) { entry.target.chart.open(); entry.target.chart.render(); } });

function begin(element) {
  if (!waiting.delete(element)) return;
  seen.unobserve(element);
  const host = element.querySelector(".drawing"), figure = JSON.parse(element.querySelector("template").content.textContent);
  host.style.minHeight = "";
  if (figure.figure !== "multiples") { make(host, figure); return; }
  host.classList.add("multiples");
  for (const one of figure.figures) {
    const part = add(host, "div", { class: "part" });
    add(part, "p", { class: "soft" }, one.title);
    make(part, { height: 170, ...one });
  }
}

function make(host, figure) {
  const chart = new Chart(host, figure);
  chart.stage.chart = chart;
  charts.add(chart);
  sized.observe(chart.stage);
  chart.open();
}

for (const element of document.querySelectorAll("figure.figure")) {
  element.querySelector(".drawing").style.minHeight = `${PIXELS[element.dataset.figure] || 240}px`;
  waiting.add(element);
  seen.observe(element);
}

const again = () => { for (const chart of charts) chart.render(); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
matchMedia("print").addEventListener("change", again);
addEventListener("beforeprint", () => {
  for (const element of [...waiting]) begin(element);
  for (const chart of charts) chart.render({ width: Math.min(PRINTED, chart.stage.clientWidth || PRINTED) });
});
addEventListener("afterprint", () => { for (const chart of charts) chart.render({ width: "auto" }); });
