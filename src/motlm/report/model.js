"use strict";
// What Mixture.view computes in Python, from the same numbers (Mixture.routine), and a change of
// few numbers of a case by which the same local model gives another answer.
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

  // an empty field is a missing number; the form has an option for a missing category
  const MISSING = "\u0000";
  const isMissing = ({ name, levels, incomplete }, values) =>
    levels === null ? incomplete && values[name] === "" : values[name] === MISSING;

  function encode(values) {
    const x = new Array(model.names.length).fill(0);
    model.groups.forEach((group) => {
      const { name, start, levels } = group, missing = isMissing(group, values);
      if (levels === null) {
        x[start] = missing ? model.stand_in[start] : Number(values[name]);
        if (group.incomplete) x[start + 1] = Number(missing);
        return;
      }
      const level = levels.indexOf(missing ? null : String(values[name]));
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
    const lost = model.groups.filter((one) => one.levels === null && isMissing(one, values));
    const lacks = ({ columns }) => lost.some(({ start }) => columns.includes(start));
    const away = model.loci.map((locus) => lacks(locus) ? Infinity : distance(locus, z));
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
  // What contributions of a model are relative to: the median of its training rows, if it is known.
  function placeOf(i) {
    if (data.references !== null) return data.references[i];
    return i < n ? data.regions[i].center : model.typical;
  }
  // And what each feature adds to the score of the answer; of several classes, to each score.
  function evaluate(values) {
    const now = locate(values), { x, z, models, applicable, scores, totals, best } = now;
    const mean = (term) => sum(models, term) / models.length;
    const places = Object.fromEntries(models.map((i) => [i, placeOf(i)]));
    const middle = Object.fromEntries(models.map((i) => [i, standardize(places[i])]));
    const explain = (k) => {
      const contributions = Object.create(null);
      const base = mean((i) => scoreOf(i, k, places[i], middle[i]));
      model.groups.forEach(({ name, start, levels, incomplete }) => {
        const width = levels === null ? 1 + Number(incomplete) : levels.length - 1;
        const columns = z.slice(start, start + width);
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
  // A change of as few numbers as possible, and of these the nearest, within the locality and the
  // ranges of the form, by which the same local model gives another answer; categories and what is
  // held stay as they are. See counterfactual in Python. An answer is a list of borders,
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
    const none = { found: false, reason: `no case${n ? ` in ${names[i]}` : ""} within the ranges of`
      + " the form has that answer, with everything else as it is" };
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
    const { f, goal } = tried[best];
    return { after: after(tried[best]), goal, part: [f], smallest: best === 0 };
  }

  // Of several numbers: for a price t of the score, each column by itself takes the value that
  // maximizes t * (what it adds) - (squared change), exactly, since it is straight between knots;
  // the smallest t that reaches the border is found by halving. Then changes are taken back, the
  // largest first, as far as the answer allows. A heuristic where curves bend the wrong way.
  function columnPlan(f, { x, z }, { i, borders: [{ coef, sign, scores: [k, m] }] }) {
    const j = f.start, from = x[j], [low, high] = reachOf(i, z, f, from);
    const own = curves.filter(({ column }) => column === j);
    const adds = (value) => sign * (coef[j] * (value - model.origin[j]) * model.factor[j]
      + sum(own, ({ knots, values }) => interpolate(knots, values[i][k], value)
        - (m === undefined ? 0 : interpolate(knots, values[i][m], value))));
    const knots = own.flatMap((one) => one.knots).filter((knot) => knot > low && knot < high);
    const stops = [low, ...knots, high].sort((a, b) => a - b), start = adds(from);
    const cost = (value) => ((value - from) * model.factor[j]) ** 2;
    const whole = (value) => f.whole
      ? [Math.floor(value), Math.ceil(value)].filter((one) => one >= low && one <= high) : [value];
    const best = (price) => {
      let top = { to: from, gain: 0, worth: 0 };
      stops.slice(1).forEach((b, s) => {
        const a = stops[s], slope = b > a ? (adds(b) - adds(a)) / (b - a) : 0;
        const to = clip(from + price * slope / (2 * model.factor[j] ** 2), a, b);
        whole(to).forEach((value) => {
          const gain = adds(value) - start, worth = price * gain - cost(value);
          if (worth > top.worth) top = { to: value, gain, worth };
        });
      });
      return top;
    };
    return { f, from, cost, best };
  }
  function changeSeveral(values, now, moving, goal) {
    if (goal.borders.length > 1) return null;
    const here = beyond(goal, now), margin = (hasLabels ? 1e-7 : 1e-12) * (1 + Math.abs(here));
    const need = margin - here; // of labels, a little beyond the border
    const fits = (after) => {
      const then = locate(after);
      return goal.met(then) && beyond(goal, then) >= (hasLabels ? margin / 2 : -1e-9);
    };
    const plans = moving.map((f) => columnPlan(f, now, goal));
    const at = (price) => plans.map((plan) => plan.best(price));
    const gain = (price) => sum(at(price), (one) => one.gain);
    let low = 0, high = 1;
    for (let step = 0; step < 60 && gain(high) < need; step++) high *= 2;
    if (gain(high) < need) return null;
    for (let step = 0; step < 80; step++) {
      const middle = (low + high) / 2;
      if (gain(middle) < need) low = middle; else high = middle;
    }
    const after = { ...values };
    at(high).forEach(({ to }, c) => { if (to !== plans[c].from) after[moving[c].name] = to; });
    if (!fits(after)) return null;
    [...plans].sort((a, b) => b.cost(after[b.f.name]) - a.cost(after[a.f.name]))
      .forEach(({ f, from }) => takeBack(after, f, from, fits));
    const changed = plans.filter(({ f, from }) => Number(after[f.name]) !== from).length;
    return { after, goal, part: moving, cost: costOf(values, after, moving), changed };
  }
  // By how much a case is beyond the one border of a goal.
  function beyond({ i, borders: [{ coef, offset, sign, level, scores: [k, m] }] }, { x, z }) {
    const bends = (one) => bend(one, i, k, x) - (m === undefined ? 0 : bend(one, i, m, x));
    return sign * (dot(coef, z) + offset + sum(curves, bends) - level);
  }
  function takeBack(after, f, from, fits) {
    const works = (value) => fits({ ...after, [f.name]: value });
    let near = from, far = Number(after[f.name]);
    if (works(near)) far = near;
    for (let step = 0; step < 50 && far !== near; step++) {
      const middle = f.whole ? Math.trunc((near + far) / 2) : (near + far) / 2;
      if (middle === near || middle === far) break;
      if (works(middle)) far = middle; else near = middle;
    }
    after[f.name] = far;
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

  // -- few numbers, and round ones

  // All choices of so many of a list.
  function choose(list, count) {
    if (count === 0) return [[]];
    return list.flatMap((one, k) =>
      choose(list.slice(k + 1), count - 1).map((rest) => [one, ...rest]));
  }
  // A squared distance that no case that differs in these numbers, and has the answer, is nearer
  // than.
  function leastCost({ z }, part, { borders }) {
    return Math.max(...borders.map(({ coef, offset, sign, level }) => {
      const missing = sign * (level - offset - dot(coef, z));
      if (missing <= 0) return 0;
      return missing ** 2 / sum(part, (f) => coef[f.start] ** 2); // infinite without a slope
    }));
  }
  const MOST_CHOICES = 3000;
  // The nearest case that differs in so many numbers; `open` is what others may cost that were not
  // found. null where there are too many to try.
  function ofFew(values, now, moving, goals, count) {
    let choices = 1;
    for (let k = 0; k < count; k++) choices *= (moving.length - k) / (k + 1);
    if (choices * goals.length > MOST_CHOICES) return null;
    const parts = choose(moving, count);
    const tried = goals.flatMap((goal) =>
      parts.map((part) => ({ goal, part, bound: leastCost(now, part, goal) })))
      .filter(({ bound }) => bound < Infinity).sort((a, b) => a.bound - b.bound);
    let best = null, least = Infinity, open = Infinity;
    for (const { goal, part, bound } of tried) {
      if (bound >= least) break;
      const one = solve(values, part, goal);
      if (one.cost === undefined) continue; // there is none
      const whole = part.some((f) => f.whole);
      if (!one.found || (whole && (count > 1 || goal.borders.length > 1)))
        open = Math.min(open, one.cost);
      if (!one.found || one.cost >= least) continue;
      const after = whole ? nearestInWholes(values, one.after, part, goal) : one.after;
      const cost = after ? costOf(values, after, part) : Infinity;
      if (cost < least) [best, least] = [{ after, goal, part }, cost];
    }
    return { best, open, smallest: least <= open };
  }

  // Numbers of so many digits next to one, the nearest first.
  function roundings(value, digits) {
    const near = Number(value.toPrecision(digits));
    if (near === value || value === 0) return [near];
    const step = 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
    return [near, Number((near + (near > value ? -step : step)).toPrecision(digits))];
  }
  // Numbers that change with six digits, or as many as it takes for the answer to stay.
  const MOST_ROUNDED = 6;
  function tidy(values, after, part, goal) {
    const from = (f) => Number(values[f.name]), to = (f) => Number(after[f.name]);
    const moved = part.filter((f) => !f.whole && to(f) !== from(f));
    const inRange = (f, value) =>
      value >= Math.min(f.low, from(f)) && value <= Math.max(f.high, from(f));
    for (let digits = 6; moved.length && digits < 17; digits++) {
      let choices = [{ ...after, away: 0 }];
      moved.forEach((f) => {
        const all = roundings(to(f), digits).filter((value) => inRange(f, value));
        const some = moved.length > MOST_ROUNDED ? all.slice(0, 1) : all;
        choices = choices.flatMap((one) => some.map((value) => ({ ...one, [f.name]: value,
          away: one.away + Math.abs(value - to(f)) / Math.abs(to(f) || 1) })));
      });
      const found = choices.sort((a, b) => a.away - b.away)
        .find((one) => goal.met(locate(one)));
      if (found) { delete found.away; return found; }
    }
    return after;
  }

  // `held` tells of columns that they are "held", or of numbers that they may only go "up" or
  // "down"; a set is of those that are held.
  const wayOf = ({ name }, held) =>
    held instanceof Map ? held.get(name) : held.has(name) ? "held" : undefined;
  const mayChange = (f, values, held) =>
    !f.bound && wayOf(f, held) !== "held" && !isMissing(f, values); // what is missing stays so
  // Numbers that may change, each with the range of the form or the part of it that it may take.
  function movingOf(values, held) {
    const from = (f) => Number(values[f.name]);
    const limit = (f) => ({ ...f, ...(wayOf(f, held) === "up" ? { low: from(f) } : {}),
      ...(wayOf(f, held) === "down" ? { high: from(f) } : {}) });
    return features.filter((f) => f.levels === null && model.factor[f.start] > 0
      && mayChange(f, values, held)).map(limit);
  }
  const isEuclidean = (i) => i === n || model.loci[i].norm === "euclidean";
  // Why nothing is searched for, or "".
  function hindranceOf({ used, prediction }, wanted) {
    if (used < 0) return "several localities are used together";
    if (wanted !== null && wanted === prediction) return "the model gives that answer already";
    if (!hasLabels && !Number.isFinite(levelOf(wanted)))
      return `no score gives the answer ${wanted}`;
    return "";
  }

  // Changes of one column, or, where `pairs`, of a category and another column: every other level
  // of a category, and of a number the nearest value that gives the answer while the same model
  // decides. The nearest first, in standard units; null where there are too many pairs to try.
  const MOST_PAIRS = 2000;
  function smallChanges(values, held, wanted, pairs) {
    const now = locate(values);
    if (hindranceOf(now, wanted)) return [];
    const goals = goalsOf(now, wanted), numbers = isEuclidean(now.used) ? movingOf(values, held) : [];
    const levels = features.filter((f) => f.levels !== null && mayChange(f, values, held))
      .flatMap((f) => f.levels.filter((level) => level !== null && level !== values[f.name])
        .map((level) => ({ f, level })));
    const nearestOf = (from, f) => {
      const then = locate(from);
      if (then.used !== now.used) return null;
      const one = curves.length ? changeOne(from, then, [f], goals)
        : ofFew(from, then, [f], goals, 1)?.best;
      return one ? tidy(from, one.after, [f], one.goal) : null;
    };
    const found = [];
    const add = (after) => {
      const then = after === null ? null : locate(after);
      if (then === null || !goals.some((goal) => goal.met(then))) return;
      const names = features.filter(({ name }) => String(after[name]) !== String(values[name]))
        .map(({ name }) => name);
      found.push({ after, names, prediction: then.prediction,
        cost: sum(then.z, (value, j) => (value - now.z[j]) ** 2) });
    };
    const swap = (from, { f, level }) => ({ ...from, [f.name]: level });
    if (!pairs) {
      levels.forEach((one) => add(swap(values, one)));
      numbers.forEach((f) => add(nearestOf(values, f)));
    } else {
      if (levels.length * (levels.length / 2 + numbers.length) > MOST_PAIRS) return null;
      levels.forEach((one, k) => {
        const from = swap(values, one);
        levels.slice(k + 1).filter((two) => two.f !== one.f).forEach((two) => add(swap(from, two)));
        numbers.forEach((f) => add(nearestOf(from, f)));
      });
    }
    return found.sort((a, b) => a.cost - b.cost);
  }

  // The nearest change of numbers. `most` is how many of them should change, null for any number.
  function counterfactual(values, held, wanted, most = 3) {
    const now = locate(values), i = now.used;
    const fail = (reason) => ({ found: false, reason });
    const hindrance = hindranceOf(now, wanted);
    if (hindrance) return fail(hindrance);
    if (!isEuclidean(i)) return fail("it is only searched for in Euclidean localities");
    const moving = movingOf(values, held), goals = goalsOf(now, wanted);
    const give = ({ after, goal, part }, more) => {
      const round = tidy(values, after, part, goal), { prediction } = locate(round);
      return { found: true, after: round, prediction, moving: moving.map((f) => f.name), ...more };
    };
    if (!moving.length) return fail("no number may change");
    if (curves.length) {
      const one = changeOne(values, now, moving, goals);
      if (one !== null) return give(one, { smallest: one.smallest, count: 1 });
      const several = goals.map((goal) => changeSeveral(values, now, moving, goal))
        .filter(Boolean).sort((a, b) => a.cost - b.cost)[0];
      if (several === undefined)
        return fail(`none was found in ${n ? names[i] : "the ranges of the form"}; for models with`
          + " curves the search of several numbers is not complete");
      return give(several, { smallest: false, count: several.changed });
    }
    let sure = true;
    for (let count = 1; most !== null && count <= Math.min(most, moving.length); count++) {
      const few = ofFew(values, now, moving, goals, count);
      if (few === null) break;
      if (few.best) return give(few.best, { smallest: sure && few.smallest, count });
      sure = sure && few.open === Infinity;
    }
    const tried = goals.map((goal) => ({ goal, ...solve(values, moving, goal) }))
      .sort((a, b) => (a.cost ?? Infinity) - (b.cost ?? Infinity) || 0);
    const relaxed = tried.filter((one) => one.found);
    if (!relaxed.length) return fail(tried[0].reason);
    const whole = moving.some((f) => f.whole), smallest = !whole && tried[0].found;
    let best = null, least = Infinity;
    for (const one of relaxed) {
      if (one.cost >= least) break; // whole numbers cost no less
      const found = whole ? nearestInWholes(values, one.after, moving, one.goal) : one.after;
      const cost = found ? costOf(values, found, moving) : Infinity;
      if (cost < least) [best, least] = [{ after: found, goal: one.goal, part: moving }, cost];
    }
    if (!best) return fail("none was found in whole numbers");
    return give(best, { smallest, count: null });
  }

  return { data, features, names, hasLabels, several, answer, evaluate, counterfactual, smallChanges,
    placeOf, MISSING, isMissing };
})();
