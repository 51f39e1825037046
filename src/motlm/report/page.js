"use strict";
const motlm = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const M = data.model, classifier = data.kind === "classifier", n = M.radius.length;
  const names = data.regions.map((region) => region.name);

  // -- the model ------------------------------------------------------------------------------------------------------
  const dot = (a, b) => a.reduce((sum, value, j) => sum + value * b[j], 0);
  function encode(values) {
    const x = new Array(M.columns.length).fill(0);
    data.features.forEach((feature) => {
      const value = values[feature.name];
      if (feature.levels === null) x[feature.start] = Number(value);
      else { const level = feature.levels.indexOf(String(value)); if (level > 0) x[feature.start + level - 1] = 1; } // none: the first, or unknown
    });
    return x;
  }
  const standardized = (x) => x.map((value, j) => (value - M.unit_center[j]) * M.inverse_scale[j]);
  function distance(a, b) {
    const gap = a.map((value, j) => value - b[j]);
    switch (M.metric) {
      case "manhattan": case "l1": case "cityblock": return gap.reduce((sum, g) => sum + Math.abs(g), 0);
      case "chebyshev": return gap.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
      case "seuclidean": return Math.sqrt(gap.reduce((sum, g, j) => sum + g * g / M.metric_arguments.V[j], 0));
      case "mahalanobis": return Math.sqrt(dot(gap, M.metric_arguments.VI.map((row) => dot(row, gap))));
      default: return Math.sqrt(dot(gap, gap)); // euclidean, l2, minkowski with its p = 2
    }
  }
  const scale = (score) => classifier ? score : score * M.target_scale + M.target_center;
  const says = (score) => classifier ? data.classes[score > 0 ? 1 : 0] : score;

  function evaluate(values) {
    const x = encode(values), z = standardized(x);
    const away = M.center.map((center) => distance(z, center));
    const member = away.map((value, i) => M.radius[i] > 0 && value <= M.radius[i]);
    const applies = [...member, !member.some(Boolean)];
    const score = M.coef.map((coef, i) => scale(dot(coef, z) + M.intercept[i]));
    const speaking = applies.flatMap((yes, i) => yes ? [i] : []);
    let speaker = speaking.reduce((best, i) => i < n && (best === null || away[i] < away[best]) ? i : best, null);
    if (speaker === null) speaker = n;
    if (M.overlap === "mean" && speaking.length > 1) speaker = -1;
    const voices = speaker < 0 ? speaking : [speaker];
    const mean = (pick) => voices.reduce((sum, i) => sum + pick(i), 0) / voices.length;
    const spoken = mean((i) => score[i]);
    const slope = (i, j) => data.regions[i].coef[j];
    const place = (i, j) => i < n ? data.regions[i].center[j] : M.typical[j];
    const base = mean((i) => scale(dot(M.coef[i], i < n ? M.center[i] : standardized(M.typical)) + M.intercept[i]));
    const contributions = Object.create(null);
    data.features.forEach((feature) => {
      const width = feature.levels === null ? 1 : feature.levels.length - 1;
      let total = 0;
      for (let j = feature.start; j < feature.start + width; j++) total += mean((i) => slope(i, j) * (x[j] - place(i, j)));
      contributions[feature.name] = total;
    });
    const applicable = speaking.map((i) => classifier ? Number(score[i] > 0) : score[i]);
    const gap = Math.max(...applicable) - Math.min(...applicable);
    const contradicted = gap > (classifier ? 0 : M.residual_scale);
    return { x, z, distance: away, member, applies, score, speaker, spoken, prediction: says(spoken), base, contributions, contradicted };
  }

  // The nearest change of numbers, within the ball and the ranges of the form, by which the same local model gives another answer;
  // categories and what is held stay as they are. See counterfactual in Python.
  function onPlane(point, gradient, reach, low, high) {
    const at = (t) => point.map((value, j) => Math.min(Math.max(value + t * gradient[j], low[j]), high[j]));
    const value = (t) => dot(gradient, at(t));
    let a = -1, b = 1;
    for (let k = 0; k < 80 && value(a) > reach; k++) a *= 2;
    for (let k = 0; k < 80 && value(b) < reach; k++) b *= 2;
    for (let k = 0; k < 200; k++) { const c = (a + b) / 2; if (value(c) < reach) a = c; else b = c; }
    return at(b);
  }
  function solved(values, moving, goal) {
    const { i, up, wanted } = goal, now = evaluate(values);
    const none = { found: false, reason: `no case in ${names[i]} within the ranges of the form has that answer, with everything else as it is` };
    const free = moving.map((f) => f.start), part = (vector) => free.map((j) => vector[j]), sign = up ? 1 : -1;
    const size = Math.abs(M.intercept[i]) + M.coef[i].reduce((sum, value, j) => sum + Math.abs(value) * (Math.abs(now.z[j]) + 1), 0);
    const level = classifier ? 0 : (wanted - M.target_center) / M.target_scale;
    const gradient = part(M.coef[i]).map((value) => sign * value), start = part(now.z);
    const reach = sign * (level - M.intercept[i] - dot(M.coef[i], now.z)) + dot(gradient, start) + (classifier ? 1e-7 * size : 0);
    const edge = (f, end) => (f[end] - M.unit_center[f.start]) * M.inverse_scale[f.start];
    const low = moving.map((f, j) => Math.min(edge(f, "low"), start[j])), high = moving.map((f, j) => Math.max(edge(f, "high"), start[j]));
    const most = gradient.reduce((sum, g, j) => sum + (g > 0 ? g * high[j] : g * low[j]), 0);
    if (!(most >= reach)) return none;
    const project = (point) => onPlane(point, gradient, reach, low, high);
    let point = project(start);
    if (i < n) {
      const center = part(M.center[i]);
      const room = M.radius[i] ** 2 - now.z.reduce((sum, value, j) => free.includes(j) ? sum : sum + (value - M.center[i][j]) ** 2, 0);
      const excess = (one) => one.reduce((sum, value, j) => sum + (value - center[j]) ** 2, 0) - room * (1 - 2e-9);
      if (excess(point) > 0) {
        const between = (s) => project(start.map((value, j) => (1 - s) * value + s * center[j]));
        if (excess(between(1)) > 0) return none;
        let a = 0, b = 1;
        for (let k = 0; k < 100; k++) { const c = (a + b) / 2; if (excess(between(c)) > 0) a = c; else b = c; }
        point = between(b);
      }
    }
    const after = { ...values };
    moving.forEach((f, j) => { after[f.name] = point[j] / M.inverse_scale[f.start] + M.unit_center[f.start]; });
    const then = evaluate(after);
    if (then.speaker !== i) return { found: false, reason: `the nearest such case lies where ${then.speaker < 0 ? "several localities speak" : names[then.speaker] + " speaks"}` };
    return goal.met(then) ? { found: true, after } : { found: false, reason: "none was found" };
  }
  // Whole numbers are rounded off the solution without that condition, the others solved for once more, and then each whole number
  // is taken back towards where it was as far as the answer allows.
  function inWholes(values, relaxed, whole, rest, goal) {
    const round = { away: (to, from) => to > from ? Math.ceil(to - 1e-9) : Math.floor(to + 1e-9), near: Math.round, back: (to, from) => to > from ? Math.floor(to) : Math.ceil(to) };
    function completed(fixed) {
      if (goal.met(evaluate(fixed))) return fixed;
      if (!rest.length) return null;
      const found = solved(fixed, rest, goal);
      return found.found ? found.after : null;
    }
    const fixed = { ...values };
    let after = null;
    for (const way of ["away", "near", "back"]) {
      whole.forEach((f) => {
        const from = Number(values[f.name]), to = Math.abs(relaxed[f.name] - from) < 1e-9 ? from : round[way](relaxed[f.name], from);
        fixed[f.name] = Math.min(Math.max(to, Math.min(Math.ceil(f.low), from)), Math.max(Math.floor(f.high), from));
      });
      after = completed(fixed);
      if (after) break;
    }
    if (!after) return null;
    const far = (f) => Math.abs(fixed[f.name] - Number(values[f.name])) * M.inverse_scale[f.start];
    [...whole].sort((a, b) => far(b) - far(a)).forEach((f) => {
      const from = Number(values[f.name]);
      for (let k = 0; k < 200 && fixed[f.name] !== from; k++) {
        const before = fixed[f.name];
        fixed[f.name] = Math.abs(before - from) <= 1 ? from : before - Math.sign(before - from);
        const again = completed(fixed);
        if (!again) { fixed[f.name] = before; break; }
        after = again;
      }
    });
    return after;
  }
  function counterfactual(values, held, wanted) {
    const now = evaluate(values), i = now.speaker;
    if (i < 0) return { found: false, reason: "several localities speak together" };
    if (!classifier && wanted === now.spoken) return { found: false, reason: "the model gives that answer already" };
    if (i < n && !["euclidean", "l2", "minkowski"].includes(M.metric)) return { found: false, reason: "balls of this metric have no closed form" };
    const moving = data.features.filter((f) => f.levels === null && !held.has(f.name) && M.inverse_scale[f.start] > 0);
    if (!moving.length) return { found: false, reason: "no number may change; categories are not tried here" };
    const up = classifier ? now.spoken <= 0 : wanted > now.spoken, near = classifier ? 0 : 1e-9 * (1 + Math.abs(wanted));
    const met = (then) => then.speaker === i && (classifier ? then.prediction !== now.prediction : up ? then.spoken >= wanted - near : then.spoken <= wanted + near);
    const goal = { i, up, wanted, met }, whole = moving.filter((f) => f.whole), rest = moving.filter((f) => !f.whole);
    const relaxed = solved(values, moving, goal);
    if (!relaxed.found) return relaxed;
    let after = relaxed.after;
    if (whole.length) { // several changes of all numbers, or one of one of them, whichever is nearer
      const moved = (one) => moving.reduce((sum, f) => sum + ((one[f.name] - values[f.name]) * M.inverse_scale[f.start]) ** 2, 0);
      const alone = moving.flatMap((f) => { const one = solved(values, [f], goal); return one.found ? [inWholes(values, one.after, [f].filter((g) => g.whole), [f].filter((g) => !g.whole), goal)] : []; });
      after = [inWholes(values, relaxed.after, whole, rest, goal), ...alone].filter(Boolean).reduce((best, one) => best === null || moved(one) < moved(best) ? one : best, null);
    }
    if (!after) return { found: false, reason: "none was found in whole numbers" };
    return { found: true, after, smallest: !whole.length, prediction: evaluate(after).prediction, moving: moving.map((f) => f.name) };
  }

  // -- the page -------------------------------------------------------------------------------------------------------
  const show = (value) => typeof value === "number" ? (Number.isInteger(value) ? String(value) : Number(value.toPrecision(Math.abs(value) >= 1000 ? 7 : 4)).toString()) : value === null ? "" : String(value);
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => name === "text" ? node.textContent = value : node.setAttribute(name, value));
    node.append(...children);
    return node;
  }
  function table(head, rows) {
    const top = make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })));
    const body = rows.map((row) => make("tr", {}, ...row.map((value) => value instanceof Node ? make("td", {}, value) : make("td", { text: show(value) }))));
    return make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, top), make("tbody", {}, ...body)));
  }
  const inputs = Object.create(null), holds = new Set();
  let wanted = null;
  const current = () => Object.fromEntries(data.features.map((f) => [f.name, inputs[f.name].value]));

  function fields() {
    const place = document.getElementById("fields");
    data.features.forEach((feature, k) => {
      const id = `field-${k}`, box = make("div", { class: "field" });
      box.append(make("label", { for: id, text: feature.name }));
      if (feature.levels !== null) {
        const select = make("select", { id });
        feature.levels.forEach((level) => select.append(make("option", { value: level, text: level })));
        select.value = feature.usual; box.append(select); inputs[feature.name] = select;
      } else {
        const step = feature.whole ? 1 : "any", low = feature.low, high = feature.high > feature.low ? feature.high : feature.low + 1;
        const number = make("input", { id, type: "number", step, value: feature.usual });
        const slider = make("input", { type: "range", min: low, max: high, step: feature.whole ? 1 : (high - low) / 1000, value: feature.usual, "aria-label": `${feature.name}, slider` });
        number.addEventListener("input", () => { slider.value = number.value; });
        slider.addEventListener("input", () => { number.value = slider.value; answer(); });
        const hold = make("input", { type: "checkbox", "aria-label": `${feature.name} cannot be changed` });
        hold.addEventListener("change", () => { hold.checked ? holds.add(feature.name) : holds.delete(feature.name); answer(); });
        box.append(number, slider, make("label", { class: "hold" }, hold, " cannot be changed")); inputs[feature.name] = number;
      }
      place.append(box);
      inputs[feature.name].addEventListener("input", answer);
    });
    if (!classifier) {
      const input = make("input", { id: "wanted", type: "number", step: "any" });
      input.addEventListener("input", () => { wanted = input.value === "" ? null : Number(input.value); answer(); });
      place.append(make("div", { class: "field" }, make("label", { for: "wanted", text: "What would give this prediction instead?" }), input));
    }
    document.getElementById("reset").addEventListener("click", () => {
      data.features.forEach((f) => fill(f, f.usual));
      document.querySelectorAll("#fields [type=checkbox]").forEach((box) => { box.checked = false; });
      holds.clear();
      const input = document.getElementById("wanted");
      if (input) { input.value = ""; wanted = null; }
      answer();
    });
  }

  function fill(feature, value) {
    inputs[feature.name].value = value;
    const slider = inputs[feature.name].parentNode.querySelector("[type=range]");
    if (slider) slider.value = value;
  }

  function answer() {
    const place = document.getElementById("answer"), said = document.getElementById("said");
    place.replaceChildren();
    said.textContent = "";
    if (!data.metric_known) { place.append(make("p", { text: "The distances of this model are computed by a function that the page does not have; use Python." })); return; }
    const bad = data.features.find((f) => f.levels === null && (inputs[f.name].value === "" || !Number.isFinite(Number(inputs[f.name].value))));
    if (bad) { said.textContent = `${bad.name}: give a number.`; return; }
    const values = current(), now = evaluate(values);
    said.textContent = `${show(now.prediction)}, said by ${now.speaker < 0 ? "several localities together" : names[now.speaker]}` + (now.contradicted ? "; local models contradict each other" : "");
    if (now.contradicted) place.append(make("p", { class: "warning", text: "Local models that apply to this case contradict each other." }));
    data.features.forEach((f) => {
      if (f.levels === null && (Number(values[f.name]) < f.low || Number(values[f.name]) > f.high))
        place.append(make("p", { class: "warning", text: `${f.name} = ${values[f.name]} lies outside the rows of this report (${show(f.low)} to ${show(f.high)}).` }));
    });
    place.append(table(["model", "applies", "distance / radius", "score", "says"], names.map((name, i) => [name, now.applies[i] ? "yes" : "no", i < n ? `${show(now.distance[i])} / ${show(M.radius[i])}` : "", now.score[i], says(now.score[i])])));
    const bar = (share) => make("span", { class: `bar ${share > 0 ? "plus" : "minus"}`, style: `width:${(4.5 * Math.abs(share)).toFixed(2)}rem;margin-left:${(4.5 * Math.min(1, 1 + share)).toFixed(2)}rem` }); // left of the middle, or right
    const order = Object.entries(now.contributions).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const most = Math.max(...order.map(([, value]) => Math.abs(value)), 1e-300);
    const reference = now.speaker < 0 ? "the centers of these localities" : now.speaker < n ? `the center of ${names[now.speaker]}` : "the average training row";
    place.append(make("p", { text: `Score ${show(now.base)} at ${reference}; what each feature adds, to ${show(now.spoken)}:` }));
    place.append(table(["feature", "value", "adds", ""], order.map(([name, value]) => [name, values[name], value, bar(value / most)])));
    if (classifier || wanted !== null) {
      const other = counterfactual(values, holds, wanted);
      if (!other.found) place.append(make("p", { text: `No change of numbers that gives another answer was found: ${other.reason}.` }));
      else {
        place.append(make("p", { text: `${other.smallest ? "The smallest change" : "A small change"} that gives ${show(other.prediction)}, with categories and held features as they are, within the ranges of the form:` }));
        const changes = data.features.filter((f) => other.moving.includes(f.name) && Math.abs(Number(other.after[f.name]) - Number(values[f.name])) > 1e-12 * Math.max(1, Math.abs(other.after[f.name])));
        place.append(table(["feature", "from", "to"], changes.map((f) => [f.name, values[f.name], Number(Number(other.after[f.name]).toPrecision(8)).toString()])));
        const button = make("button", { type: "button", text: "Use these values" });
        button.addEventListener("click", () => { changes.forEach((f) => fill(f, other.after[f.name])); answer(); });
        place.append(make("p", {}, button));
      }
    }
  }

  function rows() {
    const holder = document.getElementById("rows-table");
    if (!holder || !data.rows) return;
    const head = ["row", "target", "prediction", "said by", "contradicted", ...data.rows.columns];
    let by = 0, up = true;
    const only = document.getElementById("only-ambiguous");
    function fill() {
      const shown = data.rows.rows.filter((row) => !only.checked || row[4]);
      shown.sort((a, b) => { const [p, q] = [a[by], b[by]]; const order = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q)); return up ? order : -order; });
      holder.tBodies[0].replaceChildren(...shown.map((row) => make("tr", {}, ...row.map((value, k) => make("td", { text: k === 4 ? (value ? "yes" : "") : show(value) })))));
      holder.tHead.querySelectorAll("th").forEach((cell, k) => cell.setAttribute("aria-sort", k === by ? (up ? "ascending" : "descending") : "none"));
    }
    holder.tHead.rows[0].replaceChildren(...head.map((name, k) => {
      const button = make("button", { type: "button", text: name });
      button.addEventListener("click", () => { up = by === k ? !up : true; by = k; fill(); });
      return make("th", { scope: "col" }, button);
    }));
    only.addEventListener("change", fill);
    fill();
  }

  // -- charts ---------------------------------------------------------------------------------------------------------
  async function charts() {
    if (typeof DecompressionStream === "undefined") return;
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    const script = document.createElement("script");
    script.nonce = document.querySelector("script[nonce]").nonce;
    script.textContent = text;
    document.head.append(script);
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
  function draw() {
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink").trim(), grid = style.getPropertyValue("--line").trim();
    const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    const base = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink }, margin: { t: 10, r: 10 }, showlegend: false };
    const axis = { gridcolor: grid, zerolinecolor: grid, automargin: true };
    const options = { displaylogo: false, responsive: true, displayModeBar: false };
    const map = data.map;
    if (map) {
      const traces = [];
      if (map.kind === "plane") traces.push({ type: "heatmap", x: map.x, y: map.y, z: map.z, opacity: .35, showscale: !classifier, colorscale: classifier ? [[0, "#0072b2"], [1, "#d55e00"]] : "Cividis", hoverinfo: "skip" });
      if (map.kind === "plane" && classifier) traces.push({ type: "contour", x: map.x, y: map.y, z: map.z, contours: { start: .5, end: .5, size: 1, coloring: "none" }, line: { color: ink, width: 1.2, dash: "dot" }, showscale: false, hoverinfo: "skip" });
      if (map.rows) traces.push({ type: "scattergl" in Plotly ? "scattergl" : "scatter", mode: "markers", x: map.rows.map((r) => r[0]), y: map.rows.map((r) => r[1]), marker: { size: 5, color: map.target.map((t) => classifier ? (t === data.classes[1] ? "#d55e00" : "#0072b2") : t), colorscale: "Cividis", symbol: classifier ? map.target.map((t) => t === data.classes[1] ? "triangle-up" : "circle") : "circle" }, text: map.target.map((t) => escape(show(t))), hoverinfo: "text" });
      traces.push({ type: "scatter", mode: "markers+text", x: map.circles.map((c) => c.center[0]), y: map.circles.map((c) => c.center[1]), text: map.circles.map((c) => c.name.replace("locality ", "")), textposition: "top right", textfont: { size: 16, color: ink }, marker: { symbol: "star", size: 12, color: ink }, hoverinfo: "text", hovertext: map.circles.map((c) => c.name) });
      const shapes = map.circles.map((c) => ({ type: "circle", x0: c.center[0] - c.width[0], x1: c.center[0] + c.width[0], y0: c.center[1] - c.width[1], y1: c.center[1] + c.width[1], line: { color: ink, width: 2 } }));
      const layout = { ...base, shapes, height: 460, xaxis: { ...axis, title: { text: escape(map.axes[0]) } }, yaxis: { ...axis, title: { text: escape(map.axes[1]) } } };
      if (map.kind === "plane") { layout.xaxis.range = [map.x[0], map.x[map.x.length - 1]]; layout.yaxis.range = [map.y[0], map.y[map.y.length - 1]]; if (map.circles.every((c) => Math.abs(c.width[0] - c.width[1]) <= 1e-9 * c.width[0])) layout.yaxis.scaleanchor = "x"; }
      else { layout.yaxis.scaleanchor = "x"; if (!map.rows) { const ends = (k, s) => map.circles.map((c) => c.center[k] + s * c.width[k] * 1.1); layout.xaxis.range = [Math.min(...ends(0, -1)), Math.max(...ends(0, 1))]; layout.yaxis.range = [Math.min(...ends(1, -1)), Math.max(...ends(1, 1))]; } }
      Plotly.react("map-chart", traces, layout, options);
    }
    data.regions.forEach((region) => {
      const unit = M.inverse_scale.map((value) => value > 0 ? 1 / value : 0);
      const order = region.coef.map((value, j) => [value * unit[j], region.coef_scale[j] * unit[j], region.feature_names[j]]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 25).reverse();
      const short = (text) => text.length > 34 ? text.slice(0, 33) + "…" : text;
      const trace = { type: "bar", orientation: "h", x: order.map((o) => o[0]), y: order.map((_, k) => k), error_x: { type: "data", array: order.map((o) => o[1]), color: ink }, marker: { color: order.map((o) => o[0] > 0 ? "#d55e00" : "#0072b2"), pattern: { shape: order.map((o) => o[0] > 0 ? "" : "/") } }, hovertext: order.map((o) => escape(o[2])), hoverinfo: "text+x" };
      const layout = { ...base, height: 120 + 22 * order.length, xaxis: { ...axis, title: { text: data.standardized ? "coefficient per standard deviation" : "coefficient per unit" } }, yaxis: { ...axis, tickvals: order.map((_, k) => k), ticktext: order.map((o) => escape(short(o[2]))) } };
      Plotly.react(`chart-${region.index}`, [trace], layout, options);
    });
  }
  fields(); answer(); rows();
  charts().catch((error) => console.error(error));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  return { data, evaluate, counterfactual };
})();
