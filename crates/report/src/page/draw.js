// Draws the plots in the element `plots`, whose form `plot.rs` describes. uPlot draws axes and scales. This script draws
// the curves, the legend and the text at the pointer.
window.charts = (function () {
  "use strict";
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const DASHES = { solid: [], dash: [8, 4], dot: [2, 3], dashdot: [8, 4, 2, 4], longdash: [14, 4] };
  const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const FAINT = 0.12;
  // If the period of a fault is shorter than this, in pixels, its bands would look solid and are drawn as one lighter band.
  const NARROW = 3;
  let picked = null;

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  }

  const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 4 });
  const rounded = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

  // The unit: the text in brackets at the end of an axis title.
  function unit(title) {
    const found = /\(([^()]*)\)$/.exec(title || "");
    return found && found[1].length < 12 ? " " + found[1] : "";
  }

  function extent(values) {
    let least = Infinity, most = -Infinity;
    for (const value of values) {
      if (value === null || !Number.isFinite(value)) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    return [least, most];
  }

  // The lowest and the highest value of an axis.
  function ends(axis, values) {
    if (axis.range) return axis.range.slice();
    const usable = axis.log ? values.filter(function (value) { return value > 0; }) : values;
    let [least, most] = extent(usable);
    if (least > most) return axis.log ? [1, 10] : [0, 1];
    if (axis.log) return [least / 1.15, most * 1.15];
    if (axis.zero) least = Math.min(0, least);
    if (least === most) return axis.zero && most > 0 ? [0, most * 1.05] : [least - 1, most + 1];
    const room = (most - least) * 0.04;
    return [axis.zero && least === 0 ? 0 : least - room, most + room];
  }

  // Round numbers for a logarithmic axis. uPlot would count from the end of the axis, which is seldom a round number.
  function decades(u, axis, least, most) {
    const splits = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power += 1) {
      for (let digit = 1; digit < 10; digit += 1) {
        const split = Number(digit + "e" + power);
        if (split >= least && split <= most) splits.push(split);
      }
    }
    return splits;
  }

  // The splits that have room for a label on a horizontal axis. uPlot only checks the room on a vertical axis.
  function named125(u, splits) {
    const decade = Math.abs(u.valToPos(10, "x") - u.valToPos(1, "x"));
    const digits = decade > 500 ? [1, 2, 3, 5, 7] : decade > 170 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(50 / decade));
    return splits.map(function (split) {
      const power = Math.floor(Math.log10(split) + 1e-9);
      return digits.includes(Math.round(split / 10 ** power)) && power % every === 0 ? split : null;
    });
  }

  function colours() {
    return dark.matches
      ? { ink: "#c3ccd8", grid: "#2c3542", band: "rgba(248, 113, 113, .20)", fault: "#f87171" }
      : { ink: "#48525f", grid: "#e8ebef", band: "rgba(180, 35, 24, .12)", fault: "#d0453a" };
  }

  function heat(share) {
    const at = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1);
    const low = Math.min(Math.floor(at), HEAT.length - 2);
    const mix = HEAT[low].map(function (part, place) { return Math.round(part + (at - low) * (HEAT[low + 1][place] - part)); });
    return "rgb(" + mix.join(",") + ")";
  }

  function Chart(host, plot) {
    const { data, layout } = plot;
    const isMap = data.length > 0 && data[0].kind === "heat";
    const hidden = new Set();
    const places = placesOf();
    const state = { x: null, ys: [] };
    let panels = [];
    let tools = null;

    // The names along the x axis, in the given order or in the order in which they occur.
    function placesOf() {
      if (Array.isArray(layout.x.categories)) return layout.x.categories;
      const isNamed = layout.x.categories || data.some(function (trace) {
        return (trace.x || []).some(function (value) { return typeof value === "string"; });
      });
      return isNamed ? [...new Set(data.flatMap(function (trace) { return trace.x; }))] : null;
    }

    function xs(trace) {
      return places ? trace.x.map(function (name) { return places.indexOf(name); }) : trace.x;
    }

    function of(panel) {
      return data.filter(function (trace) { return (trace.panel || 0) === panel; });
    }

    function whole() {
      const across = data.flatMap(function (trace) { return isMap ? trace.ends : xs(trace); });
      if (places) state.x = [-0.6, places.length - 0.4];
      else if (isMap) state.x = layout.x.range || extent(across);
      else state.x = ends(layout.x, across);
      if (places === null && layout.x.log && state.x[0] <= 0) state.x = ends({ log: true }, across);
      state.ys = layout.panels.map(function (panel, number) {
        if (isMap) return [0, Math.max(1, ...of(number).map(function (trace) { return trace.rows.length; }))];
        const values = of(number).flatMap(function (trace) { return [].concat(trace.y, trace.low || [], trace.high || []); });
        if (panel.y.log && panel.y.range && panel.y.range[0] <= 0) return ends({ log: true }, values);
        return ends(panel.y, values);
      });
    }

    function legend() {
      // Curves without faults are drawn below the others, and named after them.
      const names = [...new Map(data.map(function (trace) { return [trace.name, trace]; })).values()]
        .sort(function (one, other) { return Boolean(one.baseline) - Boolean(other.baseline); });
      if (isMap) {
        const row = element("div", "legend");
        const top = rounded.format(largest());
        const bar = element("span", "ramp");
        bar.style.background = "linear-gradient(to right, " + HEAT.map(function (rgb) { return "rgb(" + rgb.join(",") + ")"; }).join(", ") + ")";
        row.append(element("span", "", "0"), bar, element("span", "", top), element("span", "", layout.value));
        return row;
      }
      const row = element("div", "legend");
      row.setAttribute("role", "group");
      row.setAttribute("aria-label", "Curves of " + host.dataset.title);
      if (layout.legend) row.append(element("span", "of", layout.legend));
      if (data.length > 0 && (names.length > 1 || layout.panels.length < 2 || layout.legend)) {
        for (const trace of names) row.append(entry(trace));
      }
      return row;
    }

    function entry(trace) {
      const button = element("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.title = "Hide or show " + trace.name;
      const mark = element("span", "mark");
      const style = trace.line.dash === "dot" ? "dotted" : trace.line.dash && trace.line.dash !== "solid" ? "dashed" : "solid";
      if (trace.kind === "named") {
        mark.textContent = { circle: "\u25cf", triangle: "\u25b2", square: "\u25a0" }[trace.shape];
        mark.style.color = trace.line.color;
        mark.style.width = "auto";
      } else mark.style.borderTop = (trace.kind === "bar" || trace.kind === "band" ? "10px " : "3px ") + style + " " + trace.line.color;
      if (trace.kind === "band") mark.style.opacity = 0.35;
      button.append(mark, trace.name);
      button.addEventListener("click", function () {
        if (!hidden.delete(trace.name)) hidden.add(trace.name);
        button.setAttribute("aria-pressed", String(!hidden.has(trace.name)));
        redraw();
      });
      return button;
    }

    function largest() {
      if (layout.top !== undefined) return layout.top;
      return Math.max(0, ...data.flatMap(function (trace) { return trace.cells.map(function (row) { return extent(row)[1]; }); }));
    }

    function redraw() {
      for (const panel of panels) panel.redraw(false);
    }

    function zoomed(is) {
      tools.hidden = !is;
    }

    function rescale() {
      for (const [number, panel] of panels.entries()) {
        panel.batch(function () {
          panel.setScale("x", { min: state.x[0], max: state.x[1] });
          panel.setScale("y", { min: state.ys[number][0], max: state.ys[number][1] });
        });
      }
    }

    function alpha(trace) {
      if (picked === null || trace.scheme === picked || trace.names) return 1;
      return data.some(function (other) { return other.scheme === picked; }) ? FAINT : 1;
    }

    // The opacity of a named point.
    function strength(name) {
      if (picked === null || name === picked) return 1;
      return data.some(function (other) { return other.names.includes(picked); }) ? FAINT : 1;
    }

    // The position of a value on the x axis. On a logarithmic axis, zero is drawn at `foot`.
    function across(value) {
      return value <= 0 && layout.x.foot ? layout.x.foot : value;
    }

    // Bands for the times of faults. They are drawn behind everything else, but above a map, which would hide them.
    function bands(u) {
      const found = layout.bands || [];
      const { left, width } = u.bbox;
      const ratio = devicePixelRatio || 1;
      const height = isMap ? 8 * ratio : u.bbox.height;
      const top = isMap ? u.bbox.top - height : u.bbox.top;
      u.ctx.save();
      u.ctx.fillStyle = isMap ? colours().fault : colours().band;
      const shade = function (from, to, light) {
        const a = Math.max(left, u.valToPos(from, "x", true) || left);
        const b = to === null ? left + width : Math.min(left + width, u.valToPos(to, "x", true));
        if (b < left || a > left + width) return;
        u.ctx.globalAlpha = light ? 0.5 : 1;
        u.ctx.fillRect(a, top, Math.max(b - a, ratio), height);
      };
      for (const band of found) {
        const last = band.to === null ? u.scales.x.max : Math.min(band.to, u.scales.x.max);
        const period = band.every && Math.abs(u.valToPos(band.from + band.every, "x", true) - u.valToPos(band.from, "x", true));
        if (!band.every || period < NARROW * ratio) {
          shade(band.from, band.to, Boolean(band.every));
          continue;
        }
        const skipped = Math.max(0, Math.floor((u.scales.x.min - band.from) / band.every));
        for (let from = band.from + skipped * band.every; from < last; from += band.every) {
          shade(from, Math.min(from + band.lasts, last), false);
        }
      }
      u.ctx.restore();
    }

    function paint(u, number) {
      const { ctx } = u;
      const ratio = devicePixelRatio || 1;
      const x = function (value) { return u.valToPos(value, "x", true); };
      const y = function (value) { return u.valToPos(value, "y", true); };
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      const shown = of(number).filter(function (trace) { return !hidden.has(trace.name); });
      // Highlighted curves are drawn above the others.
      const last = shown.filter(function (trace) { return alpha(trace) === 1; });
      const order = shown.filter(function (trace) { return !last.includes(trace); }).concat(last);
      const bars = shown.filter(function (trace) { return trace.kind === "bar"; });
      const named = shown.filter(function (trace) { return trace.kind === "named"; });
      if (named.length > 0) labelled(u, named, x, y);
      for (const trace of order.filter(function (trace) { return trace.kind !== "named"; })) {
        ctx.globalAlpha = alpha(trace);
        if (trace.kind === "heat") {
          cells(ctx, trace, x, y);
          continue;
        }
        const at = xs(trace);
        ctx.strokeStyle = ctx.fillStyle = trace.line.color;
        ctx.lineWidth = (trace.line.width || 2) * ratio;
        ctx.lineJoin = "round";
        ctx.setLineDash((DASHES[trace.line.dash] || []).map(function (part) { return part * ratio; }));
        if (trace.kind === "bar") {
          const width = 0.8 / bars.length;
          const offset = (bars.indexOf(trace) - bars.length / 2) * width;
          const foot = u.bbox.top + u.bbox.height;
          at.forEach(function (place, n) {
            if (trace.y[n] === null) return;
            const [a, b, top] = [x(place + offset), x(place + offset + width), y(trace.y[n])];
            ctx.fillRect(a, top, Math.max(b - a - ratio, ratio), foot - top);
            whisker(ctx, (a + b) / 2, trace, n, y, ratio);
          });
        } else if (trace.kind === "points") {
          ctx.globalAlpha *= 0.6;
          const size = (trace.size || 4) * ratio;
          at.forEach(function (value, n) { ctx.fillRect(x(value) - size / 2, y(trace.y[n]) - size / 2, size, size); });
        } else if (trace.kind === "band") {
          ctx.globalAlpha *= 0.3;
          ctx.beginPath();
          at.forEach(function (value, n) { ctx.lineTo(x(value), y(trace.high[n])); });
          for (let n = at.length - 1; n >= 0; n -= 1) ctx.lineTo(x(at[n]), y(trace.low[n]));
          ctx.fill();
        } else {
          stroke(ctx, trace, at, x, y);
          if (trace.kind === "both") {
            ctx.setLineDash([]);
            at.forEach(function (value, n) {
              if (trace.y[n] === null) return;
              ctx.beginPath();
              ctx.arc(x(value), y(trace.y[n]), 3.5 * ratio, 0, 2 * Math.PI);
              ctx.fill();
              whisker(ctx, x(value), trace, n, y, ratio);
            });
          }
        }
      }
      ctx.restore();
    }

    // Points with their names. A label is drawn only if it covers no point and no other label.
    function labelled(u, traces, x, y) {
      const { ctx, bbox } = u;
      const ratio = devicePixelRatio || 1;
      const size = 4 * ratio;
      const points = traces.flatMap(function (trace) {
        return trace.names.map(function (name, n) {
          return { trace: trace, n: n, name: name, first: trace.first[n], left: x(across(trace.x[n])), top: y(trace.y[n]) };
        });
      });
      for (const { trace, n, name, left, top } of points) {
        const strong = strength(name);
        ctx.strokeStyle = ctx.fillStyle = trace.line.color;
        ctx.globalAlpha = 0.35 * strong;
        whisker(ctx, left, trace, n, y, ratio);
        ctx.globalAlpha = strong;
        mark(ctx, trace.shape, left, top, size);
      }
      const taken = points.map(function (point) { return [point.left - size, point.top - size, point.left + size, point.top + size]; });
      const free = function (box) {
        return box[0] >= bbox.left && box[2] <= bbox.left + bbox.width && box[1] >= bbox.top && box[3] <= bbox.top + bbox.height
          && taken.every(function (other) { return box[2] <= other[0] || box[0] >= other[2] || box[3] <= other[1] || box[1] >= other[3]; });
      };
      ctx.font = 11 * ratio + "px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      ctx.fillStyle = colours().ink;
      points.sort(function (one, other) { return (other.name === picked) - (one.name === picked) || one.first - other.first; });
      for (const { name, left, top } of points) {
        const [wide, high, gap] = [ctx.measureText(name).width, 6.5 * ratio, size + 2 * ratio];
        const places = [[gap, 0], [-gap - wide, 0], [-wide / 2, -gap - high], [-wide / 2, gap + high], [gap, -gap - high / 2],
          [gap, gap + high / 2], [-gap - wide, -gap - high / 2], [-gap - wide, gap + high / 2]];
        const boxes = places.map(function (place) {
          return [left + place[0], top + place[1] - high, left + place[0] + wide, top + place[1] + high];
        });
        const box = boxes.find(free);
        if (!box) continue;
        taken.push(box);
        ctx.globalAlpha = strength(name);
        ctx.fillText(name, box[0], box[1] + high);
      }
    }

    function mark(ctx, shape, left, top, size) {
      ctx.beginPath();
      if (shape === "square") ctx.rect(left - size, top - size, 2 * size, 2 * size);
      else if (shape === "triangle") {
        ctx.moveTo(left, top - 1.2 * size); ctx.lineTo(left + 1.2 * size, top + size); ctx.lineTo(left - 1.2 * size, top + size);
      } else ctx.arc(left, top, size, 0, 2 * Math.PI);
      ctx.fill();
    }

    function stroke(ctx, trace, at, x, y) {
      const foot = y(state.ys[trace.panel || 0][0]);
      let last = null;
      ctx.beginPath();
      at.forEach(function (value, n) {
        if (trace.y[n] === null) { last = null; return; }
        let [a, b] = [x(value), y(trace.y[n])];
        // A value that has no position on a logarithmic axis is drawn at `foot`.
        if (!Number.isFinite(b)) b = foot;
        if (!Number.isFinite(a)) return;
        if (last === null) ctx.moveTo(a, b);
        else if (trace.kind === "hv") { ctx.lineTo(a, last[1]); ctx.lineTo(a, b); }
        else if (trace.kind === "vh") { ctx.lineTo(last[0], b); ctx.lineTo(a, b); }
        else ctx.lineTo(a, b);
        last = [a, b];
      });
      ctx.stroke();
    }

    function whisker(ctx, at, trace, n, y, ratio) {
      if (!trace.low || trace.low[n] === trace.high[n]) return;
      const [low, high, half] = [y(trace.low[n]), y(trace.high[n]), 4 * ratio];
      ctx.save();
      if (trace.kind === "bar") ctx.strokeStyle = colours().ink;
      ctx.lineWidth = 1.2 * ratio;
      ctx.setLineDash([]);
      ctx.beginPath();
      ctx.moveTo(at, low); ctx.lineTo(at, high);
      ctx.moveTo(at - half, low); ctx.lineTo(at + half, low);
      ctx.moveTo(at - half, high); ctx.lineTo(at + half, high);
      ctx.stroke();
      ctx.restore();
    }

    function cells(ctx, trace, x, y) {
      const top = largest();
      const count = trace.cells[0].length;
      const step = (trace.ends[1] - trace.ends[0]) / count;
      trace.cells.forEach(function (row, number) {
        // The first row is at the top.
        const place = trace.rows.length - number;
        const [above, below] = [y(place), y(place - 1)];
        row.forEach(function (value, n) {
          if (value === null) return;
          ctx.fillStyle = heat(top > 0 ? value / top : 0);
          const a = x(trace.ends[0] + n * step);
          ctx.fillRect(a, above, x(trace.ends[0] + (n + 1) * step) - a + 0.5, below - above + 0.5);
        });
      });
    }

    // The text of the point that is nearest to the pointer, or null if no point is near.
    function under(u, number, left, top) {
      const near = { distance: 24 * 24, text: null, x: 0, y: 0 };
      const [ofX, ofY] = [unit(layout.x.title), unit(layout.panels[number].y.title)];
      for (const trace of of(number)) {
        if (hidden.has(trace.name)) continue;
        if (trace.kind === "heat") {
          const count = trace.cells[0].length;
          const n = Math.floor((u.posToVal(left, "x") - trace.ends[0]) / (trace.ends[1] - trace.ends[0]) * count);
          const row = trace.rows.length - 1 - Math.floor(u.posToVal(top, "y"));
          const value = trace.cells[row] && trace.cells[row][n];
          if (value === undefined || value === null) continue;
          const end = trace.ends[0] + (n + 1) * (trace.ends[1] - trace.ends[0]) / count;
          near.text = trace.rows[row] + ": " + rounded.format(value) + unit(layout.value) + " until " + rounded.format(end) + ofX;
          near.x = left; near.y = top;
          continue;
        }
        const heights = trace.kind === "band" ? trace.high : trace.y;
        xs(trace).forEach(function (value, n) {
          if (heights[n] === null) return;
          const [a, b] = [u.valToPos(across(value), "x"), u.valToPos(heights[n], "y")];
          const isBar = trace.kind === "bar" && Math.abs(a - left) < u.bbox.width / (devicePixelRatio || 1) / places.length / 2 && top >= b;
          const distance = isBar ? Math.abs(a - left) : (a - left) ** 2 + (b - top) ** 2;
          if (!(distance < near.distance)) return;
          const at = places ? places[value] : rounded.format(value) + ofX;
          const spread = trace.low ? " (" + rounded.format(trace.low[n]) + " to " + rounded.format(trace.high[n]) + ")" : "";
          Object.assign(near, { distance: distance, x: a, y: Math.max(b, 0), text: (trace.names ? trace.names[n] + ", " + trace.name : trace.name) + ": " + rounded.format(heights[n]) + ofY + spread + " at " + at });
        });
      }
      return near.text === null ? null : near;
    }

    function panel(number) {
      const spec = layout.panels[number];
      const ink = colours();
      const box = element("div", "panel");
      if (spec.name) box.append(element("p", "name", spec.name));
      const canvas = element("div");
      canvas.setAttribute("role", "img");
      const shown = of(number).map(function (trace) { return trace.name; });
      const points = of(number).reduce(function (sum, trace) { return sum + (trace.names || []).length; }, 0);
      canvas.setAttribute("aria-label", host.dataset.title + (spec.name ? ", " + spec.name : "") + ": "
        + (isMap ? layout.value + " by place" : spec.y.title) + " against " + layout.x.title + ", "
        + (points > 0 ? points + " schemes" : shown.length === 1 ? "1 curve" : shown.length + " curves") + ". The numbers are below.");
      box.append(canvas);
      host.append(box);
      const tip = element("div", "tip");
      tip.hidden = true;
      const width = Math.max(host.clientWidth, 240);
      const rows = isMap ? of(number)[0].rows : null;
      // Not every split of a logarithmic axis has a label.
      const named = function (axis, format) {
        return function (u, splits) {
          return splits.map(function (split) {
            if (split === null) return "";
            if (axis.foot && Math.abs(split / axis.foot - 1) < 1e-6) return "0";
            const digits = axis.log ? split / 10 ** Math.floor(Math.log10(split) + 1e-9) : 1;
            return Math.abs(digits - Math.round(digits)) < 1e-6 ? format.format(split) : "";
          });
        };
      };
      const turned = places && places.join("").length * 7.5 + places.length * 16 > width - 80;
      const x = {
        stroke: ink.ink, grid: { stroke: ink.grid, width: 1, show: !places }, ticks: { stroke: ink.grid, width: 1 },
        label: layout.x.title + (layout.x.log ? ", log scale" : ""), labelSize: 22, font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif", values: named(layout.x, layout.x.si ? short : plain), space: 60, size: 34,
      };
      if (layout.x.log && !places) Object.assign(x, { splits: decades, filter: named125 });
      if (places) {
        x.splits = function () { return places.map(function (_, place) { return place; }); };
        x.values = function () { return places.map(String); };
        x.grid = { show: false };
        if (turned) {
          const longest = Math.max(...places.map(function (name) { return String(name).length; }));
          Object.assign(x, { rotate: -40, size: Math.min(30 + longest * 4.6, 130) });
        }
      }
      const y = {
        stroke: ink.ink, grid: { stroke: ink.grid, width: 1 }, ticks: { stroke: ink.grid, width: 1 },
        label: isMap ? "" : spec.y.title + (spec.y.log ? ", log scale" : ""), labelSize: isMap ? 0 : 22,
        font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
        values: named(spec.y, plain),
        size: function (u, values) {
          const longest = Math.max(0, ...(values || []).map(function (value) { return value.length; }));
          return Math.min(20 + longest * 7.6, width * 0.35);
        },
      };
      if (spec.y.log) y.splits = decades;
      if (isMap) {
        const every = Math.max(1, Math.ceil(rows.length / 10));
        const told = rows.map(function (_, row) { return row; }).filter(function (row) { return row % every === 0; });
        y.splits = function () { return told.map(function (row) { return rows.length - row - 0.5; }); };
        y.values = function () { return told.map(function (row) { return rows[row].split(" to ")[0]; }); };
        y.grid = { show: false };
      }
      const isSmall = layout.panels.length > 1 || host.closest(".multiples");
      const height = isMap ? Math.min(Math.max(90 + rows.length * 6, 210), 420) : isSmall ? 230 : 360;
      const opts = {
        width: width, height: height + (turned ? 60 : 0),
        legend: { show: false },
        cursor: {
          x: false, y: false, points: { show: false }, drag: { x: true, y: true, uni: 24, setScale: false },
          bind: { dblclick: function () { return function () { whole(); rescale(); zoomed(false); return null; }; } },
        },
        select: { show: true },
        scales: {
          x: { time: false, distr: layout.x.log && !places ? 3 : 1, range: function () { return state.x; } },
          y: { distr: spec.y.log ? 3 : 1, range: function () { return state.ys[number]; } },
        },
        axes: [x, y],
        series: [{}, { paths: function () { return null; }, points: { show: false } }],
        hooks: {
          drawAxes: [bands],
          draw: [function (u) { paint(u, number); }],
          setSelect: [function (u) {
            const { left, top, width: across, height: down } = u.select;
            if (across < 4 && down < 4) return;
            const full = { x: u.bbox.width, y: u.bbox.height };
            const ratio = devicePixelRatio || 1;
            if (across * ratio < full.x - 1) state.x = [u.posToVal(left, "x"), u.posToVal(left + across, "x")];
            if (down * ratio < full.y - 1) state.ys[number] = [u.posToVal(top + down, "y"), u.posToVal(top, "y")];
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            rescale();
            zoomed(true);
          }],
          setCursor: [function (u) {
            const { left, top } = u.cursor;
            const found = left < 0 ? null : under(u, number, left, top);
            tip.hidden = found === null;
            if (found === null) return;
            tip.textContent = found.text;
            const room = u.over.clientWidth - tip.offsetWidth;
            tip.style.left = Math.max(0, Math.min(found.x + 10, room)) + "px";
            tip.style.top = Math.max(0, found.y - 30) + "px";
          }],
        },
      };
      const made = new uPlot(opts, [state.x, state.ys[number]], canvas);
      made.over.append(tip);
      return made;
    }

    function picture() {
      const canvases = panels.map(function (panel) { return panel.ctx.canvas; });
      const all = element("canvas");
      all.width = Math.max(...canvases.map(function (canvas) { return canvas.width; }));
      all.height = canvases.reduce(function (sum, canvas) { return sum + canvas.height; }, 0);
      const ctx = all.getContext("2d");
      ctx.fillStyle = dark.matches ? "#1a2029" : "#ffffff";
      ctx.fillRect(0, 0, all.width, all.height);
      let top = 0;
      for (const canvas of canvases) { ctx.drawImage(canvas, 0, top); top += canvas.height; }
      all.toBlob(function (blob) {
        const link = element("a");
        link.href = URL.createObjectURL(blob);
        link.download = host.dataset.title.replace(/[^\w]+/g, "-").toLowerCase() + ".png";
        link.click();
        URL.revokeObjectURL(link.href);
      });
    }

    this.draw = function () {
      panels.forEach(function (panel) { panel.destroy(); });
      host.replaceChildren();
      if (data.length === 0) return;
      if (state.x === null) whole();
      const row = legend();
      const buttons = element("span", "tools");
      tools = element("button", "", "Show all of it");
      tools.type = "button";
      tools.hidden = true;
      tools.addEventListener("click", function () { whole(); rescale(); zoomed(false); });
      const save = element("button", "", "Save as PNG");
      save.type = "button";
      save.addEventListener("click", picture);
      buttons.append(tools, save);
      row.append(buttons);
      host.append(row);
      hidden.clear();
      panels = layout.panels.map(function (_, number) { return panel(number); });
      if ((layout.bands || []).length > 0) {
        const names = layout.bands.map(function (band) { return band.name; });
        host.append(element("p", "note", (isMap ? "Marked at the top: " : "Shaded: ") + [...new Set(names)].join("; ") + "."));
      }
    };
    this.redraw = redraw;
    this.resize = function () {
      const width = Math.max(host.clientWidth, 240);
      for (const panel of panels) if (panel.width !== width) panel.setSize({ width: width, height: panel.height });
    };
    this.panels = function () { return panels; };
    this.layout = layout;
  }

  const charts = plots.map(function (plot, number) { return new Chart(document.getElementById("plot-" + number), plot); });
  function draw() { charts.forEach(function (chart) { chart.draw(); }); }
  draw();
  dark.addEventListener("change", draw);
  window.addEventListener("resize", function () { charts.forEach(function (chart) { chart.resize(); }); });
  return {
    all: charts,
    // Highlights a scheme in all plots. With null, all schemes are drawn alike.
    highlight: function (scheme) {
      picked = scheme;
      charts.forEach(function (chart) { chart.redraw(); });
    },
  };
})();
