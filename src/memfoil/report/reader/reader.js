"use strict";

/* Offsets are code points, as in the tables; only `unit` knows of UTF-16. */
const LEVELS = 7;
const ROUNDING = 1e-9; // as memfoil.stats.census compares with a threshold
const BLOCK = 3000;
const SILENT_BLOCK = 600;
const SCROLL_MARGIN = "1200px";

const $ = id => document.getElementById(id);
const book = JSON.parse($("book").textContent);
const main = $("text"), tip = $("tip"), map = $("map");
const silent = book.text === null;

// ---------------------------------------------------------------------------- reading the data

function floats(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const values = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => values.getFloat64(8 * i, true));
}

function summed(steps) {
  const result = new Int32Array(steps.length);
  let total = 0;
  for (let i = 0; i < steps.length; i++) result[i] = total += steps[i];
  return result;
}

/** The last i with values[i] <= x; -1 if there is none. */
function lastAtMost(values, x, count = values.length) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const windows = {
  start: summed(book.windows.start),
  suffix: summed(book.windows.suffix),
  end: summed(book.windows.end),
};

function opened(view) {
  if (!view.level) {
    view.starts = summed(view.starts); // one more than runs: the end of the book
    view.windows = summed(view.windows); // -1: in no suffix
    const natural = floats(view.log_scores);
    view.natural = natural;
    view.log10 = natural.map(x => x / Math.LN10);
    view.runs = natural.length;
    view.tau = view.log10_tau ?? -Infinity;
    const lowest = view.log10.reduce((a, b) => (Number.isFinite(b) && b < a ? b : a), -1);
    view.low = Number.isFinite(view.tau) ? Math.min(view.tau, -1) : Math.floor(lowest);
    view.level = new Uint8Array(view.runs);
  }
  return view;
}

const wide = []; // code points that take two UTF-16 units
if (!silent) {
  let point = 0;
  for (let i = 0; i < book.text.length; i++, point++) {
    const code = book.text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00) { wide.push(point); i++; }
  }
}
const unit = point => point + lastAtMost(wide, point - 1) + 1;
const textOf = (a, b) => (silent ? "·".repeat(b - a) : book.text.slice(unit(a), unit(b)));
const pointsIn = string => {
  let points = 0;
  for (const _ of string) points++;
  return points;
};

// ------------------------------------------------------------------------------- saying numbers

const sign = text => String(text).replace("-", "−");
const count = number => number.toLocaleString("en");
const share = part => (100 * part / Math.max(book.characters, 1)).toFixed(2) + "%";

/** 10^x in HTML; below 1e-20 only the exponent is trusted. */
function power(x) {
  if (x === -Infinity) return "0";
  if (x === Infinity) return "∞";
  if (x > -3 && x <= 0) return String(Number((10 ** x).toPrecision(3)));
  const exponent = x < -20 ? x.toFixed(0) : String(Number(x.toFixed(1)));
  return `10<sup>${sign(exponent)}</sup>`;
}

function queries(x) {
  if (x === Infinity) return "no number of queries";
  const whole = Math.floor(x);
  const words = x < 6 ? count(Math.round(10 ** x))
    : x < 20 ? `${(10 ** (x - whole)).toFixed(1)} × 10<sup>${whole}</sup>` : power(x);
  return words + (words === "1" ? " query" : " queries");
}

/** log10 of the fewest queries that show a sequence with the book's chance of success. */
function queriesNeeded(natural) {
  const hazard = natural < -37 ? natural : Math.log(-Math.log1p(-Math.exp(natural)));
  const exact = Math.log10(-Math.log1p(-book.success)) - hazard / Math.LN10;
  return exact < 15 ? Math.log10(Math.max(1, Math.ceil(10 ** exact * (1 - 1e-12)))) : exact;
}

/** The smallest natural log-score that 10^x queries show. */
const smallest = x => Math.log(-Math.expm1(Math.log1p(-book.success) / 10 ** x));

// ---------------------------------------------------------------------------------- what is shown

const state = {
  view: opened(book.views[0]), delta: 0, budget: Math.log10(book.queries), version: 0,
  passages: [], at: -1, memorized: 0, reachable: 0, reach: 0, bar: 0,
};

/** Levels of all runs (0: not memorized, then by score, then by score within reach), passages. */
function judge() {
  const { view } = state;
  state.version++;
  state.bar = view.tau + state.delta;
  state.reach = smallest(state.budget) - 1e-12;
  state.memorized = state.reachable = 0;
  state.passages = [];
  let last = null;
  for (let i = 0; i < view.runs; i++) {
    const score = view.log10[i];
    let level = 0;
    if (score > state.bar + ROUNDING) {
      const place = Math.floor(LEVELS * (score - view.low) / -view.low);
      level = 1 + Math.max(0, Math.min(LEVELS - 1, place));
      const start = view.starts[i], end = view.starts[i + 1];
      state.memorized += end - start;
      if (view.natural[i] >= state.reach) { state.reachable += end - start; level += LEVELS; }
      if (last && last.end === start) last.end = end;
      else state.passages.push(last = { start, end });
    }
    view.level[i] = level;
  }
}

const colour = name =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const colours = ["transparent"];
for (const ramp of ["out", "in"])
  for (let i = 0; i < LEVELS; i++) colours.push(colour(`${ramp}-${i}`));
const EDGES = [colour("out-line"), colour("in-line")], INK = colour("ink");

// ------------------------------------------------------------------------------- blocks of text

const starts = []; // of blocks
const blocks = [];

/** Where the block that starts at `a` ends: behind an empty line, else a line, else a space. */
function blockEnd(text, position) {
  const stretch = text.slice(position, position + BLOCK);
  const paragraph = /\n(?:[ \t]*\n)+/.exec(stretch);
  if (paragraph) return stretch.slice(0, paragraph.index + paragraph[0].length);
  if (position + BLOCK >= text.length) return stretch;
  const cut = Math.max(stretch.lastIndexOf("\n"), 0) || Math.max(stretch.lastIndexOf(" "), 0);
  if (cut) return stretch.slice(0, cut + 1);
  const half = stretch.charCodeAt(stretch.length - 1);
  return half >= 0xd800 && half < 0xdc00 ? stretch.slice(0, -1) : stretch;
}

function cut() {
  const heights = heightOf();
  const fragment = document.createDocumentFragment();
  const add = (start, end, string) => {
    const block = document.createElement("p");
    block.dir = "auto";
    block.textContent = string;
    block.start = start;
    block.end = end;
    block.version = 0;
    if (silent) block.dataset.at = count(start);
    block.style.containIntrinsicBlockSize = `auto ${heights(string)}px`;
    starts.push(start);
    blocks.push(block);
    fragment.append(block);
  };
  if (silent)
    for (let a = 0; a < book.characters; a += SILENT_BLOCK) {
      const b = Math.min(a + SILENT_BLOCK, book.characters);
      add(a, b, textOf(a, b));
    }
  else
    for (let position = 0, a = 0; position < book.text.length;) {
      const string = blockEnd(book.text, position);
      const b = a + (wide.length ? pointsIn(string) : string.length);
      add(a, b, string.replace(/[\n\t ]+$/, ""));
      position += string.length;
      a = b;
    }
  main.append(fragment);
}

/** A guess at the height of a paragraph, so that the scroll bar tells the truth. */
function heightOf() {
  const probe = document.createElement("p");
  probe.textContent = textOf(0, Math.min(book.characters, 2000)).replace(/\s+/g, " ") || "x";
  probe.style.display = "inline-block";
  probe.style.whiteSpace = "nowrap";
  main.append(probe);
  const style = getComputedStyle(probe);
  const line = parseFloat(style.lineHeight), gap = parseFloat(style.paddingBottom);
  const width = probe.getBoundingClientRect().width / probe.textContent.length || 8;
  probe.remove();
  const inner = main.clientWidth - parseFloat(getComputedStyle(main).paddingLeft)
    - parseFloat(getComputedStyle(main).paddingRight);
  const each = Math.max(8, inner / width - 3);
  return string => {
    let lines = 0;
    for (const part of string.split("\n")) lines += Math.max(1, Math.ceil(part.length / each));
    return Math.round(lines * line + gap);
  };
}

/** Colour a block: one element for each stretch of one level. */
function paint(block) {
  if (block.version === state.version) return;
  block.version = state.version;
  const { view } = state;
  const string = block.textContent;
  const fragment = document.createDocumentFragment();
  let run = lastAtMost(view.starts, block.start, view.runs);
  let position = 0;
  while (position < string.length) {
    const level = view.level[run];
    while (run + 1 < view.runs && view.level[run + 1] === level) run++;
    const end = Math.min(view.starts[run + 1], block.end);
    const next = wide.length && !silent ? unit(end) - unit(block.start) : end - block.start;
    const piece = string.slice(position, next);
    if (level) {
      const span = document.createElement("span");
      span.style.backgroundColor = colours[level];
      if (level > LEVELS) span.className = "in";
      span.dataset.level = level;
      span.textContent = piece;
      fragment.append(span);
    } else fragment.append(piece);
    if (end >= block.end) break;
    position = next;
    run++;
  }
  block.replaceChildren(fragment);
}

const near = new Set();
const observer = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries)
    if (isIntersecting) { near.add(target); paint(target); }
    else near.delete(target);
}, { rootMargin: SCROLL_MARGIN });

// ------------------------------------------------------------------------ places and characters

const blockOf = point => blocks[Math.max(0, lastAtMost(starts, point))];

/** The text node that holds a character, and where in it. */
function placeOf(point) {
  const block = blockOf(point);
  let left = silent ? point - block.start : unit(point) - unit(block.start);
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  let node = walker.nextNode(), last = node;
  while (node && left >= node.length) { left -= node.length; last = node; node = walker.nextNode(); }
  if (node) return [node, left];
  return last ? [last, last.length] : [block, 0];
}

function rangeOf(start, end) {
  const range = document.createRange();
  range.setStart(...placeOf(start));
  const [node, offset] = placeOf(end - 1);
  range.setEnd(node, Math.min(offset + 1, node.length ?? 0));
  return range;
}

/** The character under a point of the window, or -1. */
function pointAt(x, y) {
  let node, offset;
  if (document.caretPositionFromPoint) {
    const caret = document.caretPositionFromPoint(x, y);
    if (caret) [node, offset] = [caret.offsetNode, caret.offset];
  } else {
    const caret = document.caretRangeFromPoint(x, y);
    if (caret) [node, offset] = [caret.startContainer, caret.startOffset];
  }
  if (!node || node.nodeType !== Node.TEXT_NODE) return -1;
  const block = node.parentElement.closest("main p");
  if (!block || block.start === undefined) return -1;
  const range = document.createRange();
  for (const first of [offset, offset - 1]) {
    if (first < 0 || first >= node.length) continue;
    range.setStart(node, first);
    range.setEnd(node, first + 1);
    const inside = [...range.getClientRects()].some(
      box => x >= box.left && x <= box.right && y >= box.top - 4 && y <= box.bottom + 4);
    if (!inside) continue;
    range.setStart(block, 0);
    range.setEnd(node, first);
    return block.start + pointsIn(range.toString());
  }
  return -1;
}

function mark(name, start, end) {
  if (!window.Highlight || !CSS.highlights) return;
  if (end > start) CSS.highlights.set(name, new Highlight(rangeOf(start, end)));
  else CSS.highlights.delete(name);
}

// --------------------------------------------------------------------------------- hovering

function describe(point) {
  const { view } = state;
  const run = lastAtMost(view.starts, point, view.runs);
  const score = view.log10[run], index = view.windows[run];
  const rows = [];
  if (index < 0) rows.push(["", "in no suffix: not scored"]);
  else {
    const margin = view.tau === -Infinity ? "∞" : sign((score - view.tau).toFixed(1));
    rows.push(["score", power(score)]);
    rows.push(["threshold τ", view.has_threshold ? power(view.tau) : "none"]);
    rows.push(["margin Δ", score === -Infinity ? "−∞" : margin]);
    const needed = score === -Infinity ? Infinity : queriesNeeded(view.natural[run]);
    rows.push([`queries for ${100 * book.success}%`, needed === Infinity ? "∞" : queries(needed)]);
    rows.push(["best suffix", `characters ${count(windows.suffix[index])}–${count(windows.end[index])}`]);
  }
  const level = view.level[run];
  const verdict = level > LEVELS ? "memorized, and within reach"
    : level ? "memorized, out of this budget’s reach" : index < 0 ? "not scored" : "not memorized";
  return { verdict, rows, index };
}

let pointed = -1;
function hover(x, y) {
  const point = pointAt(x, y);
  tip.hidden = point < 0;
  if (point < 0) { mark("prefix", 0, 0); mark("suffix", 0, 0); pointed = -1; return; }
  if (point !== pointed) {
    pointed = point;
    const { verdict, rows, index } = describe(point);
    tip.innerHTML = `<p>${verdict}</p><table>` + rows.map(
      ([name, value]) => `<tr><th>${name}</th><td>${value}</td></tr>`).join("") + "</table>";
    if (index >= 0) {
      mark("prefix", windows.start[index], windows.suffix[index]);
      mark("suffix", windows.suffix[index], windows.end[index]);
    } else { mark("prefix", 0, 0); mark("suffix", 0, 0); }
  }
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, innerWidth - box.width - 8);
  const top = y + 22 + box.height > innerHeight ? y - box.height - 14 : y + 22;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

// ----------------------------------------------------------------------------------- moving

const headHeight = () => {
  const box = document.querySelector("header").getBoundingClientRect();
  return Math.max(0, box.bottom);
};

/** Scroll until a character stands in the upper third of the window. */
function bring(point, rounds = 5) {
  const block = blockOf(point);
  block.style.contentVisibility = "visible"; // its guessed height would not do
  paint(block);
  const box = rangeOf(point, point + 1).getBoundingClientRect();
  const head = headHeight();
  const off = box.top - (head + 0.25 * (innerHeight - head));
  if (Math.abs(off) > 2) scrollBy({ top: off, behavior: "instant" });
  if (rounds > 0) requestAnimationFrame(() => bring(point, rounds - 1));
  else barBeside();
}

let barred = [];

/** A bar in the margin beside the passage one has come to. */
function barBeside() {
  for (const block of barred) block.style.background = "";
  barred = [];
  if (state.at < 0) return;
  const { start, end } = state.passages[state.at];
  for (let i = lastAtMost(starts, start); i < blocks.length && blocks[i].start < end; i++) {
    const block = blocks[i];
    block.style.contentVisibility = "visible";
    const text = rangeOf(Math.max(start, block.start), Math.min(end, block.end))
      .getBoundingClientRect();
    const top = text.top - block.getBoundingClientRect().top;
    block.style.background = `linear-gradient(${INK}, ${INK}) no-repeat `
      + `0 ${top}px / 3px ${text.height}px`;
    barred.push(block);
  }
}

function step(by) {
  const { passages } = state;
  if (!passages.length) return;
  if (state.at >= 0) state.at = (state.at + by + passages.length) % passages.length;
  else {
    const here = lastAtMost(passages.map(passage => passage.start), topCharacter());
    state.at = by > 0 ? (here + 1) % passages.length : Math.max(here, 0);
  }
  const { start } = passages[state.at];
  bring(start);
  sayWhere();
}

function sayWhere() {
  const { passages, at } = state;
  const number = count(passages.length);
  $("where").textContent = at < 0
    ? `${number} passage${passages.length === 1 ? "" : "s"}` : `${count(at + 1)} of ${number}`;
  for (const id of ["previous", "next"]) $(id).disabled = !passages.length;
}

/** The character at a height of the window, from the blocks' places. */
function characterAt(y) {
  let low = 0, high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle].getBoundingClientRect().top <= y) low = middle;
    else high = middle - 1;
  }
  const block = blocks[low];
  if (!block) return 0;
  const box = block.getBoundingClientRect();
  const inside = Math.min(1, Math.max(0, (y - box.top) / Math.max(box.height, 1)));
  return Math.round(block.start + inside * (block.end - block.start));
}
const topCharacter = () => characterAt(headHeight());

// ------------------------------------------------------------------------------------- the map

let picture = null;

/** A row of pixels: as wide as the share of its characters that is memorized, coloured by the
    largest score in it. */
function drawMap() {
  const ratio = devicePixelRatio || 1;
  const width = map.width = Math.max(1, Math.round(map.clientWidth * ratio));
  const height = map.height = Math.max(1, Math.round(map.clientHeight * ratio));
  const { view } = state;
  picture = new OffscreenCanvas(width, height);
  const brush = picture.getContext("2d");
  const covered = new Float64Array(height), best = new Uint8Array(height);
  const scale = height / Math.max(book.characters, 1);
  for (let i = 0; i < view.runs; i++) {
    const level = view.level[i];
    if (!level) continue;
    const a = view.starts[i] * scale, b = view.starts[i + 1] * scale;
    for (let row = Math.floor(a); row < Math.min(b, height); row++) {
      covered[row] += Math.min(b, row + 1) - Math.max(a, row);
      if (level > best[row]) best[row] = level;
    }
  }
  for (let row = 0; row < height; row++)
    if (best[row]) {
      brush.fillStyle = colours[best[row]];
      brush.fillRect(0, row, Math.max(0.12, covered[row]) * width, 2);
      brush.fillStyle = EDGES[Number(best[row] > LEVELS)];
      brush.fillRect(0, row, 4 * ratio, 2);
    }
  drawView();
}

/** The picture, and what of it is in the window. */
function drawView() {
  if (!picture) return;
  const brush = map.getContext("2d");
  brush.clearRect(0, 0, map.width, map.height);
  brush.drawImage(picture, 0, 0);
  const scale = map.height / Math.max(book.characters, 1);
  const a = topCharacter() * scale, b = characterAt(innerHeight) * scale;
  brush.fillStyle = "rgb(29 39 48 / 0.10)";
  brush.strokeStyle = INK;
  brush.lineWidth = devicePixelRatio || 1;
  const tall = Math.max(b - a, 4);
  brush.fillRect(0, a, map.width, tall);
  brush.strokeRect(0.5, a + 0.5, map.width - 1, tall - 1);
}

function jumpTo(y) {
  const box = map.getBoundingClientRect();
  const part = Math.min(1, Math.max(0, (y - box.top) / box.height));
  state.at = -1;
  sayWhere();
  bring(Math.min(book.characters - 1, Math.floor(part * book.characters)));
}

// --------------------------------------------------------------------------- the scale's controls

/** The axis reaches half a decade over both ends, so that a budget stands at the score it shows. */
function layScale() {
  const { view } = state;
  const shift = Math.log10(-Math.log1p(-book.success));
  const decades = -view.low;
  const whole = decades + 1;
  const percent = x => (100 * (x - view.low + 1 - shift) / whole) + "%";
  const part = x => (100 * x / whole) + "%";
  const legend = $("legend"), ticks = $("ticks"), delta = $("delta"), budget = $("budget");
  legend.style.marginLeft = percent(view.low);
  legend.style.width = part(decades);
  // A thumb's centre stays half its width inside its track.
  delta.style.marginLeft = `calc(${percent(view.low)} - 8px)`;
  delta.style.width = `calc(${part(decades)} + 16px)`;
  budget.style.marginLeft = "-8px";
  budget.style.width = "calc(100% + 16px)";
  $("scale").style.visibility = view.has_threshold ? "" : "hidden"; // greedy has one score: 1
  delta.max = decades;
  delta.disabled = view.tau === -Infinity || view.tau >= -0.1;
  budget.max = whole;
  delta.value = state.delta;
  budget.value = state.budget;
  const every = [1, 2, 5, 10, 20, 50, 100].find(size => decades / size <= 6) ?? 200;
  ticks.replaceChildren();
  const tick = (x, label) => {
    const mark = document.createElement("span");
    mark.style.left = percent(x);
    mark.innerHTML = label;
    ticks.append(mark);
  };
  const atTau = view.low === view.tau;
  if (atTau) tick(view.low, "τ");
  for (let x = 0; x >= view.low + (atTau ? 0.09 * decades : 0); x -= every)
    tick(x, x === 0 ? "1" : `10<sup>${sign(x)}</sup>`);
}

function drawLegend() {
  const { view } = state;
  const reach = state.reach / Math.LN10;
  const cuts = [view.low, 0, state.bar, reach].filter(x => x >= view.low && x <= 0);
  for (let i = 1; i < LEVELS; i++) cuts.push(view.low - i * view.low / LEVELS);
  cuts.sort((a, b) => a - b);
  const stops = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const middle = (cuts[i] + cuts[i + 1]) / 2;
    let level = 0;
    if (middle > state.bar) {
      level = 1 + Math.min(LEVELS - 1, Math.floor(LEVELS * (middle - view.low) / -view.low));
      if (middle >= reach) level += LEVELS;
    }
    for (const x of [cuts[i], cuts[i + 1]])
      stops.push(`${level ? colours[level] : "#fff"} ${100 * (x - view.low) / -view.low}%`);
  }
  $("legend").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  $("legend").setAttribute("aria-label",
    "Scores from the threshold to 1: blue is memorized, orange also within reach; darker is likelier");
}

function say() {
  const { view } = state;
  $("memorized").textContent = share(state.memorized);
  $("reachable").textContent = share(state.reachable);
  $("bar-words").innerHTML = view.has_threshold
    ? `of the characters are memorized: score above ${power(state.bar)}`
    : "of the characters are generated";
  $("queries").innerHTML = queries(state.budget);
  $("delta-value").textContent = view.tau === -Infinity ? "∞" : state.delta.toFixed(1);
  $("budget-value").innerHTML = queries(state.budget);
  sayWhere();
}

function refresh() {
  state.at = -1;
  barBeside();
  judge();
  for (const block of near) paint(block);
  drawLegend();
  say();
  drawMap();
}

// -------------------------------------------------------------------------------------- start

function listen() {
  let waiting = false;
  const soon = work => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; work(); });
  };
  const select = $("view");
  book.views.forEach((view, i) => select.add(new Option(view.label, i)));
  select.addEventListener("change", () => {
    state.view = opened(book.views[select.value]);
    state.delta = 0;
    layScale();
    refresh();
  });
  $("delta").addEventListener("input", event => {
    state.delta = Number(event.target.value);
    soon(refresh);
  });
  $("budget").addEventListener("input", event => {
    state.budget = Number(event.target.value);
    soon(refresh);
  });
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === select) return;
    if (event.key === "n") step(1);
    if (event.key === "p") step(-1);
  });
  let mouse = null;
  const follow = (x, y) => {
    if (!mouse) requestAnimationFrame(() => { hover(...mouse); mouse = null; });
    mouse = [x, y];
  };
  main.addEventListener("pointermove", event => follow(event.clientX, event.clientY));
  main.addEventListener("pointerleave", () => follow(-1, -1));
  map.addEventListener("pointerdown", event => {
    map.setPointerCapture(event.pointerId);
    jumpTo(event.clientY);
  });
  map.addEventListener("pointermove", event => {
    if (map.hasPointerCapture(event.pointerId)) jumpTo(event.clientY);
  });
  let scrolled = false;
  addEventListener("scroll", () => {
    if (!tip.hidden) hover(-1, -1);
    if (scrolled) return;
    scrolled = true;
    requestAnimationFrame(() => { scrolled = false; drawView(); });
  }, { passive: true });
  const fit = () => {
    document.documentElement.style.setProperty(
      "--head", document.querySelector("header").offsetHeight + "px");
    drawMap();
  };
  new ResizeObserver(fit).observe(document.querySelector("header"));
  addEventListener("resize", () => { fit(); barBeside(); });
}

if (silent) {
  main.classList.add("silent");
  const notice = document.createElement("div");
  notice.className = "notice";
  notice.textContent = "The text is left out of this file. Each dot is one character.";
  main.append(notice);
}
cut();
listen();
layScale();
refresh();
for (const block of blocks) observer.observe(block);
