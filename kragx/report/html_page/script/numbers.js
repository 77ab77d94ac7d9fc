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

const percent = (share) => Math.round(100 * share);
