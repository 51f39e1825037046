"use strict";
// What Mixture.view computes in Python, from the same numbers (Mixture.routine), and the nearest
// change of a case by which the same local model gives another answer.
const motlm = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = data.model, n = model.loci.length;
  const { link, classes, center: shift, scale, tolerance } = model.answer;
  const hasLabels = link === "sign";
  const names = data.regions.map((region) => region.name);
  // what the form shows of each column, and where its encoded columns begin
  const features = data.features.map((feature, k) => ({ ...model.groups[k], ...feature }));

  // -- predictions ----------------------------------------------------------------------------
  const sum = (values, term) => values.reduce((total, value, k) => total + term(value, k), 0);
  const dot = (a, b) => sum(a, (value, j) => value * b[j]);
  const clip = (value, low, high) => Math.min(Math.max(value, low), high);

  function encode(values) {
    const x = new Array(model.names.length).fill(0);
    model.groups.forEach(({ name, start, levels }) => {
      if (levels === null) { x[start] = Number(values[name]); return; }
      const level = levels.indexOf(String(values[name]));
      if (level < 0 && model.refuses_unknown)
        throw new Error(`${name}: unknown category ${values[name]}`);
      for (let k = 1, j = start; k < levels.length; k++, j++)
        x[j] = level < 0 ? model.typical[j] : Number(level === k);
    });
    return x;
  }
  const standardize = (x) => x.map((value, j) => (value - model.origin[j]) * model.factor[j]);

  function distance(locus, z) {
    const gap = locus.columns.map((j, k) => z[j] - locus.center[k]);
    const weight = locus.weight === null ? gap.map(() => 1) : locus.weight;
    switch (locus.norm) {
      case "euclidean": return Math.sqrt(sum(gap, (g, k) => weight[k] * g * g));
      case "manhattan": return sum(gap, (g, k) => weight[k] * Math.abs(g));
      case "chebyshev": return Math.max(0, ...gap.map((g, k) => weight[k] * Math.abs(g)));
      case "quadratic":
        return Math.sqrt(Math.max(0, sum(gap, (g, k) => g * dot(locus.matrix[k], gap))));
      default: return NaN;
    }
  }

  const inUnits = (score) => score * scale + shift;
  const linear = (i, z) => inUnits(dot(model.coef[i], z) + model.intercept[i]);
  // what a score in the units of the target answers, and the score that answers a number
  function answer(score) {
    switch (link) {
      case "sign": return classes[score > 0 ? 1 : 0];
      case "identity": return score;
      case "log": return Math.exp(score);
      default: return NaN;
    }
  }
  const levelOf = (wanted) => link === "log" ? Math.log(wanted) : wanted; // not finite: none does
  function nearest(away, applicable) { // the first of several; n for the exterior
    let best = n;
    for (let i = 0; i < n; i++)
      if (applicable[i] && (best === n || away[i] < away[best])) best = i;
    return best;
  }

  function evaluate(values) {
    const x = encode(values), z = standardize(x);
    const away = model.loci.map((locus) => distance(locus, z));
    const contains = ({ radius }, i) => radius > 0 && away[i] <= radius;
    const member = model.loci.map(contains);
    const applicable = [...member, !member.some(Boolean)];
    const scores = model.coef.map((_, i) => linear(i, z));
    const several = applicable.flatMap((yes, i) => yes ? [i] : []);
    const averaged = model.overlap === "mean" && several.length > 1;
    const used = averaged ? -1 : nearest(away, applicable);
    const models = averaged ? several : [used];
    const mean = (term) => sum(models, term) / models.length;
    const score = mean((i) => scores[i]);
    const middle = Object.fromEntries(models.map((i) =>
      [i, standardize(i < n ? data.regions[i].center : model.typical)]));
    const base = mean((i) => linear(i, middle[i]));
    const contributions = Object.create(null);
    model.groups.forEach(({ name, start, levels }) => {
      const columns = z.slice(start, start + (levels === null ? 1 : levels.length - 1));
      contributions[name] = mean((i) => scale * sum(columns, (value, k) =>
        model.coef[i][start + k] * (value - middle[i][start + k])));
    });
    const sides = several.map((i) => hasLabels ? Number(scores[i] > 0) : answer(scores[i]));
    const contradicted = Math.max(...sides) - Math.min(...sides) > tolerance;
    const prediction = answer(score);
    return { x, z, distance: away, member, applicable, scores, used, score, prediction, base,
      contributions, contradicted };
  }

  // -- counterfactuals ------------------------------------------------------------------------
  // The nearest change of numbers, within the locality and the ranges of the form, by which the
  // same local model gives another answer; categories and what is held stay as they are. See
  // counterfactual in Python.

  // min sum curvature (z - target)^2  subject to  gradient . z = reach,  low <= z <= high
  function onPlane(target, curvature, gradient, reach, low, high) {
    const at = (t) => target.map((value, j) =>
      clip(value + t * gradient[j] / curvature[j], low[j], high[j]));
    const value = (t) => dot(gradient, at(t));
    let a = -1, b = 1;
    for (let k = 0; k < 80 && value(a) > reach; k++) a *= 2;
    for (let k = 0; k < 80 && value(b) < reach; k++) b *= 2;
    for (let k = 0; k < 200; k++) {
      const c = (a + b) / 2;
      if (value(c) < reach) a = c; else b = c;
    }
    return at(b);
  }

  // min |z - start|^2  subject to the same and to  sum weight (z - center)^2 <= room:  for a
  // multiplier s / (1 - s) it is onPlane, and the sum falls as s grows
  function withinBall(start, ball, project) {
    const { weight, center, room } = ball;
    const at = (s) => {
      const curvature = weight.map((w) => 1 - s + s * w);
      const pull = (value, k) => (1 - s) * value + s * weight[k] * center[k];
      return project(start.map((value, k) => pull(value, k) / curvature[k]), curvature);
    };
    const excess = (z) => sum(z, (value, k) => weight[k] * (value - center[k]) ** 2) - room;
    let a = 0, b = weight.every((w) => w > 0) ? 1 : 1 - 1e-12; // some columns without a pull
    if (excess(at(a)) <= 0) return at(a);
    if (excess(at(b)) > 0) return null;
    for (let k = 0; k < 100; k++) {
      const c = (a + b) / 2;
      if (excess(at(c)) > 0) a = c; else b = c;
    }
    return at(b);
  }

  // What the free columns may do in a Euclidean locus; the others take their part of its radius.
  function ballOf(locus, z, free) {
    const zeros = free.map(() => 0), weight = new Map(), center = new Map();
    if (locus === undefined) return { weight: zeros, center: zeros, room: 0 }; // the exterior
    locus.columns.forEach((j, k) => {
      weight.set(j, locus.weight === null ? 1 : locus.weight[k]);
      center.set(j, locus.center[k]);
    });
    const fixed = locus.columns.filter((j) => !free.includes(j));
    const taken = sum(fixed, (j) => weight.get(j) * (z[j] - center.get(j)) ** 2);
    return {
      weight: free.map((j) => weight.get(j) ?? 0),
      center: free.map((j) => center.get(j) ?? 0),
      room: (locus.radius ** 2 - taken) * (1 - 2e-9),
    };
  }

  function solve(values, moving, goal) {
    const { i, up } = goal, { z } = evaluate(values), coef = model.coef[i];
    const none = { found: false, reason: `no case in ${names[i]} within the ranges of the form has`
      + " that answer, with everything else as it is" };
    const free = moving.map((f) => f.start), sign = up ? 1 : -1;
    const start = free.map((j) => z[j]), gradient = free.map((j) => sign * coef[j]);
    const size = Math.abs(model.intercept[i])
      + sum(coef, (value, j) => Math.abs(value) * (Math.abs(z[j]) + 1));
    const margin = hasLabels ? 1e-7 * size : 0; // beyond the border of a label
    const standardized = (goal.level - shift) / scale;
    const missing = sign * (standardized - model.intercept[i] - dot(coef, z)) + margin;
    const reach = dot(gradient, start) + missing;
    const edge = (f, end) => (f[end] - model.origin[f.start]) * model.factor[f.start];
    const low = moving.map((f, k) => Math.min(edge(f, "low"), start[k]));
    const high = moving.map((f, k) => Math.max(edge(f, "high"), start[k]));
    if (!(sum(gradient, (g, k) => g * (g > 0 ? high[k] : low[k])) >= reach)) return none;
    const project = (target, curvature) =>
      onPlane(target, curvature, gradient, reach, low, high);
    const point = withinBall(start, ballOf(model.loci[i], z, free), project);
    if (point === null) return none;
    const after = { ...values };
    moving.forEach((f, k) => {
      after[f.name] = point[k] / model.factor[f.start] + model.origin[f.start];
    });
    const then = evaluate(after);
    if (then.used !== i) {
      const other = then.used < 0 ? "several localities are used together"
        : `${names[then.used]} is used`;
      return { found: false, reason: `the nearest such case lies where ${other}` };
    }
    return goal.met(then) ? { found: true, after } : { found: false, reason: "none was found" };
  }

  // Whole numbers are rounded off the solution without that condition, the others solved for once
  // more, and then each whole number is taken back towards where it was as far as the answer
  // allows.
  const ROUND = {
    away: (to, from) => to > from ? Math.ceil(to - 1e-9) : Math.floor(to + 1e-9),
    near: Math.round,
    back: (to, from) => to > from ? Math.floor(to) : Math.ceil(to),
  };
  function inWholes(values, relaxed, whole, rest, goal) {
    function complete(fixed) {
      if (goal.met(evaluate(fixed))) return fixed;
      if (!rest.length) return null;
      const found = solve(fixed, rest, goal);
      return found.found ? found.after : null;
    }
    const fixed = { ...values }, origin = (f) => Number(values[f.name]);
    let after = null;
    for (const round of [ROUND.away, ROUND.near, ROUND.back]) {
      whole.forEach((f) => {
        const from = origin(f), near = Math.abs(relaxed[f.name] - from) < 1e-9;
        const to = near ? from : round(relaxed[f.name], from);
        const low = Math.min(Math.ceil(f.low), from), high = Math.max(Math.floor(f.high), from);
        fixed[f.name] = clip(to, low, high);
      });
      after = complete(fixed);
      if (after) break;
    }
    if (!after) return null;
    const far = (f) => Math.abs(fixed[f.name] - origin(f)) * model.factor[f.start];
    [...whole].sort((a, b) => far(b) - far(a)).forEach((f) => {
      for (let k = 0; k < 200 && fixed[f.name] !== origin(f); k++) {
        const before = fixed[f.name], left = before - origin(f);
        fixed[f.name] = Math.abs(left) <= 1 ? origin(f) : before - Math.sign(left);
        const again = complete(fixed);
        if (!again) { fixed[f.name] = before; break; }
        after = again;
      }
    });
    return after;
  }

  // Several changes of all numbers, or one of one of them, whichever is nearer.
  function nearestInWholes(values, relaxed, moving, goal) {
    const isWhole = (f) => f.whole, isNot = (f) => !f.whole;
    const cost = (one) =>
      sum(moving, (f) => ((one[f.name] - values[f.name]) * model.factor[f.start]) ** 2);
    const wholes = (part, from) =>
      inWholes(values, from, part.filter(isWhole), part.filter(isNot), goal);
    const found = [wholes(moving, relaxed)];
    moving.forEach((f) => {
      const one = solve(values, [f], goal);
      if (one.found) found.push(wholes([f], one.after));
    });
    return found.filter(Boolean).reduce(
      (best, one) => best === null || cost(one) < cost(best) ? one : best, null);
  }

  function counterfactual(values, held, wanted) {
    const now = evaluate(values), i = now.used;
    const fail = (reason) => ({ found: false, reason });
    if (i < 0) return fail("several localities are used together");
    if (!hasLabels && wanted === now.prediction)
      return fail("the model gives that answer already");
    const level = hasLabels ? 0 : levelOf(wanted);
    if (!Number.isFinite(level)) return fail(`no score gives the answer ${wanted}`);
    if (i < n && model.loci[i].norm !== "euclidean")
      return fail("it is only searched for in Euclidean localities");
    const moving = features.filter(
      (f) => f.levels === null && !held.has(f.name) && model.factor[f.start] > 0);
    if (!moving.length) return fail("no number may change; categories are not tried here");
    const up = hasLabels ? now.score <= 0 : level > now.score;
    const near = hasLabels ? 0 : 1e-9 * (1 + Math.abs(level));
    const reaches = (then) => up ? then.score >= level - near : then.score <= level + near;
    const met = (then) => then.used === i
      && (hasLabels ? then.prediction !== now.prediction : reaches(then));
    const goal = { i, up, level, met };
    const relaxed = solve(values, moving, goal);
    if (!relaxed.found) return relaxed;
    const smallest = !moving.some((f) => f.whole);
    const after = smallest ? relaxed.after : nearestInWholes(values, relaxed.after, moving, goal);
    if (!after) return fail("none was found in whole numbers");
    const { prediction } = evaluate(after);
    return { found: true, after, smallest, prediction, moving: moving.map((f) => f.name) };
  }

  return { data, features, names, hasLabels, answer, evaluate, counterfactual };
})();
