// Figures, drawn as SVG in the colours of the theme; every point says its value on hover.

const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "down", "star", "plus"];
const colour = (at) => `var(--series-${at % 8})`;

/** A marker at a place, of a shape of its own, so that colour is not all that tells series apart. */
function marker(at, x, y, label, size = 4.5) {
  const s = size, d = {
    square: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    triangle: `M${x} ${y - s * 1.2}l${s * 1.15} ${s * 2.1}h${-s * 2.3}z`,
    down: `M${x} ${y + s * 1.2}l${s * 1.15} ${-s * 2.1}h${-s * 2.3}z`,
    diamond: `M${x} ${y - s * 1.35}l${s * 1.35} ${s * 1.35}l${-s * 1.35} ${s * 1.35}l${-s * 1.35} ${-s * 1.35}z`,
    cross: `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`,
    plus: `M${x - s * 1.2} ${y}h${2.4 * s}m${-1.2 * s} ${-1.2 * s}v${2.4 * s}`,
    star: `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}M${x} ${y - s * 1.3}v${2.6 * s}`,
  }[SHAPES[at % 8]];
  const style = { fill: colour(at), stroke: colour(at) };
  const node = d ? svg("path.marker", { d, style }) : svg("circle.marker", { cx: x, cy: y, r: s, style });
  if (label) node.append(svg("title", {}, label));
  return node;
}

/** The marker of a retriever beside its name. */
const swatch = (at) => svg("svg.swatch", { viewBox: "0 0 14 14", "aria-hidden": "true" }, marker(at, 7, 7, null, 4.4));

/** A phone's figures are drawn smaller, so that their letters are not. */
const narrow = () => window.innerWidth < 640;

/** A name cut to a width, in letters; wide letters count twice. The end stays: names often differ there. */
function clipped(text, room) {
  const letters = [...plain(text)], wide = (some) => some.reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x1100 ? 1.8 : 1), 0);
  if (wide(letters) <= room) return letters.join("");
  let head = 0, tail = 0;
  while (wide(letters.slice(0, head + 1)) <= room * 0.55) head += 1;
  while (wide(letters.slice(letters.length - tail - 1)) <= room * 0.45 - 1) tail += 1;
  return `${letters.slice(0, head).join("").trimEnd()}…${letters.slice(letters.length - tail).join("").trimStart()}`;
}

const label = (attributes, text) => svg("text", { ...attributes, direction: "ltr", style: { unicodeBidi: "isolate" } }, text);

function figure(id, title, note, ...content) {
  return el("figure", { id, "aria-labelledby": `${id}-title` },
    el("figcaption", {}, el("h3", { id: `${id}-title` }, title), note ? el("p.muted", {}, note) : null), content);
}

function figuresSection() {
  return el("section.figures", { "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, t("figures")),
    el("div.figure-grid", {}, metricsFigure(), curvesFigure(), timesFigure(), scoresFigure()));
}

function metricsFigure() {
  const view = standing()?.overall, at = present();
  const listed = data.metrics.filter((each) => each.share && at.some((r) => (cell(r).mean[each.name] ?? null) !== null)).slice(0, 12);
  if (!listed.length) return null;
  const width = 340, left = 128, right = 44, line = 19, top = 8, height = top + at.length * line + 20;
  const panel = (each) => {
    // Credited document by document, as other tools do it, a value may be above 1.
    const limit = Math.max(1, ...at.map((r) => estimate(view, r, each.name)?.high ?? cell(r).mean[each.name] ?? 0));
    const x = (v) => left + (v / limit) * (width - left - right);
    const parts = [0, 0.5, 1].map((tick) => [
      svg("line.grid", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 18 }),
      label({ x: x(tick), y: height - 5, class: "tick", "text-anchor": "middle" }, String(tick))]);
    const spoken = at.map((r, row) => {
      const own = estimate(view, r, each.name), mean = cell(r).mean[each.name], y = top + row * line + line / 2 - 3;
      parts.push(label({ x: left - 10, y: y + 4, class: "name", "text-anchor": "end" }, clipped(data.retrievers[r], 18)));
      if (mean === null || mean === undefined) return null;
      const said = `${plain(data.retrievers[r])}: ${number(mean, each)} ${range(own?.low, own?.high, each)}`;
      if (own && own.low !== null) parts.push(svg("line.whisker", { x1: x(own.low), x2: x(own.high), y1: y, y2: y, style: { stroke: colour(r) } }));
      parts.push(marker(r, x(mean), y, said));
      parts.push(label({ x: width - right + 8, y: y + 4, class: "tick" }, number(mean, each)));
      return said;
    });
    return el("div.small-multiple", {}, el("h4", {}, each.name),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${each.name}. ${spoken.filter(Boolean).join("; ")}` }, parts));
  };
  return figure("figure-metrics", t("figMetrics"), t("figMetricsD"), el("div.multiples", {}, listed.map(panel)));
}

function curvesFigure() {
  const at = present().filter((r) => cell(r).curves.some((each) => each.values.some((v) => v !== null)));
  if (!at.length) return null;
  const kinds = cell(at[0]).curves.map((each) => each.metric);
  const own = metric().name.replace(/@\d+/, "");
  const chosen = kinds.includes(state.curve) ? state.curve : kinds.includes(own) ? own : kinds[0];
  const series = at.map((r) => ({ r, curve: cell(r).curves.find((each) => each.metric === chosen) })).filter(({ curve }) => curve);
  const ks = series[0].curve.ks;
  const width = narrow() ? 350 : 560, height = narrow() ? 280 : 300, left = 40, right = narrow() ? 136 : 160, top = 14, bottom = 40;
  // To scale: by k itself, or by its logarithm where lists are long.
  const last_ = ks[ks.length - 1], long = last_ > 30, place = (k) => (long ? Math.log(k) : k - 1) / ((long ? Math.log(last_) : last_ - 1) || 1);
  const x = (k) => left + (ks.length > 1 ? place(k) : 0.5) * (width - left - right);
  const most = Math.max(0.1, ...series.flatMap(({ curve }) => curve.values.filter((v) => v !== null)));
  const limit = most > 1 ? most : most > 0.5 ? 1 : Math.ceil(most * 10) / 10;
  const y = (v) => top + (1 - v / limit) * (height - top - bottom);
  const parts = [0, 0.25, 0.5, 0.75, 1].map((part) => [
    svg("line.grid", { x1: left, x2: width - right, y1: y(part * limit), y2: y(part * limit) }),
    label({ x: left - 8, y: y(part * limit) + 4, class: "tick", "text-anchor": "end" }, (part * limit).toFixed(2))]);
  const roomy = ks.reduceRight((some, k) => (some.length && x(some[0]) - x(k) < 24 ? some : [k, ...some]), []);
  roomy.forEach((k) => parts.push(label({ x: x(k), y: height - bottom + 18, class: "tick", "text-anchor": "middle" }, String(k))));
  parts.push(label({ x: (left + width - right) / 2, y: height - 4, class: "tick", "text-anchor": "middle" }, t(long ? "kLog" : "k")));
  const ends = [];
  for (const { r, curve } of series) {
    const points = curve.values.map((v, i) => (v === null ? null : [x(ks[i]), y(v), v, ks[i]])).filter(Boolean);
    if (!points.length) continue;
    parts.push(svg("polyline.line", { points: points.map(([px, py]) => `${px},${py}`).join(" "), style: { stroke: colour(r) } }));
    for (const [px, py, v, k] of points) parts.push(marker(r, px, py, `${plain(data.retrievers[r])}, k = ${k}: ${number(v)}`, 3.6));
    ends.push({ r, y: points[points.length - 1][1], from: points[points.length - 1] });
  }
  ends.sort((one, other) => one.y - other.y);
  let last = -Infinity;
  for (const end of ends) { end.at = Math.max(end.y, last + 15); last = end.at; }
  const over = last - (height - bottom + 4);
  if (over > 0) {
    let next = Infinity;
    for (const end of [...ends].reverse()) { end.at = Math.min(end.at, height - bottom + 4, next - 15); next = end.at; }
  }
  for (const end of ends) {
    parts.push(svg("line.leader", { x1: end.from[0] + 6, y1: end.from[1], x2: width - right + 16, y2: end.at, style: { stroke: colour(end.r) } }));
    parts.push(marker(end.r, width - right + 21, end.at, null, 3.6));
    parts.push(label({ x: width - right + 30, y: end.at + 4, class: "name", style: { fill: "currentColor" } }, clipped(data.retrievers[end.r], narrow() ? 14 : 18)));
  }
  const tabs = kinds.length > 1 ? el("div.tabs", { role: "group" }, kinds.map((kind) =>
    el("button", { "aria-pressed": String(kind === chosen), onclick: () => choosing({ curve: kind }) }, kind))) : null;
  const spoken = series.map(({ r, curve }) => `${plain(data.retrievers[r])}: ${curve.values.map((v, i) => `k ${ks[i]} ${number(v)}`).join(", ")}`).join("; ");
  return figure("figure-k", t("figK", chosen), t("figKD"), tabs, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${t("figK", chosen)}. ${spoken}` }, parts));
}

/** A match, a near miss within its limits, or neither. */
const barKind = (score, threshold) => (score >= threshold - 1e-9 ? "bar-match" : score >= match().near - 1e-9 ? "bar-near" : "bar-far");

function scoresFigure() {
  const at = present().filter((r) => cell(r).histogram);
  if (!at.length) return figure("figure-scores", t("figScores"), t(match().pool ? "figScoresPool" : "figScoresNone"));
  if (!at.some((r) => cell(r).histogram.nothing || cell(r).histogram.counts.some(Boolean))) return null; // no gold
  const most = Math.max(...at.flatMap((r) => [...cell(r).histogram.counts, cell(r).histogram.nothing]));
  const width = 300, height = 118, left = 12, right = 12, top = 22, bottom = 24, gap = 34;
  const panel = (r) => {
    const h = cell(r).histogram, n = h.counts.length, inner = width - left - right - gap;
    const x = (v) => left + gap + (v / h.top) * inner, y = (c) => top + (1 - c / most) * (height - top - bottom);
    const parts = [];
    const bar = (x1, wide, count, cls, said) => parts.push(svg("rect." + cls, { x: x1, y: y(count), width: wide, height: height - bottom - y(count) }, svg("title", {}, said)));
    bar(left, gap - 14, h.nothing, "bar-far", `${t("nothingAlike")}: ${h.nothing}`);
    h.counts.forEach((count, i) => {
      const from = (i / n) * h.top, to = ((i + 1) / n) * h.top;
      bar(x(from) + 0.5, Math.max(1, inner / n - 1), count, barKind(h.top > 1 ? to : from, h.threshold), h.top > 1 ? `${to}: ${count}` : `${from.toFixed(2)}–${to.toFixed(2)}: ${count}`);
    });
    const line = h.top > 1 ? x(h.threshold - 1) : x(h.threshold);
    parts.push(svg("line.axis", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
    parts.push(svg("line.threshold", { x1: line, x2: line, y1: top - 6, y2: height - bottom }));
    parts.push(label({ x: line, y: top - 10, class: "tick", "text-anchor": line > width * 0.7 ? "end" : line < width * 0.3 ? "start" : "middle" }, t("threshold", h.threshold)));
    parts.push(label({ x: left + 10, y: height - 8, class: "tick", "text-anchor": "middle" }, t("none_")));
    for (const tick of h.top > 1 ? Array.from({ length: h.top }, (_, i) => i + 1) : [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(label({ x: h.top > 1 ? (x(tick) + x(tick - 1)) / 2 : x(tick), y: height - 8, class: "tick", "text-anchor": "middle" }, String(tick)));
    }
    return el("div.small-multiple", {}, el("h4", {}, name(data.retrievers[r])),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plain(data.retrievers[r])}: 0 ${h.nothing}; ${h.counts.join(", ")}` }, parts));
  };
  return figure("figure-scores", t("figScores"), t("figScoresD", number_(match().near)), el("div.multiples", {}, at.map(panel)));
}

function timesFigure() {
  const at = present().filter((r) => cell(r).times);
  if (!at.length) return figure("figure-times", t("figTimes"), t("figTimesNone"));
  const width = narrow() ? 350 : 560, left = narrow() ? 118 : 140, right = narrow() ? 62 : 70, line = 30, top = 10, height = top + at.length * line + 28;
  const least = Math.log10(Math.max(1e-6, Math.min(...at.map((r) => cell(r).times.p5)))), most = Math.log10(Math.max(1e-6, ...at.map((r) => cell(r).times.p95)));
  const from = Math.floor(least - 0.1), to = Math.max(from + 1, Math.ceil(most + 0.1));
  const x = (v) => left + ((Math.log10(Math.max(1e-6, v)) - from) / (to - from)) * (width - left - right);
  const parts = [];
  for (let power = Math.ceil(from); power <= to + 1e-9; power += 1) {
    const v = 10 ** power;
    parts.push(svg("line.grid", { x1: x(v), x2: x(v), y1: top - 4, y2: height - 24 }));
    parts.push(label({ x: x(v), y: height - 8, class: "tick", "text-anchor": "middle" }, v >= 1 ? `${v} s` : `${+(v * 1000).toPrecision(2)} ms`));
  }
  const spoken = at.map((r, row) => {
    const q = cell(r).times, y = top + row * line + line / 2 - 3;
    parts.push(label({ x: left - 12, y: y + 4, class: "name", "text-anchor": "end" }, clipped(data.retrievers[r], narrow() ? 16 : 19)));
    const said = `${plain(data.retrievers[r])}: p5 ${duration(q.p5)}, p50 ${duration(q.p50)}, p95 ${duration(q.p95)}`;
    parts.push(svg("line.whisker", { x1: x(q.p5), x2: x(q.p95), y1: y, y2: y, style: { stroke: colour(r) } }, svg("title", {}, said)));
    parts.push(svg("rect.box", { x: x(q.p25), y: y - 7, width: Math.max(2, x(q.p75) - x(q.p25)), height: 14, rx: 2, style: { fill: colour(r) } }, svg("title", {}, said)));
    parts.push(svg("line.median", { x1: x(q.p50), x2: x(q.p50), y1: y - 9, y2: y + 9 }));
    parts.push(label({ x: width - right + 12, y: y + 4, class: "tick" }, duration(q.p50)));
    return said;
  });
  return figure("figure-times", t("figTimes"), t("figTimesD"), svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spoken.join("; ") }, parts));
}
