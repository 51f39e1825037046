// The page around the model: the form and its answer, the table of rows, the charts.
(() => {
  const { data, features, names, hasLabels, answer: answerOf, evaluate, counterfactual } = motlm;
  const model = data.model, classes = model.answer.classes, n = model.loci.length;

  // -- the form and its answer ----------------------------------------------------------------
  function show(value) {
    if (value === null) return "";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    return Number(value.toPrecision(Math.abs(value) >= 1000 ? 7 : 4)).toString();
  }
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) =>
      name === "text" ? node.textContent = value : node.setAttribute(name, value));
    node.append(...children);
    return node;
  }
  const paragraph = (text) => make("p", { text });
  const warning = (text) => make("p", { class: "warning", text });
  function table(head, rows) {
    const cell = (value) =>
      value instanceof Node ? make("td", {}, value) : make("td", { text: show(value) });
    const top = make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })));
    const body = rows.map((row) => make("tr", {}, ...row.map(cell)));
    const whole = make("table", {}, make("thead", {}, top), make("tbody", {}, ...body));
    return make("div", { class: "scroll", tabindex: "0" }, whole);
  }

  const inputs = Object.create(null), holds = new Set();
  let wanted = null;
  const current = () => Object.fromEntries(features.map((f) => [f.name, inputs[f.name].value]));

  function choice(feature, id) {
    const select = make("select", { id });
    feature.levels.forEach((level) => select.append(make("option", { value: level, text: level })));
    select.value = feature.usual;
    inputs[feature.name] = select;
    return [select];
  }
  function amount(feature, id) {
    const { name, whole, low, usual } = feature;
    const high = feature.high > low ? feature.high : low + 1;
    const number = make("input", { id, type: "number", step: whole ? 1 : "any", value: usual });
    const slider = make("input", { type: "range", min: low, max: high,
      step: whole ? 1 : (high - low) / 1000, value: usual, "aria-label": `${name}, slider` });
    number.addEventListener("input", () => { slider.value = number.value; });
    slider.addEventListener("input", () => { number.value = slider.value; answer(); });
    const hold = make("input",
      { type: "checkbox", "aria-label": `${name} cannot be changed` });
    hold.addEventListener("change", () => {
      if (hold.checked) holds.add(name); else holds.delete(name);
      answer();
    });
    inputs[name] = number;
    return [number, slider, make("label", { class: "hold" }, hold, " cannot be changed")];
  }
  function fields() {
    const place = document.getElementById("fields");
    features.forEach((feature, k) => {
      const id = `field-${k}`, label = make("label", { for: id, text: feature.name });
      const parts = feature.levels === null ? amount(feature, id) : choice(feature, id);
      place.append(make("div", { class: "field" }, label, ...parts));
      inputs[feature.name].addEventListener("input", answer);
    });
    if (!hasLabels) {
      const input = make("input", { id: "wanted", type: "number", step: "any" });
      input.addEventListener("input", () => {
        wanted = input.value === "" ? null : Number(input.value);
        answer();
      });
      const text = "What would give this prediction instead?";
      place.append(make("div", { class: "field" }, make("label", { for: "wanted", text }), input));
    }
    document.getElementById("reset").addEventListener("click", reset);
  }
  function fill(feature, value) {
    inputs[feature.name].value = value;
    const slider = inputs[feature.name].parentNode.querySelector("[type=range]");
    if (slider) slider.value = value;
  }
  function reset() {
    features.forEach((f) => fill(f, f.usual));
    document.querySelectorAll("#fields [type=checkbox]").forEach((box) => { box.checked = false; });
    holds.clear();
    const input = document.getElementById("wanted");
    if (input) { input.value = ""; wanted = null; }
    answer();
  }

  const isBad = (f) => f.levels === null
    && (inputs[f.name].value === "" || !Number.isFinite(Number(inputs[f.name].value)));
  const nameOf = (used) => used < 0 ? "several localities together"
    : used < n ? names[used] : "the exterior model";

  function answer() {
    const place = document.getElementById("answer"), result = document.getElementById("result");
    place.replaceChildren();
    result.textContent = "";
    if (!data.metric_known || !data.link_known) {
      place.append(paragraph(`The ${data.metric_known ? "answers" : "distances"} of this model are`
        + " computed by a function that the page does not have; use Python."));
      return;
    }
    const bad = features.find(isBad);
    if (bad) { result.textContent = `${bad.name}: give a number.`; return; }
    const values = current(), now = evaluate(values);
    result.textContent = `${show(now.prediction)}, decided by ${nameOf(now.used)}`
      + (now.contradicted ? "; local models contradict each other" : "");
    if (now.contradicted)
      place.append(warning("Local models that apply to this case contradict each other."));
    features.forEach((f) => {
      const value = Number(values[f.name]);
      if (f.levels === null && (value < f.low || value > f.high))
        place.append(warning(`${f.name} = ${values[f.name]} lies outside the rows of this report`
          + ` (${show(f.low)} to ${show(f.high)}).`));
    });
    place.append(listModels(now), ...explain(values, now));
    if (hasLabels || wanted !== null) place.append(...changes(values));
  }
  function listModels(now) {
    const away = (i) => `${show(now.distance[i])} / ${show(model.loci[i].radius)}`;
    const row = (name, i) => [name, now.applicable[i] ? "yes" : "no", i < n ? away(i) : "",
      now.scores[i], answerOf(now.scores[i])];
    return table(["model", "applies", "distance / radius", "score", "answer"], names.map(row));
  }
  function bar(share) { // left of the middle, or right
    const rem = (value) => `${(4.5 * value).toFixed(2)}rem`;
    const style = `width:${rem(Math.abs(share))};margin-left:${rem(Math.min(1, 1 + share))}`;
    return make("span", { class: `bar ${share > 0 ? "plus" : "minus"}`, style });
  }
  function explain(values, now) {
    const order = Object.entries(now.contributions).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const most = Math.max(...order.map(([, value]) => Math.abs(value)), 1e-300);
    const label = data.score_label[0].toUpperCase() + data.score_label.slice(1);
    let reference = "the average training row";
    if (now.used < 0) reference = "the centers of these localities";
    else if (now.used < n) reference = `the center of ${names[now.used]}`;
    const rates = model.answer.link === "log"; // the exponential of a contribution is a factor
    const rows = order.map(([name, value]) =>
      [name, values[name], rates ? Math.exp(value) : value, bar(value / most)]);
    if (rates) return [
      paragraph(`Prediction ${show(answerOf(now.base))} at ${reference}; what each feature`
        + ` multiplies it by, to ${show(now.prediction)}:`),
      table(["feature", "value", "factor", ""], rows),
    ];
    return [
      paragraph(`${label} ${show(now.base)} at ${reference}; what each feature adds, to`
        + ` ${show(now.score)}:`),
      table(["feature", "value", "adds", ""], rows),
    ];
  }
  function changes(values) {
    const other = counterfactual(values, holds, wanted);
    if (!other.found) return [paragraph("No change of numbers that gives another answer was found:"
      + ` ${other.reason}.`)];
    const differs = (f) => {
      const to = Number(other.after[f.name]);
      return Math.abs(to - Number(values[f.name])) > 1e-12 * Math.max(1, Math.abs(to));
    };
    const changed = features.filter((f) => other.moving.includes(f.name) && differs(f));
    const digits = (value) => Number(Number(value).toPrecision(8)).toString();
    const button = make("button", { type: "button", text: "Use these values" });
    button.addEventListener("click", () => {
      changed.forEach((f) => fill(f, other.after[f.name]));
      answer();
    });
    const rows = changed.map((f) => [f.name, values[f.name], digits(other.after[f.name])]);
    return [
      paragraph(`${other.smallest ? "The smallest change" : "A small change"} that gives`
        + ` ${show(other.prediction)}, with categories and held features as they are, within the`
        + " ranges of the form:"),
      table(["feature", "from", "to"], rows),
      make("p", {}, button),
    ];
  }

  // -- the table of rows ----------------------------------------------------------------------
  function rows() {
    const holder = document.getElementById("rows-table");
    if (!holder || !data.rows) return;
    const first = ["row", "target", "prediction", "model used", "contradicted"], CONTRADICTED = 4;
    const head = [...first, ...data.rows.columns];
    const only = document.getElementById("only-ambiguous");
    let by = 0, up = true;
    function compare(a, b) {
      const [p, q] = [a[by], b[by]], numbers = typeof p === "number" && typeof q === "number";
      const order = numbers ? p - q : String(p).localeCompare(String(q));
      return up ? order : -order;
    }
    const text = (value, k) => k === CONTRADICTED ? (value ? "yes" : "") : show(value);
    const line = (row) =>
      make("tr", {}, ...row.map((value, k) => make("td", { text: text(value, k) })));
    function update() {
      const shown = data.rows.rows.filter((row) => !only.checked || row[CONTRADICTED]);
      holder.tBodies[0].replaceChildren(...shown.sort(compare).map(line));
      holder.tHead.querySelectorAll("th").forEach((cell, k) => {
        const order = up ? "ascending" : "descending";
        cell.setAttribute("aria-sort", k === by ? order : "none");
      });
    }
    holder.tHead.rows[0].replaceChildren(...head.map((name, k) => {
      const button = make("button", { type: "button", text: name });
      button.addEventListener("click", () => { up = by === k ? !up : true; by = k; update(); });
      return make("th", { scope: "col" }, button);
    }));
    only.addEventListener("change", update);
    update();
  }

  // -- charts ---------------------------------------------------------------------------------
  const BLUE = "#0072b2", ORANGE = "#d55e00", CLEAR = "rgba(0,0,0,0)";
  const OPTIONS = { displaylogo: false, responsive: true, displayModeBar: false };
  const escape = (text) =>
    String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const addTitle = (axis, text) => ({ ...axis, title: { text } });

  async function charts() {
    if (typeof DecompressionStream === "undefined") return;
    const packed = atob(document.getElementById("plotly").textContent);
    const bytes = new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]);
    const script = document.createElement("script");
    script.nonce = document.querySelector("script[nonce]").nonce;
    script.textContent =
      await new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
    document.head.append(script);
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
  function draw() {
    const style = getComputedStyle(document.documentElement);
    const [ink, grid] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const base = { paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { color: ink },
      margin: { t: 10, r: 10 }, showlegend: false };
    const axis = { gridcolor: grid, zerolinecolor: grid, automargin: true };
    if (data.map) drawMap(data.map, base, axis, ink);
    data.regions.forEach((region) => drawCoefficients(region, base, axis, ink));
  }

  function drawMap(map, base, axis, ink) {
    const traces = [...answers(map, ink)];
    if (map.rows) traces.push(dots(map));
    traces.push({
      type: "scatter", mode: "markers+text", textposition: "top right", hoverinfo: "text",
      x: map.circles.map((c) => c.center[0]), y: map.circles.map((c) => c.center[1]),
      text: map.circles.map((c) => c.name.replace("locality ", "")),
      hovertext: map.circles.map((c) => c.name),
      textfont: { size: 16, color: ink }, marker: { symbol: "star", size: 12, color: ink },
    });
    const [xaxis, yaxis] = map.axes.map((name) => addTitle(axis, escape(name)));
    const shapes = map.circles.map((c) => outline(c, ink));
    const layout = { ...base, shapes, height: 460, xaxis, yaxis };
    const round = (c) => Math.abs(c.width[0] - c.width[1]) <= 1e-9 * c.width[0];
    if (map.kind === "projection" || map.circles.every(round)) yaxis.scaleanchor = "x";
    if (map.kind === "plane") {
      xaxis.range = [map.x[0], map.x.at(-1)];
      yaxis.range = [map.y[0], map.y.at(-1)];
    } else if (!map.rows) {
      const ends = (k, sign) => map.circles.map((c) => c.center[k] + sign * c.width[k] * 1.1);
      [xaxis, yaxis].forEach((one, k) => {
        one.range = [Math.min(...ends(k, -1)), Math.max(...ends(k, 1))];
      });
    }
    Plotly.react("map-chart", traces, layout, OPTIONS);
  }
  function answers(map, ink) {
    if (map.kind !== "plane") return [];
    const { x, y, z } = map, same = { x, y, z, hoverinfo: "skip" };
    const colorscale = hasLabels ? [[0, BLUE], [1, ORANGE]] : "Cividis";
    const colors = { ...same, type: "heatmap", opacity: .35, showscale: !hasLabels, colorscale };
    if (!hasLabels) return [colors];
    const contours = { start: .5, end: .5, size: 1, coloring: "none" };
    const line = { color: ink, width: 1.2, dash: "dot" };
    return [colors, { ...same, type: "contour", contours, line, showscale: false }];
  }
  function dots(map) {
    const second = (target) => target === classes[1];
    const marker = { size: 5, color: map.target, colorscale: "Cividis", symbol: "circle" };
    if (hasLabels) {
      marker.color = map.target.map((one) => second(one) ? ORANGE : BLUE);
      marker.symbol = map.target.map((one) => second(one) ? "triangle-up" : "circle");
    }
    return {
      type: "scatter", mode: "markers", marker,
      x: map.rows.map((row) => row[0]), y: map.rows.map((row) => row[1]),
      text: map.target.map((one) => escape(show(one))), hoverinfo: "text",
    };
  }
  function outline({ center, width }, ink) { // a band where it has no end along one axis
    const type = width.includes(null) ? "rect" : "circle";
    const shape = { type, line: { color: ink, width: 2 } };
    ["x", "y"].forEach((name, k) => {
      const endless = width[k] === null;
      if (endless) shape[`${name}ref`] = `${name} domain`;
      shape[`${name}0`] = endless ? 0 : center[k] - width[k];
      shape[`${name}1`] = endless ? 1 : center[k] + width[k];
    });
    return shape;
  }

  function drawCoefficients(region, base, axis, ink) {
    const unit = model.factor.map((value) => value > 0 ? 1 / value : 0);
    const order = region.coef
      .map((value, j) => ({ name: region.feature_names[j], size: value * unit[j],
        deviation: region.coef_scale[j] * unit[j] }))
      .sort((a, b) => Math.abs(b.size) - Math.abs(a.size)).slice(0, 25).reverse();
    const short = (text) => text.length > 34 ? text.slice(0, 33) + "…" : text;
    const places = order.map((_, k) => k);
    const trace = {
      type: "bar", orientation: "h", x: order.map((one) => one.size), y: places,
      error_x: { type: "data", array: order.map((one) => one.deviation), color: ink },
      marker: { color: order.map((one) => one.size > 0 ? ORANGE : BLUE),
        pattern: { shape: order.map((one) => one.size > 0 ? "" : "/") } },
      hovertext: order.map((one) => escape(one.name)), hoverinfo: "text+x",
    };
    const per = data.standardized ? "standard deviation" : "unit";
    const ticktext = order.map((one) => escape(short(one.name)));
    const layout = { ...base, height: 120 + 22 * order.length,
      xaxis: addTitle(axis, `coefficient per ${per}`),
      yaxis: { ...axis, tickvals: places, ticktext } };
    Plotly.react(`chart-${region.index}`, [trace], layout, OPTIONS);
  }

  fields(); answer(); rows();
  charts().catch((error) => console.error(error));
  addEventListener("beforeprint", () =>
    document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
