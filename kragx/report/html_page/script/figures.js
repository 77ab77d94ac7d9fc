// Figures, drawn as SVG in the colours of the theme; every point says its value on hover.

/** A name cut to a width, in letters; wide letters count twice. The end stays: names often differ there. */
function clipped(text, room) {
  const letters = [...plain(text)], width = (part) => part.reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x1100 ? 1.8 : 1), 0);
  if (width(letters) <= room) return letters.join("");
  let head = 0, tail = 0;
  while (width(letters.slice(0, head + 1)) <= room * 0.55) head += 1;
  while (width(letters.slice(letters.length - tail - 1)) <= room * 0.45 - 1) tail += 1;
  return `${letters.slice(0, head).join("").trimEnd()}…${letters.slice(letters.length - tail).join("").trimStart()}`;
}

const label = (x, y, cls, anchor, text) =>
  svg("text", { x, y, class: cls, "text-anchor": anchor, direction: "ltr", style: { unicodeBidi: "isolate" } }, text);
const tick = (x, y, text, anchor = "middle") => label(x, y, "tick", anchor, text);
const line = (cls, x1, x2, y1, y2, style = null, title = null) =>
  svg(`line.${cls}`, { x1, x2, y1, y2, style }, title ? svg("title", {}, title) : null);

/** The drawing itself; `spoken` is for those who do not see it. */
const drawing = (width, height, spoken, parts) => svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spoken }, parts);
const panel = (title, picture) => el("div.small-multiple", {}, el("h4", {}, title), picture);

function figure(id, title, note, ...content) {
  return el("figure", { id, "aria-labelledby": `${id}-title` },
    el("figcaption", {}, el("h3", { id: `${id}-title` }, title), note ? el("p.muted", {}, note) : null), content);
}

/** The retrievers of figures: those shown, as far as they are compared. */
const pictured = () => columns().filter(isCompared);

function figuresSection() {
  return el("section.figures", { "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, t("figures")), leftOut(),
    el("div.figure-grid", {}, metricsFigure(), curvesFigure(), timesFigure(), scoresFigure()));
}

function metricsFigure() {
  const retrievers = pictured();
  const shares = shownMetrics().filter((each) => each.share && retrievers.some((retriever) => mean(retriever, each) !== null)).slice(0, 12);
  if (!shares.length) return null;
  const width = 340, left = 128, right = 54, rowHeight = 19, top = 8, height = top + retrievers.length * rowHeight + 20;
  const metricPanel = (each) => {
    // Credited document by document, as other tools do it, a value may be above 1.
    const most = Math.max(1, ...retrievers.map((retriever) => estimate(retriever, each).high ?? mean(retriever, each) ?? 0));
    const x = (at) => left + (at / most) * (width - left - right);
    const parts = [0, 0.5, 1].map((at) => [line("grid", x(at), x(at), top - 4, height - 18), tick(x(at), height - 5, String(at))]);
    const spoken = retrievers.map((retriever, row) => {
      const average = mean(retriever, each), own = estimate(retriever, each), y = top + row * rowHeight + rowHeight / 2 - 3;
      parts.push(label(left - 10, y + 4, "name", "end", clipped(labelled(retriever), 18)));
      if (average === null) return null;
      const title = `${plain(retrieverName(retriever))}: ${number(average, each)} ${plainText(own.ends)}`;
      if (!missing(own.low)) parts.push(line("whisker", x(own.low), x(own.high), y, y, { stroke: colour(retriever) }));
      parts.push(marker(retriever, x(average), y, title), tick(width - right + 8, y + 4, number(average, each), null));
      return title;
    });
    return panel(each.name, drawing(width, height, `${each.name}. ${spoken.filter(Boolean).join("; ")}`, parts));
  };
  return figure("figure-metrics", t("figMetrics"), t("figMetricsD"), el("div.multiples", {}, shares.map(metricPanel)));
}

function curvesFigure() {
  const retrievers = pictured().filter((retriever) => cell(retriever).curves.some((curve) => curve.values.some((at) => at !== null)));
  if (!retrievers.length) return null;
  const kinds = cell(retrievers[0]).curves.map((curve) => curve.metric);
  const kind = [state.curve, metric().name.replace(/@\d+/, ""), kinds[0]].find((each) => kinds.includes(each));
  const series = retrievers.map((retriever) => ({ retriever, curve: cell(retriever).curves.find((curve) => curve.metric === kind) })).filter(({ curve }) => curve);
  const { ks } = series[0].curve, isLong = ks[ks.length - 1] > 30;
  return figure("figure-k", t("figK", kind), t("figKD"),
    kinds.length > 1 ? tabs({}, kinds.map((each) => [each, each]), kind, (curve) => choosing({ curve })) : null,
    lineChart(t("figK", kind), t(isLong ? "kLog" : "k"), ks, series.map(({ retriever, curve }) => ({ retriever, values: curve.values })), (k) => `k = ${k}`, (k) => `k ${k}`));
}

/** A line for each retriever: its values at some ks, to scale, or by their logarithm where they are long. */
function lineChart(title, axis, ks, series, where, briefly = where) {
  const width = narrow() ? 350 : 560, height = narrow() ? 280 : 300;
  const left = 40, right = width - (narrow() ? 136 : 160), top = 14, bottom = height - 40;
  const longest = ks[ks.length - 1], isLong = longest > 30;
  const place = (k) => (isLong ? Math.log(k) : k - 1) / ((isLong ? Math.log(longest) : longest - 1) || 1);
  const x = (k) => left + (ks.length > 1 ? place(k) : 0.5) * (right - left);
  const highest = Math.max(0.1, ...series.flatMap(({ values }) => values.filter((at) => at !== null)));
  const most = highest > 1 ? highest : highest > 0.5 ? 1 : Math.ceil(highest * 10) / 10;
  const y = (at) => top + (1 - at / most) * (bottom - top);
  const parts = [0, 0.25, 0.5, 0.75, 1].map((part) => [
    line("grid", left, right, y(part * most), y(part * most)), tick(left - 8, y(part * most) + 4, (part * most).toFixed(2), "end")]);
  const roomy = ks.reduceRight((written, k) => (written.length && x(written[0]) - x(k) < 24 ? written : [k, ...written]), []);
  parts.push(roomy.map((k) => tick(x(k), bottom + 18, String(k))), tick((left + right) / 2, height - 4, axis));
  const ends = [];
  for (const { retriever, values } of series) {
    const points = ks.map((k, position) => ({ k, at: values[position] })).filter(({ at }) => at !== null);
    if (!points.length) continue;
    parts.push(svg("polyline.line", { points: points.map(({ k, at }) => `${x(k)},${y(at)}`).join(" "), style: { stroke: colour(retriever) } }));
    for (const { k, at } of points) parts.push(marker(retriever, x(k), y(at), `${plain(retrieverName(retriever))}, ${where(k)}: ${number(at)}`, 3.6));
    const last = points[points.length - 1];
    ends.push({ retriever, x: x(last.k), y: y(last.at) });
  }
  for (const end of spread(ends, bottom + 4)) {
    // To its name, level within the plot, grey and dotted: no part of the line, which might seem to fall.
    parts.push(svg("polyline.leader", { points: `${end.x + 6},${end.y} ${Math.max(right, end.x + 6)},${end.y} ${right + 16},${end.nameY}` }));
    parts.push(marker(end.retriever, right + 21, end.nameY, null, 3.6));
    parts.push(label(right + 30, end.nameY + 4, "name", null, clipped(labelled(end.retriever), narrow() ? 14 : 18)));
  }
  const spoken = series.map(({ retriever, values }) => `${plain(retrieverName(retriever))}: ${ks.map((k, position) => `${briefly(k)} ${number(values[position])}`).join(", ")}`);
  return drawing(width, height, `${title}. ${spoken.join("; ")}`, parts);
}

/** The ends of lines from the top down, each with a place for its name that overlaps no other. */
function spread(ends, lowest, apart = 15) {
  ends.sort((one, other) => one.y - other.y);
  ends.forEach((end, position) => { end.nameY = Math.max(end.y, position ? ends[position - 1].nameY + apart : -Infinity); });
  if (ends.length && ends[ends.length - 1].nameY > lowest) {
    ends.reduceRight((below, end) => (end.nameY = Math.min(end.nameY, lowest, below - apart)), Infinity);
  }
  return ends;
}

function scoresFigure() {
  const retrievers = pictured().filter((retriever) => cell(retriever).histogram);
  if (!retrievers.length) return null; // a matcher that says yes or no, or grades of a pool
  const most = Math.max(...retrievers.flatMap((retriever) => [...cell(retriever).histogram.counts, cell(retriever).histogram.nothing]));
  if (!most) return null; // no gold
  const width = 300, height = 118, left = 12, right = width - 12, top = 22, bottom = height - 24, gap = 34;
  const { near } = match();
  const scorePanel = (retriever) => {
    const { counts: bars, nothing, threshold, top: highest } = cell(retriever).histogram;
    const grades = highest > 1, inner = right - left - gap, parts = [];
    const x = (score) => left + gap + (score / highest) * inner, y = (count) => top + (1 - count / most) * (bottom - top);
    const bar = (from, wide, count, cls, title) =>
      parts.push(svg(`rect.${cls}`, { x: from, y: y(count), width: wide, height: bottom - y(count) }, svg("title", {}, title)));
    bar(left, gap - 14, nothing, "bar-far", `${t("nothingAlike")}: ${nothing}`);
    bars.forEach((count, position) => {
      const [from, to] = [position, position + 1].map((border) => (border / bars.length) * highest), score = grades ? to : from;
      // A match, a near miss within its limits, or neither.
      const kind = score >= threshold - 1e-9 ? "bar-match" : score >= near - 1e-9 ? "bar-near" : "bar-far";
      bar(x(from) + 0.5, Math.max(1, inner / bars.length - 1), count, kind, `${grades ? to : `${from.toFixed(2)}–${to.toFixed(2)}`}: ${count}`);
    });
    const limit = x(grades ? threshold - 1 : threshold);
    parts.push(line("axis", left, right, bottom, bottom), line("threshold", limit, limit, top - 6, bottom));
    parts.push(tick(limit, top - 10, t("threshold", threshold), limit > width * 0.7 ? "end" : limit < width * 0.3 ? "start" : "middle"));
    parts.push(tick(left + 10, height - 8, t("none_")));
    const marks = grades ? bars.map((_, position) => position + 1) : [0, 0.25, 0.5, 0.75, 1];
    for (const mark of marks) parts.push(tick(x(grades ? mark - 0.5 : mark), height - 8, String(mark)));
    return panel([swatch(retriever), " ", name(retrieverName(retriever))], drawing(width, height, `${plain(retrieverName(retriever))}: 0 ${nothing}; ${bars.join(", ")}`, parts));
  };
  return figure("figure-scores", t("figScores"), t("figScoresD", asWritten(near)), el("div.multiples", {}, retrievers.map(scorePanel)));
}

function timesFigure() {
  const retrievers = pictured().filter((retriever) => cell(retriever).times);
  if (!retrievers.length) return null;
  const width = narrow() ? 350 : 560, left = narrow() ? 118 : 140, right = width - (narrow() ? 62 : 70), rowHeight = 30, top = 10;
  const height = top + retrievers.length * rowHeight + 28, log = (seconds) => Math.log10(Math.max(1e-6, seconds));
  const all = retrievers.map((retriever) => cell(retriever).times);
  const from = Math.floor(log(Math.min(...all.map(({ p5 }) => p5))) - 0.1);
  const to = Math.max(from + 1, Math.ceil(log(Math.max(...all.map(({ p95 }) => p95))) + 0.1));
  const x = (seconds) => left + ((log(seconds) - from) / (to - from)) * (right - left);
  const parts = [];
  for (let power = from; power <= to; power += 1) {
    const seconds = 10 ** power;
    parts.push(line("grid", x(seconds), x(seconds), top - 4, height - 24));
    parts.push(tick(x(seconds), height - 8, seconds >= 1 ? `${seconds} s` : `${+(seconds * 1000).toPrecision(2)} ms`));
  }
  const spoken = retrievers.map((retriever, row) => {
    const { p5, p25, p50, p75, p95 } = cell(retriever).times, y = top + row * rowHeight + rowHeight / 2 - 3;
    const title = `${plain(retrieverName(retriever))}: p5 ${duration(p5)}, p50 ${duration(p50)}, p95 ${duration(p95)}`;
    parts.push(label(left - 12, y + 4, "name", "end", clipped(labelled(retriever), narrow() ? 16 : 19)));
    parts.push(line("whisker", x(p5), x(p95), y, y, { stroke: colour(retriever) }, title));
    parts.push(svg("rect.box", { x: x(p25), y: y - 7, width: Math.max(2, x(p75) - x(p25)), height: 14, rx: 2, style: { fill: colour(retriever) } }, svg("title", {}, title)));
    parts.push(line("median", x(p50), x(p50), y - 9, y + 9));
    parts.push(tick(right + 12, y + 4, duration(p50), null));
    return title;
  });
  return figure("figure-times", t("figTimes"), t("figTimesD"), drawing(width, height, spoken.join("; "), parts));
}
