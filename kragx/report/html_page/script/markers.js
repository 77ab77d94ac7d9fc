// What tells retrievers apart: colour, shape, and beside more than eight a letter. None repeats.

const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "down", "star", "plus"];
// Each row of eight is turned by one, so that 64 pairs of colour and shape come before one again.
const colour = (retriever) => `var(--series-${(retriever + Math.floor(retriever / 8)) % 8})`;

/** A, B, ... Z, AA: for those who tell neither colours nor small shapes apart; empty where few are compared. */
function letter(retriever) {
  if (data.retrievers.length <= SHAPES.length) return "";
  const last = String.fromCharCode(65 + (retriever % 26));
  return retriever < 26 ? last : String.fromCharCode(64 + Math.floor(retriever / 26)) + last;
}

/** A retriever's name as it stands in figures, behind its letter. */
const labelled = (retriever) => [letter(retriever), retrieverName(retriever)].filter(Boolean).join(" ");

/** A marker at a place; `title` is said on hover. */
function marker(retriever, x, y, title, s = 4.5) {
  const d = {
    square: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    triangle: `M${x} ${y - s * 1.2}l${s * 1.15} ${s * 2.1}h${-s * 2.3}z`,
    down: `M${x} ${y + s * 1.2}l${s * 1.15} ${-s * 2.1}h${-s * 2.3}z`,
    diamond: `M${x} ${y - s * 1.35}l${s * 1.35} ${s * 1.35}l${-s * 1.35} ${s * 1.35}l${-s * 1.35} ${-s * 1.35}z`,
    cross: `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`,
    plus: `M${x - s * 1.2} ${y}h${2.4 * s}m${-1.2 * s} ${-1.2 * s}v${2.4 * s}`,
    star: `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}M${x} ${y - s * 1.3}v${2.6 * s}`,
  }[SHAPES[retriever % 8]];
  const style = { fill: colour(retriever), stroke: colour(retriever) };
  return svg(d ? "path.marker" : "circle.marker", d ? { d, style } : { cx: x, cy: y, r: s, style }, title ? svg("title", {}, title) : null);
}

/** The marker of a retriever beside its name, with its letter. */
const swatch = (retriever) => el("span.series", {},
  svg("svg.swatch", { viewBox: "0 0 14 14", "aria-hidden": "true" }, marker(retriever, 7, 7, null, 4.4)),
  letter(retriever) ? el("b.letter", {}, letter(retriever)) : null);
