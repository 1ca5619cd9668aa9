"use strict";
(() => {
  const data = JSON.parse(document.getElementById("casid-data").textContent);
  const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;
  const make = (name, attributes = {}, parent = null, text = "") => {
    const svg = ["svg", "g", "ellipse", "line", "circle", "text", "path"].includes(name);
    const node = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };
  const tip = make("div", { class: "tip", hidden: "", role: "status" }, document.body);
  const say = (event, text) => {
    tip.textContent = text;
    tip.hidden = !text;
    if (text && event) {
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
    }
  };
  const resets = []; // of every robot and curve, by Escape
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { say(null, ""); resets.forEach((reset) => reset()); }
  });
  const short = (x) => Number(x.toPrecision(4)).toString();

  // -------------------------------------------------------------------- light and dark
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraws = [];
  const theme = (name) => {
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    redraws.forEach((draw) => draw());
  };
  button.addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));

  // -------------------------------------------------------------------- tables
  const number = (text) => {
    const found = /^[−-]?\d/.test(text) ? parseFloat(text.replace("−", "-")) : NaN;
    return found;
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("thead th")], body = table.tBodies[0];
    if (!body) continue;
    heads.forEach((head, column) => {
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      const sort = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column].textContent.trim();
        const rows = [...body.rows].sort((a, b) => {
          const x = number(key(a)), y = number(key(b));
          if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1; // what is no number stays below
          return (up ? 1 : -1) * (isNaN(x) ? key(a).localeCompare(key(b)) : x - y);
        });
        body.append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    });
  }

  // -------------------------------------------------------------------- matrices, 4 x 4 by rows
  const times = (a, b) => {
    const c = new Array(16).fill(0);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * i + j] += a[4 * i + k] * b[4 * k + j];
    return c;
  };
  const moved = (joint, q) => {
    const [x, y, z] = joint.axis;
    if (joint.type === "prismatic") return [1, 0, 0, q * x, 0, 1, 0, q * y, 0, 0, 1, q * z, 0, 0, 0, 1];
    const c = Math.cos(q), s = Math.sin(q), d = 1 - c;
    return [
      c + d * x * x, d * x * y - s * z, d * x * z + s * y, 0, d * x * y + s * z, c + d * y * y, d * y * z - s * x, 0,
      d * x * z - s * y, d * y * z + s * x, c + d * z * z, 0, 0, 0, 0, 1,
    ];
  };
  const point = (T, p) => [0, 1, 2].map((i) => T[4 * i] * p[0] + T[4 * i + 1] * p[1] + T[4 * i + 2] * p[2] + T[4 * i + 3]);
  const turn = (T, p) => [0, 1, 2].map((i) => T[4 * i] * p[0] + T[4 * i + 1] * p[1] + T[4 * i + 2] * p[2]);
  const origin = (T) => [T[3], T[7], T[11]];
  const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

  function placements(scene, q) {
    const positions = scene.coupling
      ? scene.coupling.map((row, k) => row.reduce((sum, g, j) => sum + g * q[j], scene.offset[k]))
      : q;
    const links = [], joints = [];
    scene.joints.forEach((joint, k) => {
      const at = times(joint.parent < 0 ? IDENTITY : links[joint.parent], joint.placement);
      joints.push(at);
      links.push(times(times(at, moved(joint, positions[k])), joint.link));
    });
    return { joints, links };
  }

  // -------------------------------------------------------------------- the robot
  function robot(box, scene) {
    const svg = make("svg", { role: "img", tabindex: 0,
      "aria-label": `${scene.name}: links as ellipsoids of uniform density; arrows turn, + and - zoom, Escape resets` }, box);
    const side = make("div", { class: "side" }, box);
    const state = { q: scene.posture.slice(), azimuth: -1.1, elevation: 0.3, zoom: 1, set: scene.sets.length - 1,
      hidden: new Set(), outline: false, shapes: true, fit: true };
    const colour = (k) => scene.colours[k];
    const size = { w: 920, h: 800 };
    svg.setAttribute("viewBox", `0 0 ${size.w} ${size.h}`);

    const group = (legend) => {
      const field = make("fieldset", {}, side);
      make("legend", {}, field, legend);
      return field;
    };
    if (scene.sets.length > 1) {
      const field = group("Bodies");
      scene.sets.forEach((set, i) => {
        const label = make("label", {}, field);
        const input = make("input", { type: "radio", name: `set-${box.id}`, value: i }, label);
        input.checked = i === state.set;
        label.append(set.label);
        input.addEventListener("change", () => { state.set = i; state.fit = true; legend(); draw(); });
      });
      const label = make("label", {}, field);
      const input = make("input", { type: "checkbox" }, label);
      label.append("outline the others");
      input.addEventListener("change", () => { state.outline = input.checked; draw(); });
    }
    const shapes = (scene.shapes || []).map((shape) => {
      const at = shape.at.map((row) => row.map((x) => x * shape.unit));
      const middle = [0, 1, 2].map((i) => (Math.min(...at.map((p) => p[i])) + Math.max(...at.map((p) => p[i]))) / 2);
      const reach = Math.max(...at.map((p) => Math.hypot(p[0] - middle[0], p[1] - middle[1], p[2] - middle[2])));
      const normals = shape.faces.map(([a, b, c]) => {
        const [u, v] = [b, c].map((k) => [0, 1, 2].map((i) => at[k][i] - at[a][i]));
        const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], size = Math.hypot(...n) || 1;
        return n.map((x) => x / size);
      });
      return { joint: shape.joint, faces: shape.faces, at, normals, middle, reach };
    });
    if (shapes.length) {
      const label = make("label", {}, group("Shapes"));
      const input = make("input", { type: "checkbox" }, label);
      input.checked = true;
      label.append("shapes of the robot file");
      input.addEventListener("change", () => { state.shapes = input.checked; state.fit = true; draw(); });
    }
    const masses = [];
    if (scene.sets.length) {
      const field = group("Links");
      scene.links.forEach((name, k) => {
        const label = make("label", {}, field);
        const input = make("input", { type: "checkbox" }, label);
        input.checked = true;
        make("span", { class: "swatch", style: `background:${colour(k)}` }, label);
        label.append(name);
        masses.push(make("span", { class: "value" }, label));
        input.addEventListener("change", () => {
          if (input.checked) state.hidden.delete(k); else state.hidden.add(k);
          state.fit = true;
          draw();
        });
      });
    }
    const legend = () => masses.forEach((span, k) => {
      const body = scene.sets[state.set].bodies[k];
      span.textContent = body ? `${short(body.mass)} kg` : "";
      span.classList.toggle("unphysical", Boolean(body && body.complaint));
    });
    if (masses.length) legend();

    const sliders = [];
    const field = group("Joints");
    scene.coordinates.forEach((coordinate, k) => {
      const label = make("label", {}, field, coordinate.name);
      const value = make("span", { class: "value" }, label);
      const input = make("input", { type: "range", min: coordinate.lower, max: coordinate.upper, step: "any",
        "aria-label": `position of ${coordinate.name}` }, field);
      const show = () => {
        const degrees = coordinate.unit === "rad" ? `${Math.round(state.q[k] * 180 / Math.PI)}°` : `${short(state.q[k])} m`;
        value.textContent = degrees;
        input.value = state.q[k];
      };
      input.addEventListener("input", () => { state.q[k] = Number(input.value); stop(); show(); draw(); });
      sliders.push(show);
      show();
    });
    const home = make("button", { type: "button" }, field, "Reset");
    const reset = () => {
      Object.assign(state, { q: scene.posture.slice(), azimuth: -1.1, elevation: 0.3, zoom: 1, fit: true });
      stop(); sliders.forEach((show) => show()); draw();
    };
    home.addEventListener("click", reset);
    resets.push(reset);

    let playing = null, stop = () => {};
    if (scene.motion) {
      const motion = scene.motion, field = group("Motion"), last = motion.t.length - 1;
      const play = make("button", { type: "button" }, field, "Play");
      const input = make("input", { type: "range", min: motion.t[0], max: motion.t[last], step: "any", "aria-label": "time" }, field);
      const at = (time) => {
        let i = Math.min(last - 1, Math.max(0, motion.t.findIndex((t) => t > time) - 1));
        if (time >= motion.t[last]) i = last - 1;
        const share = Math.min(1, Math.max(0, (time - motion.t[i]) / (motion.t[i + 1] - motion.t[i])));
        state.q = motion.q[i].map((value, k) => value + share * (motion.q[i + 1][k] - value));
        input.value = time;
        sliders.forEach((show) => show());
        draw();
      };
      stop = () => { if (playing) cancelAnimationFrame(playing); playing = null; play.textContent = "Play"; };
      play.addEventListener("click", () => {
        if (playing) return stop();
        play.textContent = "Pause";
        let time = Number(input.value) >= motion.t[last] ? motion.t[0] : Number(input.value), before = performance.now();
        const frame = (now) => {
          time += (now - before) / 1000;
          before = now;
          at(Math.min(time, motion.t[last]));
          if (time >= motion.t[last]) stop(); else playing = requestAnimationFrame(frame);
        };
        playing = requestAnimationFrame(frame);
      });
      input.addEventListener("input", () => { stop(); at(Number(input.value)); });
      input.value = motion.t[0];
    }

    // orthographic: right, up and towards the eye
    const axes = () => {
      const [ca, sa, ce, se] = [Math.cos(state.azimuth), Math.sin(state.azimuth), Math.cos(state.elevation), Math.sin(state.elevation)];
      return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
    };
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

    // the view is a ball that holds everything at every angle; it only grows, and Reset fits it anew
    const view = { centre: [0, 0, 0], radius: 0 };
    const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    const parts = (q) => {
      const { joints, links } = placements(scene, q), found = [[[0, 0, 0], 0]];
      for (const T of [...joints, ...links]) found.push([origin(T), 0]);
      if (state.shapes) shapes.forEach((shape) => {
        if (!state.hidden.has(shape.joint)) found.push([point(links[shape.joint] || IDENTITY, shape.middle), shape.reach]);
      });
      scene.sets.forEach((set, i) => {
        if (i !== state.set && !state.outline) return;
        set.bodies.forEach((body, k) => {
          if (body && !state.hidden.has(k)) found.push([point(links[k], body.com), Math.max(...body.semi_axes.map((a) => Math.hypot(...a)))]);
        });
      });
      return found;
    };
    const hold = (q) => parts(q).forEach(([p, r]) => {
      view.radius = Math.max(view.radius, r + Math.hypot(...minus(p, view.centre)));
    });
    const fit = () => {
      const found = parts(state.q);
      view.centre = [0, 1, 2].map((i) => (Math.min(...found.map(([p, r]) => p[i] - r)) + Math.max(...found.map(([p, r]) => p[i] + r))) / 2);
      view.radius = 0.1;
      const steps = scene.motion ? scene.motion.q : [];
      steps.forEach((q, i) => { if (i % Math.ceil(steps.length / 100) === 0) hold(q); });
    };
    const nice = (x) => { const p = 10 ** Math.floor(Math.log10(x)); return [5, 2, 1].map((k) => k * p).find((v) => v <= x); };

    function draw() {
      if (state.fit) { fit(); state.fit = false; }
      hold(state.q);
      const { joints, links } = placements(scene, state.q);
      const [right, up, eye] = axes();
      const scale = state.zoom * 0.48 * size.h / view.radius;
      svg.dataset.centre = view.centre.join(" ");
      svg.dataset.scale = scale;
      const flat = (p) => {
        const d = minus(p, view.centre);
        return [size.w / 2 + scale * dot(right, d), size.h / 2 - scale * dot(up, d), dot(eye, d)];
      };
      const drawn = [];
      const line = (a, b, style) => {
        const [x1, y1, za] = flat(a), [x2, y2, zb] = flat(b);
        drawn.push([(za + zb) / 2, make("line", { x1, y1, x2, y2, ...style })]);
      };
      const square = nice(0.35 * view.radius / state.zoom), ground = [];
      const disc = Math.sqrt(Math.max(0, view.radius ** 2 - view.centre[2] ** 2));
      for (let i = Math.ceil(-disc / square) - 1; i <= disc / square + 1; i++) for (const k of [0, 1]) {
        const at = (Math.round(view.centre[k] / square) + i) * square, off = at - view.centre[k];
        if (Math.abs(off) >= disc) continue;
        const half = Math.sqrt(disc ** 2 - off ** 2), end = (sign) => {
          const p = [0, 0, 0];
          p[k] = at; p[1 - k] = view.centre[1 - k] + sign * half;
          return p;
        };
        const [x1, y1] = flat(end(-1)), [x2, y2] = flat(end(1));
        ground.push(make("line", { x1, y1, x2, y2, stroke: "var(--faint)", "stroke-width": 1.5, class: "ground" }));
      }
      const solid = make("g", { class: "shapes", opacity: 0.55, "pointer-events": "none" });
      if (state.shapes) shapes.filter((shape) => !state.hidden.has(shape.joint)).map((shape) => {
        const T = links[shape.joint] || IDENTITY, steps = 8, paths = new Array(steps).fill("");
        const at = shape.at.map((p) => flat(point(T, p)));
        shape.faces.forEach((face, k) => {
          const facing = dot(eye, turn(T, shape.normals[k])); // what faces away is behind the rest
          if (facing <= 0) return;
          paths[Math.min(steps - 1, Math.floor(facing * steps))] += `M${face.map((i) => `${at[i][0].toFixed(1)} ${at[i][1].toFixed(1)}`).join("L")}Z`;
        });
        return [flat(point(T, shape.middle))[2], paths];
      }).sort((a, b) => a[0] - b[0]).forEach(([, paths]) => paths.forEach((d, k) => {
        const fill = `color-mix(in srgb, var(--ink) ${70 - 7 * k}%, var(--paper))`;
        if (d) make("path", { d, style: `fill: ${fill}; stroke: ${fill}` }, solid);
      }));
      const bar = make("g", { class: "scale" }), long = scale * square;
      make("path", { d: `M24 ${size.h - 32} v8 h${long} v-8`, fill: "none", stroke: "var(--muted)", "stroke-width": 2 }, bar);
      make("text", { x: 24, y: size.h - 42, fill: "var(--muted)", "font-size": 24 }, bar, `${short(square)} m, a square of the base's plane`);
      const length = 0.15 * view.radius;
      [["#c62828", [length, 0, 0]], ["#1a8f5a", [0, length, 0]], ["#2563eb", [0, 0, length]]].forEach(([stroke, end]) =>
        line([0, 0, 0], end, { stroke, "stroke-width": 2 }));
      scene.joints.forEach((joint, k) => {
        const begin = joint.parent < 0 ? [0, 0, 0] : origin(links[joint.parent]);
        const bone = { stroke: "var(--ink)", "stroke-width": 4, "stroke-linecap": "round" };
        line(begin, origin(joints[k]), bone);
        line(origin(joints[k]), origin(links[k]), bone);
        const [cx, cy, z] = flat(origin(joints[k]));
        drawn.push([z + 1e-3, make("circle", { cx, cy, r: 5, fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 2 })]);
      });
      scene.sets.forEach((set, i) => {
        if (i !== state.set && !state.outline) return;
        set.bodies.forEach((body, k) => {
          if (!body || state.hidden.has(k)) return;
          const [cx, cy, z] = flat(point(links[k], body.com));
          const half = body.semi_axes.map((axis) => turn(links[k], axis));
          let xx = 0, xy = 0, yy = 0;
          for (const axis of half) {
            const a = scale * dot(right, axis), b = -scale * dot(up, axis);
            xx += a * a; xy += a * b; yy += b * b;
          }
          const middle = (xx + yy) / 2, spread = Math.hypot((xx - yy) / 2, xy);
          const angle = 0.5 * Math.atan2(2 * xy, xx - yy) * 180 / Math.PI;
          const shape = { cx, cy, rx: Math.max(2, Math.sqrt(middle + spread)), ry: Math.max(2, Math.sqrt(Math.max(0, middle - spread))),
            transform: `rotate(${angle} ${cx} ${cy})`, stroke: colour(k), "stroke-width": 2, "data-link": scene.links[k], "data-set": i };
          if (i !== state.set) {
            drawn.push([z, make("ellipse", { ...shape, fill: "none", "stroke-dasharray": "6 5", "pointer-events": "none" })]);
            return;
          }
          const node = make("ellipse", { ...shape, fill: colour(k), "fill-opacity": 0.3 });
          const words = `${scene.links[k]} (${set.label})\nmass ${short(body.mass)} kg\ncentre of mass ${body.com.map((c) => short(1e3 * c)).join(", ")} mm\n` +
            `principal moments ${body.moments.map(short).join(", ")} kg·m²${body.complaint ? `\nnot physical: ${body.complaint}` : ""}`;
          node.addEventListener("pointermove", (event) => say(event, words));
          node.addEventListener("pointerleave", () => say(null, ""));
          drawn.push([z, node]);
          drawn.push([z + 1e-3, make("circle", { cx, cy, r: 5, fill: colour(k), "pointer-events": "none" })]);
        });
      });
      svg.replaceChildren(...ground, solid, ...drawn.sort((a, b) => a[0] - b[0]).map((entry) => entry[1]), bar);
    }

    const look = (across, down, nearer) => {
      state.azimuth -= across;
      state.elevation = Math.max(-1.57, Math.min(1.57, state.elevation + down));
      state.zoom = Math.max(0.2, Math.min(20, state.zoom * nearer));
      draw();
    };
    const keys = { ArrowLeft: [-0.1, 0, 1], ArrowRight: [0.1, 0, 1], ArrowUp: [0, -0.1, 1], ArrowDown: [0, 0.1, 1],
      "+": [0, 0, 1.2], "-": [0, 0, 1 / 1.2] };
    svg.addEventListener("keydown", (event) => {
      if (!keys[event.key]) return;
      event.preventDefault(); // the page does not scroll
      look(...keys[event.key]);
    });
    svg.addEventListener("pointerdown", (event) => {
      let { clientX: x, clientY: y } = event;
      svg.setPointerCapture(event.pointerId);
      const move = (next) => {
        look((next.clientX - x) / 150, (next.clientY - y) / 150, 1);
        [x, y] = [next.clientX, next.clientY];
      };
      const end = () => { svg.removeEventListener("pointermove", move); };
      svg.addEventListener("pointermove", move);
      svg.addEventListener("pointerup", end, { once: true });
      svg.addEventListener("pointercancel", end, { once: true });
    });
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      look(0, 0, Math.exp(-event.deltaY / 500));
    }, { passive: false });
    draw();
  }

  // -------------------------------------------------------------------- plots over time, zoomed together
  const linked = new Map();
  function plot(box, chart) {
    const figure = make("figure", { class: "plot", tabindex: 0 }, box);
    const caption = make("figcaption", {}, figure);
    make("b", {}, caption, chart.title + "  ");
    chart.curves.forEach((curve) => make("i", { style: `--c: var(--${curve.colour})` }, caption, curve.label));
    const readout = make("span", {}, caption);
    const canvas = make("canvas", { "aria-label": chart.title }, figure), pen = canvas.getContext("2d");
    const whole = [chart.t[0], chart.t[chart.t.length - 1]];
    if (!linked.has(chart.group)) linked.set(chart.group, { range: whole.slice(), draws: [] });
    const shared = linked.get(chart.group);
    const margin = { left: 62, right: 8, top: 8, bottom: 24 };
    const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
    const ticks = (low, high, count) => {
      const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((f) => f * power >= rough), found = [];
      for (let k = Math.ceil(low / step); k * step <= high + 1e-12 * step; k++) found.push(k * step);
      return found;
    };
    const first = (time) => {
      let a = 0, b = chart.t.length - 1;
      while (a < b) { const m = (a + b) >> 1; if (chart.t[m] < time) a = m + 1; else b = m; }
      return a;
    };
    let width = 0, height = 0;
    const x = (t) => margin.left + (t - shared.range[0]) / (shared.range[1] - shared.range[0]) * (width - margin.left - margin.right);
    const time = (px) => shared.range[0] + (px - margin.left) / (width - margin.left - margin.right) * (shared.range[1] - shared.range[0]);

    function draw() {
      const ratio = devicePixelRatio || 1;
      [width, height] = [canvas.clientWidth, canvas.clientHeight];
      [canvas.width, canvas.height] = [width * ratio, height * ratio];
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const from = Math.max(0, first(shared.range[0]) - 1), to = Math.min(chart.t.length - 1, first(shared.range[1]) + 1);
      let low = Infinity, high = -Infinity;
      for (const curve of chart.curves) for (let i = from; i <= to; i++) {
        if (curve.y[i] === null) continue;
        low = Math.min(low, curve.y[i]); high = Math.max(high, curve.y[i]);
      }
      if (!(low < high)) { low = (isFinite(low) ? low : 0) - 1; high = low + 2; }
      const pad = 0.06 * (high - low);
      low -= pad; high += pad;
      const y = (v) => margin.top + (high - v) / (high - low) * (height - margin.top - margin.bottom);
      pen.font = "12px system-ui, sans-serif";
      pen.lineWidth = 1;
      pen.strokeStyle = style("--faint");
      pen.fillStyle = style("--muted");
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      for (const v of ticks(low, high, 4)) {
        pen.beginPath(); pen.moveTo(margin.left, y(v)); pen.lineTo(width - margin.right, y(v)); pen.stroke();
        pen.fillText(short(v), margin.left - 6, y(v));
      }
      pen.textAlign = "center";
      pen.textBaseline = "top";
      for (const t of ticks(...shared.range, 8)) {
        pen.beginPath(); pen.moveTo(x(t), margin.top); pen.lineTo(x(t), height - margin.bottom); pen.stroke();
        pen.fillText(`${short(t)} s`, x(t), height - margin.bottom + 5);
      }
      pen.save();
      pen.beginPath();
      pen.rect(margin.left, margin.top, width - margin.left - margin.right, height - margin.top - margin.bottom);
      pen.clip();
      for (const curve of chart.curves) {
        pen.strokeStyle = style(`--${curve.colour}`);
        const under = chart.curves.length > 1 && curve === chart.curves[0]; // seen on both sides of one that covers it
        pen.lineWidth = under ? 5 : 1.4;
        pen.globalAlpha = under ? 0.5 : 1;
        pen.beginPath();
        let down = false;
        for (let i = from; i <= to; i++) {
          if (curve.y[i] === null) { down = false; continue; }
          if (down) pen.lineTo(x(chart.t[i]), y(curve.y[i])); else pen.moveTo(x(chart.t[i]), y(curve.y[i]));
          down = true;
        }
        pen.stroke();
      }
      pen.restore();
    }
    const clamp = (low, high) => {
      const length = Math.min(whole[1] - whole[0], Math.max((whole[1] - whole[0]) * 1e-4, high - low));
      const start = Math.max(whole[0], Math.min(whole[1] - length, low));
      shared.range = [start, start + length];
      shared.draws.forEach((other) => other());
      figure.dataset.range = shared.range.join(" ");
    };
    const zoom = (at, factor) => clamp(at - (at - shared.range[0]) * factor, at + (shared.range[1] - at) * factor);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(time(event.offsetX), Math.exp(event.deltaY / 400));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => clamp(...whole));
    resets.push(() => clamp(...whole));
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) {
        const shift = time(0) - time(event.movementX);
        clamp(shared.range[0] + shift, shared.range[1] + shift);
        return;
      }
      const i = first(time(event.offsetX));
      readout.textContent = `  at ${short(chart.t[i])} s: ` +
        chart.curves.map((curve) => `${curve.label} ${curve.y[i] === null ? "-" : short(curve.y[i])}`).join(", ") + ` ${chart.unit}`;
    });
    canvas.addEventListener("pointerleave", () => { readout.textContent = ""; });
    figure.addEventListener("keydown", (event) => {
      const length = shared.range[1] - shared.range[0];
      if (event.key === "+") zoom((shared.range[0] + shared.range[1]) / 2, 0.7);
      else if (event.key === "-") zoom((shared.range[0] + shared.range[1]) / 2, 1 / 0.7);
      else if (event.key === "ArrowLeft") clamp(shared.range[0] - 0.1 * length, shared.range[1] - 0.1 * length);
      else if (event.key === "ArrowRight") clamp(shared.range[0] + 0.1 * length, shared.range[1] + 0.1 * length);
      else if (event.key === "0") clamp(...whole);
    });
    shared.draws.push(draw);
    redraws.push(draw);
    addEventListener("resize", draw);
    draw();
  }

  for (const box of document.querySelectorAll("[data-robot]")) robot(box, data.robots[box.dataset.robot]);
  for (const box of document.querySelectorAll("[data-plots]")) data.plots[box.dataset.plots].forEach((chart) => plot(box, chart));
  theme(dark.matches ? "dark" : "light");
  root.dataset.ready = "yes";
})();
