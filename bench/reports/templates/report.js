"use strict";
// Names come from traces and users: into the page as text only, and into plotly with their markup taken away.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const MARKERS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
const style = read("styles");

function column(figure, name) {
  const found = figure.columns[name];
  return Array.isArray(found) ? found : found.codes.map((code) => found.names[code]);
}

function look(index) {
  return { colour: style.colours[index % style.colours.length], dash: style.dashes[index % style.dashes.length] };
}

function parts(figure, name, key = "contender") {
  const rows = [];
  column(figure, key).forEach((one, index) => { if (one === name) rows.push(index); });
  return (wanted) => { const values = column(figure, wanted); return rows.map((row) => values[row]); };
}

function wrapped(name) {
  return plain(name.length > 40 ? name.slice(0, 39) + "…" : name);
}

function curves(figure) {
  const traces = figure.names.map((name, index) => {
    const of = parts(figure, name), { colour, dash } = look(figure.places[index]);
    const classes = figure.kind === "classes";
    return {
      type: "scatter", mode: classes ? "lines+markers" : "lines", name: wrapped(name), x: of(figure.x), y: of(figure.y),
      line: { color: colour, dash, width: 2, shape: figure.kind === "steps" ? "hv" : "linear" },
      marker: { symbol: MARKERS[figure.places[index] % MARKERS.length], size: 8 },
      hovertemplate: `${plain(name)}<br>%{x${classes ? "" : ":,.4~g"}}: %{y:.2f}<extra></extra>`,
    };
  });
  const layout = { yaxis: { title: { text: figure.y_label }, rangemode: "tozero" } };
  if (figure.kind === "classes") {
    layout.xaxis = { type: "category", categoryorder: "array", categoryarray: [...new Set(column(figure, figure.x))] };
  }
  return { traces, layout };
}

function panels(figure) {
  const made = curves(figure), count = made.traces.length, layout = { annotations: [], showlegend: false };
  const high = Math.max(...column(figure, figure.y)) || 1;
  made.traces.forEach((trace, index) => {
    const [top, bottom] = [1 - index / count, 1 - (index + 0.72) / count], colour = trace.line.color;
    Object.assign(trace, { fill: "tozeroy", fillcolor: `${colour}4d`, line: { color: colour, width: 1 }, yaxis: index ? `y${index + 1}` : "y" });
    layout[index ? `yaxis${index + 1}` : "yaxis"] = {
      domain: [bottom, top - 0.1 / count], range: [0, 1.02 * high], gridcolor: "#e2e2e2", nticks: 4, automargin: true,
    };
    layout.annotations.push({
      text: trace.name, x: 0, xref: "paper", xanchor: "left", y: top - 0.1 / count, yref: "paper", yanchor: "bottom", showarrow: false,
    });
  });
  layout.xaxis = { anchor: count > 1 ? `y${count}` : "y", rangemode: "tozero" };
  return { traces: made.traces, layout, height: 100 + 110 * count };
}

function intervals(figure) {
  const metrics = [...new Set(column(figure, "metric"))], names = figure.names, traces = [];
  names.forEach((name, index) => {
    const of = parts(figure, name), ratio = of("ratio"), low = of("ratio_low"), high = of("ratio_high");
    traces.push({
      type: "scatter", mode: "markers", name: wrapped(name), x: ratio,
      y: of("metric").map((metric) => metrics.length - 1 - metrics.indexOf(metric) + 0.3 - 0.6 * (index + 0.5) / names.length),
      marker: { color: look(figure.places[index]).colour, symbol: MARKERS[figure.places[index] % MARKERS.length], size: 10 },
      error_x: {
        type: "data", symmetric: false, color: look(figure.places[index]).colour, thickness: 2,
        array: high.map((one, row) => one === null ? 0 : one - ratio[row]),
        arrayminus: low.map((one, row) => one === null ? 0 : ratio[row] - one),
      },
      text: low.map((one, row) => one === null ? "one pair" : `[${one.toPrecision(4)}, ${high[row].toPrecision(4)}]`),
      hovertemplate: `${plain(name)}<br>%{x:.4g} %{text}<extra></extra>`,
    });
  });
  return {
    traces,
    layout: {
      yaxis: {
        tickvals: metrics.map((_, index) => metrics.length - 1 - index), automargin: true,
        ticktext: metrics.map((one) => plain(one).replace("percentile ", "percentile<br>").replace("mean ", "mean<br>")),
        range: [-0.6, metrics.length - 0.4], zeroline: false, showgrid: false,
      },
      shapes: [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: "#555", width: 1, dash: "dash" } }],
    },
  };
}

function schedule(figure, chosen) {
  const of = parts(figure, chosen), end = figure.x.replace("begin", "end");
  const [begins, ends, low, high, kinds] = [figure.x, end, "low", "high", "run_time"].map(of);
  const [jobs, users, waits, units] = ["job", "user", "wait_s", "units"].map(of);
  const traces = style.classes.map(([kind, colour, hatch]) => {
    const rows = kinds.map((one, row) => (one === kind ? row : -1)).filter((row) => row >= 0);
    return {
      type: "bar", orientation: "h", name: plain(`run time ${kind}`),
      base: rows.map((row) => begins[row]), x: rows.map((row) => ends[row] - begins[row]),
      y: rows.map((row) => (low[row] + high[row]) / 2), width: rows.map((row) => high[row] - low[row]),
      marker: {
        color: colour, line: { color: "#222", width: 0.6 },
        pattern: { shape: hatch, fgcolor: "#222", fillmode: "overlay", size: 9, solidity: 0.08 },
      },
      text: rows.map((row) => plain(`job ${jobs[row]}, user ${users[row]}`)
        + `<br>${units[row]} units, waited ${waits[row]} s<br>${begins[row]} to ${ends[row]}`),
      textposition: "none", hovertemplate: "%{text}<extra></extra>",
    };
  });
  return {
    traces,
    layout: {
      barmode: "overlay", dragmode: "zoom", xaxis: { range: figure.window },
      yaxis: { title: { text: figure.y_label }, rangemode: "tozero" },
    },
  };
}

function powers(values) {
  const there = values.filter((one) => one > 0), few = Math.max(...there) / Math.min(...there) < 500, ticks = [];
  for (let power = -6; power <= 12; power += 1) (few ? [1, 2, 5] : [1]).forEach((one) => ticks.push(one * 10 ** power));
  const text = (one) => one.toLocaleString("en", { maximumSignificantDigits: 1, maximumFractionDigits: 6 });
  return { type: "log", tickvals: ticks, ticktext: ticks.map(text) };
}

function draw(place, figure, chosen) {
  const made = figure.kind === "schedule" ? schedule(figure, chosen)
    : figure.kind === "intervals" ? intervals(figure) : figure.panels ? panels(figure) : curves(figure);
  const narrow = place.clientWidth < 560, bar = narrow ? figure.kind === "schedule" : "hover", tight = narrow && !bar;
  const height = made.height || (narrow ? 340 : 400) + (narrow ? 22 : 8) * Math.min(made.traces.length, 12);
  const layout = {
    height, margin: { l: 60, r: 14, t: tight ? 16 : 40, b: 58 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff", dragmode: narrow ? false : "zoom",
    font: { family: "system-ui, sans-serif", size: narrow ? 11 : 13, color: "#222" }, hovermode: "closest",
    legend: { orientation: "h", x: narrow ? 0.02 : 0, xref: narrow ? "container" : "paper", yref: "container", y: 1 - (tight ? 8 : 34) / height, yanchor: "top" }, showlegend: true, ...made.layout,
  };
  layout.xaxis = {
    title: { text: plain(figure.x_label), font: { size: narrow ? 11 : 13 } }, automargin: true, gridcolor: "#e2e2e2", zeroline: false,
    ...(figure.log_x ? powers(column(figure, figure.x)) : {}), ...(made.layout.xaxis || {}),
  };
  layout.yaxis = { automargin: true, gridcolor: "#e2e2e2", ...made.layout.yaxis };
  if (layout.yaxis.title) layout.yaxis.title.font = layout.xaxis.title.font;
  Plotly.react(place, made.traces, layout, {
    responsive: true, displaylogo: false, showSendToCloud: false, scrollZoom: false, displayModeBar: bar,
    modeBarButtonsToRemove: ["select2d", "lasso2d"],
  });
}

function csv(figure) {
  const names = Object.keys(figure.columns), columns = names.map((name) => column(figure, name));
  const cell = (value) => {
    // An apostrophe before what a spreadsheet would take for a formula, as in the files beside the page.
    const text = value === null ? "" : typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const rows = columns[0].map((_, row) => columns.map((one) => cell(one[row])).join(","));
  return [names.map(cell).join(","), ...rows].join("\n") + "\n";
}

function download(figure) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(figure)], { type: "text/csv" }));
  link.download = `${figure.file}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function setUp(box) {
  const figure = read(box.dataset.figure), place = box.querySelector(".plot"), select = box.querySelector("select");
  if (select) {
    figure.names.forEach((name) => select.add(new Option(name, name)));
    select.addEventListener("change", () => draw(place, figure, select.value));
  }
  box.querySelector("button").addEventListener("click", () => download(figure));
  draw(place, figure, select ? select.value : undefined);
}

function sort(button) {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0], index = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[index];
    return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
  };
  const compare = (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (typeof a === "string") return (down ? -1 : 1) * a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return (down ? -1 : 1) * (a - b);
  };
  [...body.rows].sort(compare).forEach((row) => body.append(row));
}

document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => sort(button)));
document.querySelectorAll("[data-figure]").forEach(setUp);
