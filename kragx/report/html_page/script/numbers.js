// Numbers as people read them, in the form that they have everywhere; a dash where there is none.

const missing = (value) => value === null || value === undefined;

const grouped = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 0 });

/** A value of a metric. */
function number(value, metric) {
  if (missing(value)) return "–";
  if (metric && metric.name.startsWith("seconds")) return duration(value);
  if (Math.abs(value) >= 100) return grouped(value);
  if (value !== 0 && Math.abs(value) < 0.001) return String(Number(value.toPrecision(2)));
  return value.toFixed(4);
}

/** A p as papers write it: .013, < .001, > .999; above a limit such as .05 it is not shown as that. */
function probability(p, equals = "") {
  if (missing(p)) return "–";
  if (p < 0.001) return "< .001";
  if (p > 0.999) return "> .999";
  const thousandths = Math.round(1000 * p), seemsAtALimit = thousandths % 10 === 0 && 1000 * p - thousandths > 1e-9;
  return `${equals}.${String(thousandths + seemsAtALimit).padStart(3, "0")}`;
}

/** A limit as it was written. */
const asWritten = (value) => String(+Number(value).toPrecision(6));

function duration(seconds) {
  if (missing(seconds)) return "–";
  if (seconds >= 3600) return `${grouped(Math.floor(seconds / 3600))} h ${Math.round((seconds % 3600) / 60)} min`;
  if (seconds >= 100) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  const ms = seconds * 1000;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

const signed = (value, metric) =>
  missing(value) ? "–" : (value < 0 ? "−" : "+") + number(Math.abs(value), metric);

/** A date of a record as people read it. */
const dayAndTime = (date) => `${date.slice(0, 10)} ${date.slice(11, 16)} ${date.slice(19)}`;

/** The interval of something with `low` and `high`; empty where there is none. */
const interval = (bounds, metric, format = number) =>
  missing(bounds?.low) ? "" : metric?.exact && format === number ? limits(bounds) : `[${format(bounds.low, metric)}, ${format(bounds.high, metric)}]`;

/** Limits that are a promise, in percent and rounded outward, as in kragx/ground/printing/numbers.py. */
const limits = ({ low, high }) =>
  low <= 0 ? t("atMost", outward(high, Math.ceil)) : high >= 1 ? t("atLeast", outward(low, Math.floor)) : `[${outward(low, Math.floor)}, ${outward(high, Math.ceil)}]`;

function outward(share, rounded) {
  const digits = share >= 0.001 || share <= 0 ? 1 : -1 - Math.floor(Math.log10(share));
  const scaled = share * 10 ** (digits + 2), nearest = Math.round(scaled);
  const whole = Math.abs(scaled - nearest) <= 1e-9 * nearest ? nearest : rounded(scaled);
  return `${(whole / 10 ** digits).toFixed(digits)}%`;
}

/** The same, or why there is none: too few questions, or all alike. */
function ends(own, metric, format = number) {
  const tested = own && !missing(own.value) && (own.is_mean ?? own.p !== null);
  return interval(own, metric, format) || (tested ? reasonWithout(own) : "");
}

const reasonWithout = ({ n }) => {
  const few = n < data.limits.least;
  return el("span", { title: t(few ? "tooFewHint" : "alikeHint", data.limits.least) }, t(few ? "tooFew" : "alike"));
};

const percent = (share) => Math.round(100 * share);
