// The page around the model: the form and its answer, the table of rows, the charts.
(() => {
  const { data, features, names, hasLabels, several, evaluate, counterfactual } = motlm;
  const { smallChanges } = motlm;
  const answerOf = motlm.answer, { MISSING, isMissing } = motlm;
  const model = data.model, classes = model.answer.classes, n = model.loci.length;

  // -- the form and its answer ----------------------------------------------------------------
  function show(value) {
    if (value === null) return "";
    if (typeof value !== "number") return String(value);
    const digits = Number.isInteger(value) || Math.abs(value) >= 1000 ? 6 : 4;
    return Number(value.toPrecision(digits)).toString();
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

  const BLUE = "#0072b2", ORANGE = "#d55e00", CLEAR = "rgba(0,0,0,0)";
  // of labels: Okabe and Ito's palette and three more, then as many as there are
  const COLORS = [BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c510a", "#5e3c99",
    "#7f7f7f", "#f0e442"];
  const SYMBOLS = ["circle", "triangle-up", "square", "diamond", "cross", "x", "triangle-down",
    "star", "pentagon", "hexagon"], SIGNS = [..."●▲■◆✚✖▼★⬟⬢"];
  const turn = (k) => (137.508 * k) % 360; // by the golden angle
  const colorOf = (k) =>
    COLORS[k] ?? `hsl(${turn(k).toFixed(0)}, 65%, ${[40, 55, 70][k % 3]}%)`;
  const MOST_LABELS = 20; // of which the form shows probabilities

  const byName = Object.create(null);
  features.forEach((feature) => { byName[feature.name] = feature; });
  const valueOf = (values, name) => {
    if (isMissing(byName[name], values)) return "missing";
    return byName[name].levels === null ? show(Number(values[name])) : values[name];
  };
  const inputs = Object.create(null), holds = new Map();
  let wanted = null;
  const current = () => Object.fromEntries(features.map((f) => [f.name, inputs[f.name].value]));

  function choice(feature, id) {
    const select = make("select", { id });
    feature.levels.forEach((level) => select.append(
      make("option", { value: level ?? MISSING, text: level ?? "(missing)" })));
    select.value = feature.usual ?? MISSING;
    inputs[feature.name] = select;
    return feature.bound ? [select] : [select, holder(feature.name, ["", "held"])];
  }
  function holder(name, ways) {
    const hold = make("select", { class: "hold", "aria-label": `how ${name} may change` });
    ways.forEach((value) => hold.append(make("option", { value, text: WAYS[value] })));
    hold.addEventListener("change", () => {
      if (hold.value) holds.set(name, hold.value); else holds.delete(name);
      answer();
    });
    return hold;
  }
  const WAYS = { "": "may change", up: "can only rise", down: "can only fall",
    held: "cannot change" };
  function amount(feature, id) {
    const { name, whole, low, usual } = feature;
    const high = feature.high > low ? feature.high : low + 1;
    const number = make("input", { id, type: "number", step: whole ? 1 : "any", value: usual });
    const slider = make("input", { type: "range", min: low, max: high,
      step: whole ? 1 : (high - low) / 1000, value: usual, "aria-label": `${name}, slider` });
    if (feature.incomplete) number.placeholder = "missing";
    number.addEventListener("input", () => { slider.value = number.value; });
    slider.addEventListener("input", () => { number.value = slider.value; answer(); });
    inputs[name] = number;
    return feature.bound ? [number, slider] : [number, slider, holder(name, Object.keys(WAYS))];
  }
  function labelChoice() { // by its index, since labels may be numbers
    const select = make("select", { id: "wanted" });
    select.append(make("option", { value: "", text: "any other label" }),
      ...classes.map((label, k) => make("option", { value: k, text: show(label) })));
    select.addEventListener("input", () => {
      wanted = select.value === "" ? null : classes[select.value];
      answer();
    });
    const text = "What would give this answer instead?";
    return make("div", { class: "field wide" }, make("label", { for: "wanted", text }), select);
  }
  function fields() {
    const place = document.getElementById("fields");
    features.forEach((feature, k) => {
      const id = `field-${k}`, label = make("label", { for: id, text: feature.name });
      const parts = feature.levels === null ? amount(feature, id) : choice(feature, id);
      place.append(make("div", { class: "field" }, label, ...parts));
      inputs[feature.name].addEventListener("input", answer);
    });
    if (several) place.append(labelChoice());
    else if (!hasLabels) {
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
    features.forEach((f) => fill(f, f.usual ?? MISSING));
    document.querySelectorAll("#fields .hold").forEach((hold) => { hold.value = ""; });
    holds.clear();
    const input = document.getElementById("wanted");
    if (input) { input.value = ""; wanted = null; }
    answer();
  }

  const isBad = (f) => f.levels === null && !isMissing(f, current())
    && (inputs[f.name].value === "" || !Number.isFinite(Number(inputs[f.name].value)));
  const nameOf = (used) => used < 0 ? "several localities together"
    : used < n ? names[used] : "the exterior model";
  const sigmoid = (score) => 1 / (1 + Math.exp(-score));
  // How sure an answer is: a probability, or an interval or the typical error of a number.
  function certainty(now) {
    if (several) return ` (probability ${percent(now.classes[now.best].probability)})`;
    if (hasLabels)
      return data.probabilistic ? ` (probability ${percent(sigmoid(Math.abs(now.score)))})` : "";
    if (model.answer.link !== "identity") return data.per ? ` per unit of ${data.per}` : "";
    const { certified, about, coverage } = data.intervals, sure = certified[now.used];
    const half = sure ?? about, share = `${sure ? "" : "about "}${show(100 * coverage)} %`;
    if (half === null) return ` (typical error ${show(model.answer.tolerance)})`;
    return ` (between ${show(now.prediction - half)} and ${show(now.prediction + half)}:`
      + ` ${share} of such cases)`;
  }
  const decider = (now, values) => n === 0 ? ""
    : `, decided by ${nameOf(now.used)}${because(now, values)}`;

  function answer() {
    const place = document.getElementById("answer"), result = document.getElementById("result");
    place.replaceChildren();
    result.textContent = "";
    if (data.hidden) {
      place.append(paragraph("The form is left out: it needs the cases at the centers of the"
        + " localities, which may be private. A report with rows has it."));
      return;
    }
    if (!data.metric_known || !data.link_known) {
      place.append(paragraph(`The ${data.metric_known ? "answers" : "distances"} of this model are`
        + " computed by a function that the page does not have; use Python."));
      return;
    }
    const bad = features.find(isBad);
    if (bad) { result.textContent = `${bad.name}: give a number.`; return; }
    const values = current(), now = evaluate(values);
    result.textContent = `${show(now.prediction)}${certainty(now)}${decider(now, values)}`
      + (now.contradicted ? "; local models contradict each other" : "");
    if (now.contradicted)
      place.append(warning("Local models that apply to this case contradict each other."));
    features.forEach((f) => {
      const value = Number(values[f.name]);
      if (f.levels === null && !isMissing(f, values) && (value < f.low || value > f.high))
        place.append(warning(`${f.name} = ${values[f.name]} lies outside the rows of this report`
          + ` (${show(f.low)} to ${show(f.high)}).`));
    });
    if (several) place.append(...listLabels(now));
    place.append(make("h3", { text: "Why" }), ...(n ? [listModels(now, values)] : []),
      ...(several ? compare(values, now) : explain(values, now)));
    if (hasLabels || wanted !== null)
      place.append(make("h3", { text: "What would change it" }));
    if (hasLabels || wanted !== null) place.append(...changes(values));
  }
  // Why a case is in a locality, or not, by the columns that limit it.
  const FEW = 3; // columns that are named
  const stripsOf = (i) => i < n ? data.regions[i].strips : [];
  const featureOf = (name) => features.find((f) => f.name === name);
  const told = (name, values) => isMissing(featureOf(name), values) ? "missing" : values[name];
  function inside({ name, ends, levels }, values) {
    if (!levels && isMissing(featureOf(name), values)) return false;
    const value = Number(values[name]);
    const one = levels?.find(
      (level) => level.name === told(name, values));
    // of numbers with two values, these are the levels
    if (levels) return (one ?? levels.find((level) => Number(level.name) === value))?.inside;
    return value >= ends[0] && value <= ends[1];
  }
  function why(i, now, values) {
    const strips = stripsOf(i).filter(({ text }) => text);
    const wrong = strips.filter((strip) => !inside(strip, values));
    const yes = ({ name, text }) => `${name} ${show(told(name, values))} (${text})`;
    const no = ({ name, text }) => isMissing(featureOf(name), values)
      ? `${name} is missing` : `${name} ${show(told(name, values))} is not ${text}`;
    const some = (list, say) => list.slice(0, FEW).map(say).join(", ")
      + (list.length > FEW ? ` and ${list.length - FEW} more` : "");
    if (now.member[i]) return some(strips, yes);
    if (wrong.length) return some(wrong, no);
    return "too far from its center in its columns together";
  }
  function because(now, values) {
    if (!data.regions.some(({ strips }) => strips.length)) return "";
    if (now.used === n) return ": the case is in no locality";
    const text = now.used >= 0 && stripsOf(now.used).length ? why(now.used, now, values) : "";
    return text ? `: ${text}` : "";
  }
  function listModels(now, values) {
    const top = (scores) => several ? Math.max(...scores) : scores;
    const away = (i) => `distance ${show(now.distance[i])}, radius ${show(model.loci[i].radius)}`;
    const line = (name, i) => {
      const reason = stripsOf(i).length ? why(i, now, values) : i < n ? away(i) : "";
      const applies = now.applicable[i] ? "applies" : "does not apply";
      const score = hasLabels ? `, score ${show(top(now.scores[i]))}` : "";
      const text = `${applies}${reason ? ` (${reason})` : ""}; its answer is`
        + ` ${show(answerOf(now.scores[i]))}${score}`;
      return make("li", {}, make("strong", { text: name }), ` ${text}`);
    };
    return make("ul", { class: "models" }, ...names.map(line));
  }
  function bar(share) { // left of the middle, or right
    const part = (value) => `${(50 * value).toFixed(1)}%`;
    const style = `width:${part(Math.abs(share))};margin-left:${part(Math.min(1, 1 + share))}`;
    return make("span", { class: `bar ${share > 0 ? "plus" : "minus"}`, style,
      "aria-hidden": "true" });
  }
  // What a feature is compared with: its value, and the category, at the reference.
  function referenceValue(now, { start, levels }) {
    if (now.used < 0) return "";
    const place = motlm.placeOf(now.used);
    if (!place) return "";
    if (levels === null) return show(place[start]);
    const shares = levels.slice(1).map((_, k) => place[start + k]);
    const all = [1 - shares.reduce((a, b) => a + b, 0), ...shares];
    const most = Math.max(...all);
    return most > 0.999 ? levels[all.indexOf(most)] ?? "missing" : "mix of all";
  }
  const withBar = (name, share) => make("span", {}, make("span", { text: name }), bar(share));
  // Features in the first column, with a bar below each name.
  function eachFeature(head, rows) {
    const holder = table(head, rows);
    holder.firstChild.classList.add("each");
    holder.querySelectorAll("tbody tr").forEach((row) => {
      const first = row.firstChild, cell = make("th", { scope: "row" }, ...first.childNodes);
      first.replaceWith(cell);
    });
    return holder;
  }
  // -- of several classes: all labels, and the answer beside another
  function percent(share) {
    if (share < 0.0005) return share > 0 ? "< 0.1 %" : "0 %";
    return share < 1 && share >= 0.9995 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`;
  }
  function listLabels(now) {
    const order = now.classes.map((one, k) => ({ ...one, k }));
    const many = order.length > MOST_LABELS; // the likeliest alone
    if (many) order.sort((a, b) => b.probability - a.probability).splice(MOST_LABELS);
    const length = (share, k) => make("span", { class: "bar", "aria-hidden": "true",
      style: `width:${(100 * share).toFixed(1)}%;background:${colorOf(k)}` });
    const line = ({ label, score, probability, k }) => [
      make("span", {}, make("span", { text: show(label) }), length(probability, k)),
      percent(probability), score];
    const note = many ? [paragraph(`The ${order.length} likeliest of ${classes.length} labels:`)]
      : [];
    return [...note, eachFeature(["label", "probability", "score"], order.map(line))];
  }
  function compare(values, now) {
    const chosen = classes.indexOf(wanted);
    const k = chosen < 0 || chosen === now.best ? now.second : chosen;
    const own = now.classes[now.best], other = now.classes[k];
    const lead = (name) => own.contributions[name] - other.contributions[name];
    const order = features.map((f) => f.name).sort((a, b) => Math.abs(lead(b)) - Math.abs(lead(a)));
    const most = Math.max(...order.map((name) => Math.abs(lead(name))), 1e-300);
    const beside = (name) => [valueOf(values, name), referenceValue(now, byName[name])]
      .filter((text) => text !== "").map((text, k) => k ? `(${text})` : text).join(" ");
    const rows = order.map((name) => [withBar(name, lead(name) / most), beside(name),
      own.contributions[name], lead(name)]);
    const [first, second] = [own, other].map((one) => show(one.label));
    return [
      paragraph(`Score of ${first} ${show(own.base)} at ${referenceOf(now)}; what each feature`
        + ` adds, to ${show(own.score)}.`),
      paragraph(`${k === now.second ? "The runner-up is" : "Compared with"} ${second}: the`
        + ` difference of the two scores is ${show(own.base - other.base)} there; the last column`
        + ` and the bars show what each feature adds to it, to ${show(own.score - other.score)}.`),
      eachFeature(["feature", "value (reference)", `adds to ${first}`, `against ${second}`], rows),
    ];
  }
  function referenceOf(now) {
    if (data.references === null) {
      if (now.used < 0) return "the centers of these localities";
      return now.used < n ? `the center of ${names[now.used]}` : "the average training row";
    }
    if (now.used < 0) return "the median rows of these localities";
    if (n === 0) return "the median training row";
    return `the median row of ${now.used < n ? names[now.used] : "the exterior"}`;
  }

  // An encoded row as people read it.
  function read(x) {
    const value = ({ start, levels }) => levels === null ? x[start]
      : levels[1 + x.slice(start, start + levels.length - 1).indexOf(1)];
    return Object.fromEntries(model.groups.map((group) => [group.name, value(group)]));
  }
  function explain(values, now) {
    const order = Object.entries(now.contributions).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const most = Math.max(...order.map(([, value]) => Math.abs(value)), 1e-300);
    const label = data.score_label[0].toUpperCase() + data.score_label.slice(1);
    const reference = referenceOf(now);
    const rates = model.answer.link === "log"; // the exponential of a contribution is a factor
    const rows = order.map(([name, value]) =>
      [withBar(name, value / most), valueOf(values, name), referenceValue(now, byName[name]),
        rates ? Math.exp(value) : value]);
    if (rates) return [
      paragraph(`Prediction ${show(answerOf(now.base))} at ${reference}; what each feature`
        + ` multiplies it by, to ${show(now.prediction)}:`),
      eachFeature(["feature", "value", "reference", "factor"], rows),
    ];
    return [
      paragraph(`${label} ${show(now.base)} at ${reference}; what each feature adds, to`
        + ` ${show(now.score)}:`),
      eachFeature(["feature", "value", "reference", "adds"], rows),
    ];
  }
  // What numbers would have to be, and changes of one column, or of a category and another column
  // where there is none; the fewest first.
  function changes(values) {
    const other = counterfactual(values, holds, wanted), alone = other.found && other.count === 1;
    const same = ({ after }) => alone && Object.entries(after)
      .every(([name, value]) => String(value) === String(other.after[name]));
    const singles = smallChanges(values, holds, wanted, false).filter((one) => !same(one));
    const categories = features.some((f) => f.levels !== null);
    const scope = n === 0 ? []
      : [paragraph("Changes by which another model would decide were not searched.")];
    const trying = `by trying ${categories ? "every other level of each category and " : ""}of each`
      + " number the nearest value that would do, within the ranges of the form";
    const what = singles.length === 1 ? alone ? "Another change" : "A change"
      : alone ? "Other changes" : "Changes";
    const first = singles.length
      ? [paragraph(`${what} of one column, found ${trying}${singles.length > 1 ? "; the nearest first"
        : ""}:`), ...listChanges(values, singles)]
      : alone ? [paragraph(`No other change of one column was found, ${trying}.`)] : [];
    const rest = alone || singles.length || !categories ? [] : inPairs(values);
    const ofNumbers = changeOfNumbers(values, other);
    return [...(alone ? [...ofNumbers, ...first] : [...first, ...rest, ...ofNumbers]), ...scope];
  }
  function inPairs(values) {
    const found = smallChanges(values, holds, wanted, true);
    const none = "No change of one column that gives another answer was found";
    if (found === null)
      return [paragraph(`${none}; pairs of columns are too many to try with categories.`)];
    const tried = "every other level of each category together with one of another, or with the"
      + " nearest value of a number that would do";
    if (!found.length) return [paragraph(`${none}, nor of two, by trying ${tried}.`)];
    return [paragraph(`${none}. Of two columns, by trying ${tried}:`),
      ...listChanges(values, found)];
  }
  const MOST_CHANGES = 6; // that are shown
  function listChanges(values, found) {
    const shown = found.slice(0, MOST_CHANGES), left = found.length - shown.length;
    const all = (names, text) => names.map(text).join(", ");
    const rows = shown.map(({ after, names, prediction }) => {
      const use = make("button", { type: "button", text: "Use",
        "aria-label": `Use ${all(names, (name) => `${name} ${after[name]}`)}` });
      use.addEventListener("click", () => {
        names.forEach((name) => fill(byName[name], after[name]));
        answer();
      });
      return [make("span", { text: all(names, (name) => name) }),
        all(names, (name) => valueOf(values, name)), all(names, (name) => String(after[name])),
        ...(several ? [show(prediction)] : []), use];
    });
    const head = ["feature", "from", "to", ...(several ? ["gives"] : []), "use"];
    return [eachFeature(head, rows), ...(left ? [paragraph(`And ${left} more.`)] : [])];
  }
  function changeOfNumbers(values, other) {
    if (!other.found) return [paragraph("No change of numbers that gives another answer was found:"
      + ` ${other.reason}.`)];
    const differs = (f) => {
      const to = Number(other.after[f.name]);
      return Math.abs(to - Number(values[f.name])) > 1e-12 * Math.max(1, Math.abs(to));
    };
    const changed = features.filter((f) => other.moving.includes(f.name) && differs(f));
    const button = make("button", { type: "button", text: "Use these values" });
    button.addEventListener("click", () => {
      changed.forEach((f) => fill(f, other.after[f.name]));
      answer();
    });
    const rows = changed.map((f) => [make("span", { text: f.name }), valueOf(values, f.name),
      String(other.after[f.name])]);
    const many = changed.length === 1 ? "one number" : `${changed.length} numbers`;
    const more = other.count === null
      ? [paragraph("No change of fewer numbers that gives it was found.")] : [];
    return [
      paragraph(`${other.smallest ? "The smallest change" : "A small change"} of ${many} that`
        + ` gives ${show(other.prediction)}, with everything else as it is, within the ranges of`
        + " the form:"),
      ...more,
      eachFeature(["feature", "from", "to"], rows),
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
  const OPTIONS = { displaylogo: false, responsive: false, displayModeBar: false };
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
    // charts follow the width of their place, such as that of a phone that is turned
    const fit = new ResizeObserver((entries) => entries.forEach(({ target, contentRect }) => {
      const width = Math.round(contentRect.width);
      if (width && target.data && width !== Math.round(target._fullLayout.width))
        Plotly.relayout(target, { width });
    }));
    document.querySelectorAll(".chart").forEach((one) => fit.observe(one));
  }
  function draw() {
    const style = getComputedStyle(document.documentElement);
    const [ink, grid] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const base = { paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { color: ink },
      margin: { t: 10, r: 10 }, showlegend: false };
    const axis = { gridcolor: grid, zerolinecolor: grid, automargin: true };
    if (data.map) {
      drawMap("map-chart", data.map, base, axis, ink);
      if (several) legend(data.map);
    }
    data.regions.forEach(({ index, picture }) => {
      if (picture) (picture.kind === "line" ? drawLine : drawMap)(`picture-${index}`, picture,
        base, axis, ink);
    });
    if (several) data.regions.filter((region) => columnsOf(region).length)
      .forEach((region) => drawScores(region, base, axis, ink));
  }

  function drawMap(id, map, base, axis, ink) {
    const traces = [...answers(map, ink)];
    if (map.rows) traces.push(dots(map));
    else if (map.density) traces.push(bubbles(map.density, ink));
    const ends = map.kind === "plane" ? [map.x, map.y].map((one) => [one[0], one.at(-1)]) : null;
    const at = (c, k) => middleOf(c, k, ends);
    const starred = (c) => at(c, 0) === c.center[0] && at(c, 1) === c.center[1];
    traces.push({
      type: "scatter", mode: "markers+text", textposition: "top right", hoverinfo: "text",
      x: map.circles.map((c) => at(c, 0)), y: map.circles.map((c) => at(c, 1)),
      text: map.circles.map((c) => c.name.replace("locality ", "")),
      hovertext: map.circles.map((c) => c.name),
      textfont: { size: 16, color: ink },
      marker: { symbol: "star", color: ink, size: map.circles.map((c) => starred(c) ? 12 : 0) },
    });
    const [xaxis, yaxis] = map.axes.map((name) => addTitle(axis, escape(name)));
    // of the picture of one locality, the others are dotted
    const other = (c) => map.name !== undefined && c.name !== map.name;
    const shapes = map.circles.map((c) => outline(c, ink, other(c) ? "dot" : "solid"));
    const layout = { ...base, shapes, height: id === "map-chart" ? 460 : 380, xaxis, yaxis };
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
    Plotly.react(id, traces, layout, OPTIONS);
  }
  // How many rows lie where: a dot in each bin, whose area is their number.
  function bubbles({ bins: [x, y], counts }, ink) {
    const all = counts.flatMap((column, i) => column.map((count, j) => ({ i, j, count })))
      .filter(({ count }) => count > 0);
    const most = Math.max(...all.map(({ count }) => count), 1);
    return { type: "scatter", mode: "markers", name: "rows",
      x: all.map(({ i }) => x[i]), y: all.map(({ j }) => y[j]), hoverinfo: "text",
      hovertext: all.map(({ count }) => `${count} row${count > 1 ? "s" : ""}`),
      marker: { color: ink, opacity: .45, line: { width: 0 },
        size: all.map(({ count }) => 3 + 13 * Math.sqrt(count / most)) } };
  }
  function histogram({ bins: [x], counts }, ink) { // as steps, from bin to bin
    const half = x.length > 1 ? (x[1] - x[0]) / 2 : .5;
    return { type: "scatter", mode: "lines", yaxis: "y2", name: "rows", showlegend: false,
      x: x.flatMap((middle) => [middle - half, middle + half]),
      y: counts.flatMap((count) => [count, count]), hoverinfo: "y+name",
      line: { color: ink, width: 0 }, fill: "tozeroy", opacity: .2,
      fillcolor: "rgba(127,139,150,.35)" };
  }
  // Along one column: predictions, or probabilities of labels, and the localities as bands.
  function drawLine(id, { axes, circles, x, lines, name, density }, base, axis, ink) {
    const trace = ({ label, y }) => {
      const whole = !hasLabels && label === "", outer = !hasLabels && label === "exterior";
      const color = hasLabels ? colorOf(codeOf(label)) : ink;
      const line = { color, width: whole || hasLabels ? 2.5 : 1.5, dash: outer ? "dot" : "solid" };
      return { type: "scatter", mode: "lines", x, y, line, hoverinfo: "x+y+name",
        name: escape(hasLabels ? show(label) : outer ? "exterior model" : "prediction") };
    };
    const dash = (c) => c.name === name ? "solid" : "dot";
    const shapes = circles.map((c) => ({ ...outline(c, ink, dash(c)), layer: "below",
      fillcolor: c.name === name ? "rgba(0,114,178,.15)" : CLEAR }));
    const seen = (value) => Math.min(Math.max(value, x[0]), x.at(-1));
    const ends = ({ center: [at], width: [half] }) => [seen(at - half), seen(at + half)];
    const shown = circles.filter((c) => ends(c)[0] < ends(c)[1]);
    const annotations = shown.map((c) => ({ x: (ends(c)[0] + ends(c)[1]) / 2, y: 1,
      yref: "paper", xref: "x",
      yanchor: "bottom", showarrow: false, text: escape(c.name.replace("locality ", "")),
      font: { size: 15, color: ink } }));
    const xaxis = { ...addTitle(axis, escape(axes[0])), range: [x[0], x.at(-1)] };
    const yaxis = addTitle(axis, hasLabels ? "probability" : "prediction");
    const title = hasLabels && !several ? `probability of ${escape(show(classes[1]))}` : "";
    const layout = { ...base, shapes, annotations, height: 320, xaxis,
      yaxis: title ? addTitle(axis, title) : yaxis, showlegend: lines.length > 1,
      legend: { orientation: "h", y: -.25 }, margin: { t: 30, r: 10 } };
    const traces = lines.map(trace);
    if (density) {
      traces.unshift(histogram(density, ink));
      layout.yaxis2 = { overlaying: "y", side: "right", visible: false,
        range: [0, 3 * Math.max(...density.counts, 1)] };
    }
    Plotly.react(id, traces, layout, OPTIONS);
  }
  function answers(map, ink) {
    if (map.kind !== "plane") return [];
    const { x, y, z } = map, same = { x, y, z, hoverinfo: "skip" };
    if (several) return regionsOf(map, ink);
    const colorscale = hasLabels ? [[0, BLUE], [1, ORANGE]] : "Cividis";
    const colors = { ...same, type: "heatmap", opacity: .35, showscale: !hasLabels, colorscale };
    if (!hasLabels) return [colors];
    const contours = { start: .5, end: .5, size: 1, coloring: "none" };
    const line = { color: ink, width: 1.2, dash: "dot" };
    return [colors, { ...same, type: "contour", contours, line, showscale: false }];
  }
  // A color for each label, and a line around the regions of each; of two that touch one is enough.
  function regionsOf({ x, y, z }, ink) {
    const step = (k) => [[k / classes.length, colorOf(k)], [(k + 1) / classes.length, colorOf(k)]];
    const colors = { x, y, z, type: "heatmap", opacity: .35, showscale: false, hoverinfo: "text",
      text: z.map((row) => row.map((k) => escape(show(classes[k])))),
      colorscale: classes.flatMap((_, k) => step(k)), zmin: -.5, zmax: classes.length - .5 };
    const shown = [...new Set(z.flat())].slice(1);
    const around = (k) => ({ x, y, z: z.map((row) => row.map((one) => Number(one === k))),
      type: "contour", hoverinfo: "skip", showscale: false, line: { color: ink, width: 1 },
      contours: { start: .5, end: .5, size: 1, coloring: "none" } });
    return [colors, ...shown.map(around)];
  }
  function legend(map) {
    const place = document.getElementById("map-legend");
    if (!place) return;
    const present = new Set([...(map.z ?? []).flat(), ...(map.target ?? []).map(codeOf)]);
    place.replaceChildren(...classes.flatMap((label, k) => present.has(k) ? [make("li", {},
      make("span", { text: SIGNS[k % SIGNS.length], style: `color:${colorOf(k)}`,
        "aria-hidden": "true" }), ` ${show(label)}`)] : []));
  }
  const codeOf = (target) => classes.indexOf(target);
  function dots(map) {
    const second = (target) => target === classes[1];
    const marker = { size: 5, color: map.target, colorscale: "Cividis", symbol: "circle" };
    if (several) {
      marker.color = map.target.map((one) => colorOf(codeOf(one)));
      marker.symbol = map.target.map((one) => SYMBOLS[codeOf(one) % SYMBOLS.length]);
    } else if (hasLabels) {
      marker.color = map.target.map((one) => second(one) ? ORANGE : BLUE);
      marker.symbol = map.target.map((one) => second(one) ? "triangle-up" : "circle");
    }
    return {
      type: "scatter", mode: "markers", marker,
      x: map.rows.map((row) => row[0]), y: map.rows.map((row) => row[1]),
      text: map.target.map((one) => escape(show(one))), hoverinfo: "text",
    };
  }
  // Where the number of a locality stands: at its center, or within what is seen of it.
  function middleOf({ center, width }, k, ends) {
    const seen = (j) => center[j] >= ends[j][0] && center[j] <= ends[j][1];
    if (ends === null || (!width.includes(null) && seen(0) && seen(1))) return center[k];
    const [low, high] = ends[k];
    if (width[k] === null) return low + .93 * (high - low);
    if (!width.includes(null) && seen(k)) return center[k];
    const [first, last] = [center[k] - width[k], center[k] + width[k]]
      .map((one) => Math.min(Math.max(one, low), high));
    return (first + last) / 2;
  }
  // An ellipse; a band where it has no end along one axis.
  function outline({ center, width }, ink, dash = "solid") {
    const endlessly = (k) => (width[k] ?? null) === null;
    const type = endlessly(0) || endlessly(1) ? "rect" : "circle";
    const shape = { type, line: { color: ink, width: 2, dash } };
    ["x", "y"].forEach((name, k) => {
      const endless = endlessly(k);
      if (endless) shape[`${name}ref`] = `${name} domain`;
      shape[`${name}0`] = endless ? 0 : center[k] - width[k];
      shape[`${name}1`] = endless ? 1 : center[k] + width[k];
    });
    return shape;
  }

  const short = (text) => text.length > 34 ? text.slice(0, 33) + "…" : text;
  const per = data.standardized ? "standard deviation" : "unit";

  // Of a correction, how it differs from the exterior, in the columns where it may.
  const shownOf = ({ coef, coef_scale, gap, gap_scale }) => gap
    ? { coef: gap, scale: gap_scale, what: "difference from the exterior" }
    : { coef, scale: coef_scale, what: "coefficient" };
  // Those of columns with curves are drawn there.
  const bent = new Set(model.curves.map(({ column }) => column));
  const columnsOf = ({ feature_names, gap_scale }) => feature_names.flatMap((_, j) =>
    (gap_scale ? gap_scale[j] > 0 : !bent.has(j)) ? [j] : []);

  // Of several classes: columns by labels.
  function drawScores(region, base, axis, ink) {
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
    const unit = model.factor.map((value) => value > 0 ? 1 / value : 0);
    const { coef, scale, what } = shownOf(region);
    const size = (j) => coef.map((row) => row[j] * unit[j]);
    const most = (j) => Math.max(...size(j).map(Math.abs));
    const order = columnsOf(region).sort((a, b) => most(b) - most(a)).slice(0, 25).reverse();
    const z = order.map(size), end = Math.max(...order.map(most), 1e-300);
    const labels = classes.map((label) => escape(show(label))), few = labels.length <= 12;
    const around = (k, j) => `${escape(region.feature_names[j])}, ${labels[k]}:`
      + ` ${show(size(j)[k])} ± ${show(scale[j] * unit[j])}`;
    const trace = {
      type: "heatmap", x: labels.map((_, k) => k), y: order.map((_, r) => r), z, zmin: -end,
      zmax: end, xgap: 2, ygap: 2, showscale: order.length > 3,
      colorscale: [[0, BLUE], [.5, paper], [1, ORANGE]],
      colorbar: { thickness: 12, outlinewidth: 0, exponentformat: "e" }, hoverinfo: "text",
      hovertext: order.map((j) => labels.map((_, k) => around(k, j))),
      text: z.map((row) => row.map((value) => few ? Number(value.toPrecision(2)).toString() : "")),
      texttemplate: "%{text}",
    };
    const ticks = (place, text) =>
      ({ ...axis, showgrid: false, zeroline: false, tickvals: place, ticktext: text });
    const layout = { ...base, height: 130 + 24 * order.length,
      xaxis: addTitle(ticks(trace.x, classes.map((label) => escape(short(show(label))))),
        `${what} per ${per}`),
      yaxis: ticks(trace.y, order.map((j) => escape(short(region.feature_names[j])))) };
    Plotly.react(`chart-${region.index}`, [trace], layout, OPTIONS);
  }
  // -- formulas as text -----------------------------------------------------------------------
  function copies() {
    document.querySelectorAll("button.copy").forEach((button) =>
      button.addEventListener("click", async () => {
        const place = document.getElementById(button.dataset.copy);
        getSelection().selectAllChildren(place); // where nothing may be written, it is selected
        try {
          await navigator.clipboard.writeText(place.innerText);
          button.textContent = "Copied";
        } catch { button.textContent = "Selected: press Ctrl-C"; }
      }));
  }

  fields(); answer(); rows(); copies();
  charts().catch((error) => console.error(error));
  addEventListener("beforeprint", () =>
    document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
