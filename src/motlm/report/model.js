"use strict";
// What Mixture.view computes in Python, from the same numbers (Mixture.routine), and the nearest
// change of a case by which the same local model gives another answer; of additive models, of one
// number.
const motlm = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = data.model, n = model.loci.length;
  const { link, classes, center: shift, scale, tolerance } = model.answer;
  const several = link === "largest", hasLabels = several || link === "sign";
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
  // a model has one score, or one for each of several classes
  const listed = (value) => several ? value : [value];
  const unlisted = (values) => several ? values : values[0];
  const slopes = model.coef.map(listed), offsets = model.intercept.map(listed);
  // of additive models: lines between values at the knots of a column; beyond these the first and
  // the last one
  const curves = model.curves.map((one) => ({ ...one, values: one.values.map(listed) }));
  function interpolate(knots, values, x) {
    const next = knots.findIndex((knot) => knot > x);
    const k = clip(next < 0 ? knots.length : next, 1, knots.length - 1);
    const share = clip((x - knots[k - 1]) / (knots[k] - knots[k - 1]), 0, 1);
    return values[k - 1] * (1 - share) + values[k] * share;
  }
  const bend = ({ column, knots, values }, i, k, x) => interpolate(knots, values[i][k], x[column]);
  const scoreOf = (i, k, x, z) =>
    inUnits(dot(slopes[i][k], z) + offsets[i][k] + sum(curves, (one) => bend(one, i, k, x)));
  const largest = (values) => values.indexOf(Math.max(...values)); // the first of several
  // what scores in the units of the target answer, and the score that answers a number
  function answer(score) {
    switch (link) {
      case "sign": return classes[score > 0 ? 1 : 0];
      case "largest": return classes[largest(score)];
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

  // The distribution function of the standard normal, by Marsaglia's series.
  function normal(x) {
    if (Math.abs(x) > 8.5) return Number(x > 0);
    let total = x, term = x;
    for (let k = 3; total + term !== total; k += 2) { term *= x * x / k; total += term; }
    return 0.5 + total * Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
  }
  // Of the labels: the softmax of their scores; or, where scores have deviations, the probability
  // that each of independent normal scores is the largest, by the trapezoidal rule.
  function probabilities(scores, variance) {
    const top = Math.max(...scores), total = (values) => sum(values, (value) => value);
    const share = (values) => values.map((value) => value / total(values));
    if (variance === null) return share(scores.map((score) => Math.exp(score - top)));
    const ratio = scores.map((score) => (score - top) / Math.sqrt(variance));
    const found = scores.map(() => 0);
    for (let x = -9; x <= 9; x += 0.125) {
      const density = Math.exp(-0.5 * x * x);
      ratio.forEach((own, k) => {
        if (own > -20)
          found[k] += ratio.reduce((product, other, j) =>
            j === k ? product : product * normal(own - other + x), density);
      });
    }
    return share(found);
  }
  // The variance of the scores of models, of their mean where several are used.
  function varianceOf(models, z) {
    if (data.scales === null) return null;
    const { coef, intercept } = data.scales;
    const own = (i) => sum(z, (value, j) => (coef[i][j] * value) ** 2) + intercept[i] ** 2;
    return sum(models, own) / models.length ** 2;
  }

  // The models that apply to a case, those that are used, and their answer.
  function locate(values) {
    const x = encode(values), z = standardize(x);
    const away = model.loci.map((locus) => distance(locus, z));
    const contains = ({ radius }, i) => radius > 0 && away[i] <= radius;
    const member = model.loci.map(contains);
    const applicable = [...member, !member.some(Boolean)];
    const scores = slopes.map((rows, i) => rows.map((_, k) => scoreOf(i, k, x, z)));
    const all = applicable.flatMap((yes, i) => yes ? [i] : []);
    const averaged = model.overlap === "mean" && all.length > 1;
    const used = averaged ? -1 : nearest(away, applicable);
    const models = averaged ? all : [used];
    const totals = offsets[0].map((_, k) => sum(models, (i) => scores[i][k]) / models.length);
    const best = largest(totals), prediction = answer(unlisted(totals));
    return { x, z, distance: away, member, applicable, scores: scores.map(unlisted), used, models,
      totals, best, score: totals[best], prediction };
  }
  // And what each feature adds to the score of the answer; of several classes, to each score.
  function evaluate(values) {
    const now = locate(values), { x, z, models, applicable, scores, totals, best } = now;
    const mean = (term) => sum(models, term) / models.length;
    const places = Object.fromEntries(models.map((i) =>
      [i, i < n ? data.regions[i].center : model.typical]));
    const middle = Object.fromEntries(models.map((i) => [i, standardize(places[i])]));
    const explain = (k) => {
      const contributions = Object.create(null);
      const base = mean((i) => scoreOf(i, k, places[i], middle[i]));
      model.groups.forEach(({ name, start, levels }) => {
        const columns = z.slice(start, start + (levels === null ? 1 : levels.length - 1));
        const bent = curves.filter(({ column }) => levels === null && column === start);
        contributions[name] = mean((i) => scale * (sum(columns, (value, m) =>
          slopes[i][k][start + m] * (value - middle[i][start + m]))
          + sum(bent, (one) => bend(one, i, k, x) - bend(one, i, k, places[i]))));
      });
      return { score: totals[k], base, contributions };
    };
    const answers = scores.filter((_, i) => applicable[i]).map(answer);
    const sides = hasLabels ? answers.map((label) => classes.indexOf(label)) : answers;
    const contradicted = Math.max(...sides) - Math.min(...sides) > tolerance;
    if (!several) return { ...now, contradicted, ...explain(best) };
    const chances = probabilities(totals, varianceOf(models, z));
    const byClass = classes.map((label, k) =>
      ({ label, probability: chances[k], ...explain(k) }));
    const second = largest(totals.map((value, k) => k === best ? -Infinity : value));
    return { ...now, contradicted, second, ...explain(best), classes: byClass };
  }

  // -- counterfactuals ------------------------------------------------------------------------
  // The nearest change of numbers, within the locality and the ranges of the form, by which the
  // same local model gives another answer; categories and what is held stay as they are. See
  // counterfactual in Python. An answer is a list of borders,
  //   sign (coef . z + offset) >= sign level + margin,
  // one for a score, or one for each other label if one of several is wanted.

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
    const excess = (z) => z === null ? Infinity
      : sum(z, (value, k) => weight[k] * (value - center[k]) ** 2) - room;
    let a = 0, b = weight.every((w) => w > 0) ? 1 : 1 - 1e-12; // some columns without a pull
    const first = at(a); // null where no point is on the right side of all borders
    if (first === null || excess(first) <= 0) return first;
    if (excess(at(b)) > 0) return null;
    for (let k = 0; k < 100; k++) {
      const c = (a + b) / 2;
      if (excess(at(c)) > 0) a = c; else b = c;
    }
    return at(b);
  }

  // a x = b for a positive definite matrix, by elimination
  function solveLinear(a, b) {
    const rows = a.map((row, k) => [...row, b[k]]), x = b.map(() => 0);
    rows.forEach((row, k) => rows.slice(k + 1).forEach((other) => {
      const factor = other[k] / row[k];
      for (let j = k; j < row.length; j++) other[j] -= factor * row[j];
    }));
    for (let k = b.length - 1; k >= 0; k--)
      x[k] = (rows[k].at(-1) - sum(x, (value, j) => j > k ? rows[k][j] * value : 0)) / rows[k][k];
    return x;
  }

  // min sum curvature (z - target)^2  subject to  gradient . z >= reach of all sides,
  // low <= z <= high;  null where no point is. By the dual method of Goldfarb and Idnani: the
  // constraint that is violated most is met, and those that no longer hold the point are dropped.
  // In u = root (z - target) it is the shortest u; a bound is the plane of one column.
  function inPolytope(target, curvature, sides, low, high) {
    const root = curvature.map(Math.sqrt), u = target.map(() => 0);
    const planes = sides.map(({ gradient, reach }) => {
      const slope = gradient.map((g, j) => g / root[j]), length = Math.sqrt(dot(slope, slope)) || 1;
      const least = (reach - dot(gradient, target)) / length;
      return { slope: slope.map((g) => g / length), least };
    });
    target.forEach((value, j) => {
      planes.push({ column: j, sign: 1, least: (low[j] - value) * root[j] });
      planes.push({ column: j, sign: -1, least: (value - high[j]) * root[j] });
    });
    const entry = (plane, j) => plane.slope ? plane.slope[j] : plane.column === j ? plane.sign : 0;
    const lack = (plane) =>
      plane.least - (plane.slope ? dot(plane.slope, u) : plane.sign * u[plane.column]);
    let active = []; // with the multiplier of each
    // the part of a plane's slope beside the active ones, and its shares in these
    function split(plane) {
      const walls = active.filter((one) => one.plane.slope);
      const held = new Set(active.map((one) => one.plane.column));
      const free = u.flatMap((_, j) => held.has(j) ? [] : [j]);
      const product = (a, b) => sum(free, (j) => entry(a, j) * entry(b, j));
      const shares = solveLinear(walls.map((a) => walls.map((b) => product(a.plane, b.plane))),
        walls.map((a) => product(a.plane, plane)));
      const rest = u.map((_, j) =>
        entry(plane, j) - sum(walls, (a, k) => shares[k] * entry(a.plane, j)));
      const share = ({ plane: { slope, sign, column } }, k) =>
        slope ? shares[walls.indexOf(active[k])] : sign * rest[column];
      return { way: rest.map((value, j) => held.has(j) ? 0 : value), shares: active.map(share) };
    }
    for (let k = 0, next = null; k < 50 * planes.length; k++) {
      if (next === null) {
        const lacks = planes.map(lack), worst = largest(lacks);
        const size = 1 + Math.sqrt(dot(u, u));
        if (!(lacks[worst] > 1e-12 * size)) return u.map((value, j) => target[j] + value / root[j]);
        next = { plane: planes[worst], multiplier: 0 };
      }
      const { way, shares } = split(next.plane), bend = dot(way, way);
      const steps = active.map(({ multiplier }, j) =>
        shares[j] > 1e-14 ? multiplier / shares[j] : Infinity);
      const full = bend > 1e-20 ? lack(next.plane) / bend : Infinity;
      const step = Math.min(full, ...steps), drop = step < full ? steps.indexOf(step) : -1;
      if (step === Infinity) return null;
      if (bend > 1e-20) way.forEach((value, j) => { u[j] += step * value; });
      active.forEach((one, j) => { one.multiplier -= step * shares[j]; });
      next.multiplier += step;
      active = active.filter((_, j) => j !== drop);
      if (drop < 0) { active.push(next); next = null; }
    }
    return null;
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
    const { i } = goal, { z } = locate(values);
    const none = { found: false, reason: `no case in ${names[i]} within the ranges of the form has`
      + " that answer, with everything else as it is" };
    const free = moving.map((f) => f.start), start = free.map((j) => z[j]);
    const size = (k) => Math.abs(offsets[i][k])
      + sum(slopes[i][k], (value, j) => Math.abs(value) * (Math.abs(z[j]) + 1));
    const sides = goal.borders.map(({ coef, offset, sign, level, scores }) => {
      const gradient = free.map((j) => sign * coef[j]);
      const margin = hasLabels ? 1e-7 * sum(scores, size) : 0; // beyond the border of a label
      const missing = sign * (level - offset - dot(coef, z)) + margin;
      return { gradient, reach: dot(gradient, start) + missing };
    });
    const edge = (f, end) => (f[end] - model.origin[f.start]) * model.factor[f.start];
    const low = moving.map((f, k) => Math.min(edge(f, "low"), start[k]));
    const high = moving.map((f, k) => Math.max(edge(f, "high"), start[k]));
    const most = (gradient) => sum(gradient, (g, k) => g * (g > 0 ? high[k] : low[k]));
    if (!sides.every(({ gradient, reach }) => most(gradient) >= reach)) return none;
    const [{ gradient, reach }] = sides;
    const project = sides.length > 1
      ? (target, curvature) => inPolytope(target, curvature, sides, low, high)
      : (target, curvature) => onPlane(target, curvature, gradient, reach, low, high);
    const point = withinBall(start, ballOf(model.loci[i], z, free), project);
    if (point === null) return none;
    const after = { ...values };
    moving.forEach((f, k) => {
      after[f.name] = point[k] / model.factor[f.start] + model.origin[f.start];
    });
    const then = locate(after), cost = sum(point, (value, k) => (value - start[k]) ** 2);
    if (then.used !== i) {
      const other = then.used < 0 ? "several localities are used together"
        : `${names[then.used]} is used`;
      return { found: false, cost, reason: `the nearest such case lies where ${other}` };
    }
    if (!goal.met(then)) return { found: false, cost, reason: "none was found" };
    return { found: true, cost, after };
  }

  // Whole numbers are rounded off the solution without that condition, the others solved for once
  // more, and then each whole number is taken back towards where it was as far as the answer
  // allows.
  const ROUND = {
    away: (to, from) => to > from ? Math.ceil(to - 1e-9) : Math.floor(to + 1e-9),
    near: Math.round,
    back: (to, from) => to > from ? Math.floor(to) : Math.ceil(to),
  };
  function inWholes(values, relaxed, part, goal, rounds) {
    const whole = part.filter((f) => f.whole), rest = part.filter((f) => !f.whole);
    function complete(fixed) {
      if (goal.met(locate(fixed))) return fixed;
      if (!rest.length) return null;
      const found = solve(fixed, rest, goal);
      return found.found ? found.after : null;
    }
    const fixed = { ...values }, origin = (f) => Number(values[f.name]);
    let after = null;
    for (const round of rounds) {
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

  const costOf = (values, after, moving) =>
    sum(moving, (f) => ((after[f.name] - values[f.name]) * model.factor[f.start]) ** 2);
  // Rounding at one of several borders often passes another one, so that points further inside are
  // rounded: by multiples of the deviation that rounding gives the difference of two scores.
  function roundInside(values, relaxed, moving, goal) {
    const sizes = (coef) => moving.map((f) => f.whole ? coef[f.start] * model.factor[f.start] : 0);
    const deviation = (coef) => Math.sqrt(sum(sizes(coef), (size) => size ** 2) / 12);
    for (const times of [0, 0.5, 1, 2, 4]) {
      const raise = (one) => ({ ...one, level: one.level + times * deviation(one.coef) });
      const inner = times ? solve(values, moving, { ...goal, borders: goal.borders.map(raise) })
        : { found: true, after: relaxed };
      const found = inner.found
        ? inWholes(values, inner.after, moving, goal, [ROUND.near, ROUND.back]) : null;
      if (found) return found;
    }
    return null;
  }
  // Several changes of all numbers, or one of one of them, whichever is nearer.
  function nearestInWholes(values, relaxed, moving, goal) {
    const cost = (one) => costOf(values, one, moving);
    const rounds = [ROUND.away, ROUND.near, ROUND.back];
    const wholes = (part, from) => inWholes(values, from, part, goal, rounds);
    const found = [wholes(moving, relaxed)];
    if (goal.borders.length > 1) found.push(roundInside(values, relaxed, moving, goal));
    moving.forEach((f) => {
      const one = solve(values, [f], goal);
      if (one.found) found.push(wholes([f], one.after));
    });
    return found.filter(Boolean).reduce(
      (best, one) => best === null || cost(one) < cost(best) ? one : best, null);
  }

  // -- of additive models: the nearest change of one number, which is exact, since scores are
  // straight between the knots of its column

  // The ends of a column within the form and the locality, all other columns as they are.
  function reachOf(i, z, f, from) {
    const j = f.start, inColumn = (value) => value / model.factor[j] + model.origin[j];
    let low = Math.min(f.low, from), high = Math.max(f.high, from);
    const { weight: [w], center: [c], room } = ballOf(model.loci[i], z, [j]);
    if (w > 0) {
      const half = Math.sqrt(Math.max(room, 0) / w);
      [low, high] = [Math.max(low, inColumn(c - half)), Math.min(high, inColumn(c + half))];
    }
    return [low, high];
  }
  // Where all borders are met between two neighbors, at which they have these values.
  function between(a, b, atA, atB) {
    let low = a, high = b;
    atA.forEach((first, k) => {
      const last = atB[k], root = a + (b - a) * (first / (first - last));
      if (first < 0 && last < 0) high = -Infinity;
      else if (first < 0) low = Math.max(low, root);
      else if (last < 0) high = Math.min(high, root);
    });
    return low <= high ? [low, high] : null;
  }
  function nearestIn([low, high], from, whole) {
    const to = clip(from, low, high);
    if (!whole || to === from) return to;
    const round = to > from ? Math.ceil(to - 1e-9) : Math.floor(to + 1e-9);
    return round >= low - 1e-9 && round <= high + 1e-9 ? round : null;
  }
  // The nearest values of a column in each stretch that meets a goal.
  function alongColumn(f, { x, z }, goal) {
    const { i } = goal, j = f.start, from = x[j], [low, high] = reachOf(i, z, f, from);
    if (!(low <= high)) return [];
    const own = curves.filter(({ column }) => column === j);
    const knots = own.flatMap((one) => one.knots).filter((knot) => knot > low && knot < high);
    const stops = [low, ...knots, high].sort((a, b) => a - b);
    const moved = (value) => x.map((old, m) => m === j ? value : old);
    const size = (k) => sum(slopes[i][k], (value, m) => Math.abs(value) * (Math.abs(z[m]) + 1))
      + Math.abs(offsets[i][k]) + curves.length;
    const values = stops.map((stop) => goal.borders.map(({ coef, offset, sign, level, scores }) => {
      const [k, m] = scores, at = moved(stop), bends = (one) => bend(one, i, k, at)
        - (m === undefined ? 0 : bend(one, i, m, at));
      const margin = hasLabels ? 1e-7 * sum(scores, size) : 0;
      return sign * (dot(coef, standardize(at)) + offset + sum(curves, bends) - level) - margin;
    }));
    return stops.slice(1).flatMap((stop, s) => {
      const stretch = between(stops[s], stop, values[s], values[s + 1]);
      const to = stretch === null ? null : nearestIn(stretch, from, f.whole);
      return to === null ? [] : [{ f, goal, to, cost: ((to - from) * model.factor[j]) ** 2 }];
    });
  }
  function changeOne(values, now, moving, goals) {
    const tried = moving.flatMap((f) => goals.flatMap((goal) => alongColumn(f, now, goal)))
      .sort((a, b) => a.cost - b.cost);
    const after = ({ f, to }) => ({ ...values, [f.name]: to });
    const best = tried.findIndex((one) => one.goal.met(locate(after(one))));
    if (best < 0) return null;
    return { after: after(tried[best]), smallest: best === 0 };
  }

  // What is to be reached: a number, the other of two labels, or one of several; any other of
  // several is a goal for each, since there the score of one of them is the larger.
  function goalsOf(now, wanted) {
    const i = now.used, used = (then) => then.used === i;
    const other = (then) => used(then) && then.prediction !== now.prediction;
    if (!several) {
      const level = hasLabels ? 0 : levelOf(wanted);
      const up = hasLabels ? now.score <= 0 : level > now.score;
      const near = hasLabels ? 0 : 1e-9 * (1 + Math.abs(level));
      const reaches = (then) => up ? then.score >= level - near : then.score <= level + near;
      const met = hasLabels ? other : (then) => used(then) && reaches(then);
      const border = { coef: model.coef[i], offset: model.intercept[i], sign: up ? 1 : -1,
        level: (level - shift) / scale, scores: [0] };
      return [{ i, borders: [border], met }];
    }
    const against = (k, m) => ({ coef: slopes[i][k].map((value, j) => value - slopes[i][m][j]),
      offset: offsets[i][k] - offsets[i][m], sign: 1, level: 0, scores: [k, m] });
    const places = classes.map((_, k) => k), but = (k) => places.filter((m) => m !== k);
    if (wanted === null)
      return but(now.best).map((k) => ({ i, borders: [against(k, now.best)], met: other }));
    const k = classes.indexOf(wanted), met = (then) => used(then) && then.prediction === wanted;
    return [{ i, borders: but(k).map((m) => against(k, m)), met }];
  }

  function counterfactual(values, held, wanted) {
    const now = locate(values), i = now.used;
    const fail = (reason) => ({ found: false, reason });
    if (i < 0) return fail("several localities are used together");
    if (wanted !== null && wanted === now.prediction)
      return fail("the model gives that answer already");
    if (!hasLabels && !Number.isFinite(levelOf(wanted)))
      return fail(`no score gives the answer ${wanted}`);
    if (i < n && model.loci[i].norm !== "euclidean")
      return fail("it is only searched for in Euclidean localities");
    const moving = features.filter(
      (f) => f.levels === null && !held.has(f.name) && model.factor[f.start] > 0);
    if (!moving.length) return fail("no number may change; categories are not tried here");
    if (curves.length) {
      const one = changeOne(values, now, moving, goalsOf(now, wanted));
      if (one === null)
        return fail(`no case in ${names[i]} within the ranges of the form that differs in one`
          + " number has that answer; changes of several numbers at once are not tried for models"
          + " with curves");
      const { prediction } = locate(one.after);
      return { found: true, ...one, prediction, moving: moving.map((f) => f.name), single: true };
    }
    const tried = goalsOf(now, wanted).map((goal) => ({ goal, ...solve(values, moving, goal) }))
      .sort((a, b) => (a.cost ?? Infinity) - (b.cost ?? Infinity) || 0);
    const relaxed = tried.filter((one) => one.found);
    if (!relaxed.length) return fail(tried[0].reason);
    const whole = moving.some((f) => f.whole), smallest = !whole && tried[0].found;
    let after = null, least = Infinity;
    for (const one of relaxed) {
      if (one.cost >= least) break; // whole numbers cost no less
      const found = whole ? nearestInWholes(values, one.after, moving, one.goal) : one.after;
      const cost = found ? costOf(values, found, moving) : Infinity;
      if (cost < least) [after, least] = [found, cost];
    }
    if (!after) return fail("none was found in whole numbers");
    const { prediction } = locate(after);
    return { found: true, after, smallest, prediction, moving: moving.map((f) => f.name) };
  }

  return { data, features, names, hasLabels, several, answer, evaluate, counterfactual };
})();
