"use strict";
// Two things need a script: the choice of colours, and the section about one run. All data is in #data.

(() => {
  const root = document.documentElement;
  const store = {
    get() { try { return localStorage.getItem("hedera-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("hedera-theme", value); } catch { /* no storage: not remembered */ } },
  };
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  for (const input of document.querySelectorAll("input[name=theme]")) {
    input.checked = input.value === (store.get() || "auto");
    input.addEventListener("change", () => { apply(input.value); store.set(input.value); });
  }
  apply(store.get());

  // What a reader of the printed page would otherwise miss.
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("details.print")) box.open = true;
  });
  // A link into a closed part opens it.
  addEventListener("hashchange", () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", ""));
})();

(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const $ = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";
  const cssOf = new Map(JSON.parse(document.getElementById("look").dataset.css || "[]"));

  // --- small builders -------------------------------------------------------------------------------------

  function html(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }
  function svg(name, attributes = {}, ...children) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
    node.append(...children);
    return node;
  }
  const label = (x, y, words, kind = "tick", anchor = "start") => svg("text", { x, y, class: kind, "text-anchor": anchor }, words);
  const stroke = (x1, y1, x2, y2, kind) => svg("path", { d: `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`, class: kind });
  const scale = (a, b, p, q) => (value) => p + ((value - a) / (b - a || 1)) * (q - p);
  const fixed = (value, digits = 1) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  const percent = (share) => `${Math.round(100 * share)}\u202f%`;
  const count = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;
  const short = (pattern) => data.names[pattern];
  function table(head, rows, note) {
    const row = (cells, tag) => html("tr", {}, ...cells.map((cell, i) => {
      const attributes = tag === "th" ? { scope: "col" } : {};
      return html(tag === "td" && i === 0 ? "th" : tag, tag === "td" && i === 0 ? { scope: "row" } : attributes, cell instanceof Node ? cell : String(cell));
    }));
    return html("table", {}, ...(note ? [html("caption", {}, html("span", {}, note))] : []),
      html("thead", {}, row(head, "th")), html("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
  }

  // --- which run ---------------------------------------------------------------------------------------------

  const state = { run: null, stage: 0, view: "rounds", flow: null };
  const distinct = (values) => [...new Set(values)];
  const order = [...cssOf.keys()];
  const patterns = JSON.parse($("look").dataset.patterns);

  function fill(select, values, chosen, words = String) {
    select.replaceChildren(...values.map((value) => {
      const option = html("option", { value }, words(value));
      option.selected = String(value) === String(chosen);
      return option;
    }));
  }
  function choose(run) {
    const same = data.runs.filter((each) => each.pattern === run.pattern);
    fill($("pick-pattern"), patterns, run.pattern, short);
    fill($("pick-scheme"), distinct(same.map((each) => each.scheme)).sort((a, b) => order.indexOf(a) - order.indexOf(b)), run.scheme);
    const trials = same.filter((each) => each.scheme === run.scheme);
    fill($("pick-trial"), trials.map((each) => each.trial).sort((a, b) => a - b), run.trial);
    Object.assign(state, { run, stage: 0, flow: null });
    showRun();
  }
  function picked(changed) {
    const want = { pattern: $("pick-pattern").value, scheme: $("pick-scheme").value, trial: Number($("pick-trial").value) };
    const keys = { pattern: ["pattern"], scheme: ["pattern", "scheme"], trial: ["pattern", "scheme", "trial"] }[changed];
    const fitting = data.runs.filter((run) => keys.every((key) => run[key] === want[key]));
    const closeness = (run) => (run.scheme === want.scheme ? 2 : 0) + (run.trial === want.trial ? 1 : 0);
    choose(fitting.reduce((best, run) => (closeness(run) > closeness(best) ? run : best)));
  }

  // --- a run ---------------------------------------------------------------------------------------------------

  function showRun() {
    const run = state.run;
    const control = data.runs[run.control];
    const words = [];
    if (run.mbps !== null) words.push(`${fixed(run.mbps)} of ${data.capacity} Mb/s on the wire${run.payload === null ? "" : `, ${fixed(run.payload)} of payload`}`);
    if (run.valid && control && control.valid && control !== run && run.mbps !== null) words.push(`${percent(run.mbps / control.mbps)} of the control`);
    if (run.maxmin) words.push(`${percent(run.mbps / run.maxmin)} of what max-min fair sharing gives on its paths`);
    const verdict = html("span", { class: `verdict ${run.valid ? "yes" : "no"}` }, run.valid ? "valid" : "INVALID");
    $("run-head").replaceChildren(
      html("p", {}, verdict, ` ${words.join("; ")}`),
      ...run.reasons.map((reason) => html("p", { class: "small no" }, reason)),
      html("p", { class: "small muted" }, `Stored in ${run.file}`));
    drawTracks();
    $("rounds-box").hidden = !run.rounds.length;
    $("rounds").replaceChildren(table(
      ["round", "at, s", "large flows", "moved", "polling, ms", "computing, ms", "installing, ms"],
      run.rounds.map(([t, large, changed, ...ms], i) => [i + 1, fixed(t, 2), large, changed, ...ms.map((value) => fixed(value, 2))])));
    const box = $("fabric-box");
    if (!box) return;
    const drawn = run.links.length > 0 || run.paths.some(([, , changes]) => changes.some(([, , links]) => links.length));
    box.hidden = !drawn;
    $("no-fabric").hidden = drawn;
    $("no-fabric").textContent = run.scheme === "nonblocking"
      ? "The control has a single switch: there are no paths to choose, and no fat-tree to draw."
      : run.flows > run.paths.length ? `This run has ${run.flows} flows, too many to list one by one.` : "This run stored no paths and no link rates.";
    if (drawn) showStages();
  }

  function drawTracks() {
    const run = state.run;
    const control = run.control === null || data.runs[run.control] === run ? null : data.runs[run.control];
    const width = 900, left = 46, right = width - 8;
    const end = 1.01 * Math.max(run.end, run.window[1]); // a sampler may go on a little longer
    const x = scale(0, end, left, right);
    const parts = [];
    const shade = svg("rect", { id: "stage-shade", class: "stage", y: 8, height: 0, x: 0, width: 0 });
    // rate
    const highest = 1.06 * Math.max(data.capacity, ...run.total, ...(control ? control.total : []));
    const y = scale(0, highest, 168, 12);
    parts.push(svg("rect", { x: x(run.window[0]), width: x(run.window[1]) - x(run.window[0]), y: 12, height: 156, class: "window" }), shade);
    for (const value of [0, data.capacity / 2, data.capacity]) {
      parts.push(stroke(left, y(value), right, y(value), value === data.capacity ? "rule" : "grid"), label(left - 6, y(value) + 4, `${+value.toFixed(1)}`, "tick", "end"));
    }
    parts.push(label(left - 6, 8, "Mb/s", "tick", "end"));
    const path = (each, kind) => {
      if (each.t.length) parts.push(svg("path", { class: kind, d: "M" + each.t.flatMap((t, i) => (t <= end ? [`${x(t).toFixed(1)} ${y(each.total[i]).toFixed(1)}`] : [])).join("L") }));
    };
    if (control) path(control, `rate thin ${cssOf.get(control.scheme)}`);
    if (!run.t.length) parts.push(label((left + right) / 2, 92, "no rates were stored: the run broke off", "note", "middle"));
    path(run, `rate ${cssOf.get(run.scheme)}${run.valid ? "" : " broken"}`);
    // rounds
    let foot = 168;
    if (run.rounds.length) {
      const most = Math.max(1, ...run.rounds.map((round) => round[2]));
      const up = scale(0, most, 232, 196);
      parts.push(stroke(left, 232, right, 232, "grid"), label(left, 188, "flows moved by each round", "axis"));
      for (const [t, , changed] of run.rounds) {
        if (changed) parts.push(stroke(x(t), 232, x(t), up(changed), "stem"), label(x(t) + 5, Math.min(up(changed) + 8, 228), changed, "note"));
        else parts.push(stroke(x(t), 232, x(t), 227, "round"));
      }
      foot = 232;
      const timed = run.rounds.every((round) => round.slice(3).every((value) => value !== null));
      if (timed) {
        const longest = Math.max(...run.rounds.map((round) => round[3] + round[4] + round[5])) || 1;
        const high = scale(0, longest, 306, 268);
        parts.push(stroke(left, 306, right, 306, "grid"), label(left, 256, "ms per round: polling, computing, installing", "axis"));
        parts.push(label(left - 6, 272, longest.toPrecision(2), "tick", "end"), label(left - 6, 309, "0", "tick", "end"));
        const wide = Math.max(2, Math.min(14, (right - left) / run.rounds.length - 2));
        for (const round of run.rounds) {
          let below = 0;
          round.slice(3).forEach((ms, i) => {
            parts.push(svg("rect", { class: `part${i}`, x: x(round[0]) - wide / 2, width: wide, y: high(below + ms), height: high(below) - high(below + ms) }));
            below += ms;
          });
        }
        ["polling", "computing", "installing"].forEach((word, i) => {
          parts.push(svg("rect", { class: `part${i}`, x: right - 210 + 72 * i, y: 248, width: 9, height: 9 }), label(right - 197 + 72 * i, 256, word, "tick"));
        });
        foot = 306;
      }
    }
    if (run.idle.length) {
      const top = foot + 28, bottom = top + 34;
      const idle = scale(0, 100, bottom, top);
      parts.push(stroke(left, bottom, right, bottom, "grid"), label(left, top - 6, "idle CPU, %", "axis"), label(left - 6, top + 4, "100", "tick", "end"), label(left - 6, bottom + 3, "0", "tick", "end"));
      let from = 0;
      for (const [t, value] of run.idle) {
        parts.push(svg("rect", { class: "idle", x: x(Math.min(from, end)), width: Math.max(0, x(Math.min(t, end)) - x(Math.min(from, end))), y: idle(value), height: Math.max(bottom - idle(value), 0.8) }));
        from = t;
      }
      foot = bottom;
    }
    const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600].find((seconds) => end / seconds <= 12) || 7200;
    for (let t = 0; t <= end; t += step) parts.push(label(x(t), foot + 16, `${t} s`, "tick", t ? "middle" : "start"));
    shade.setAttribute("height", foot - 8);
    // A click on the time line chooses the stage.
    const hit = svg("rect", { class: "hit", x: left, y: 8, width: right - left, height: foot });
    const said = run.total.length
      ? `Rate from ${fixed(Math.min(...run.total))} to ${fixed(Math.max(...run.total))} Mb/s; ${count(run.rounds.length, "scheduling round")}, ${run.rounds.filter((round) => round[2]).length} of which moved flows`
      : "No rates were stored";
    const picture = svg("svg", { viewBox: `0 0 ${width} ${foot + 22}`, role: "img", "aria-label": said }, ...parts, hit);
    hit.addEventListener("click", (event) => {
      const at = picture.createSVGPoint();
      at.x = event.clientX;
      const t = ((at.matrixTransform(picture.getScreenCTM().inverse()).x - left) / (right - left)) * end;
      const index = run.stages.findIndex(([begin, until]) => begin <= t && t < until);
      if (index >= 0) { state.stage = index; setView("rounds"); }
    });
    state.x = x;
    $("tracks").replaceChildren(picture);
  }

  // --- paths and links -----------------------------------------------------------------------------------------

  const cables = [...document.querySelectorAll(".fabric .cable")];
  const boxes = new Map([...document.querySelectorAll(".fabric [data-node]")].map((node) => [node.dataset.node, node]));

  /** The path of a flow at a stage: [stage it holds from, core, links], or null before it has one. */
  function pathAt(changes, stage) {
    let found = null;
    for (const change of changes) if (change[0] <= stage) found = change;
    return found;
  }
  /** Mb/s on each directed link at a stage, from what the flows on it delivered, and the flows on it. */
  function loadsAt(run, stage) {
    const loads = data.links.map(() => ({ mbps: 0, flows: [] }));
    run.paths.forEach(([, , changes], flow) => {
      const path = pathAt(changes, stage);
      if (!path) return;
      for (const link of path[2]) {
        loads[link].mbps += run.stages[stage][2][flow];
        loads[link].flows.push(flow);
      }
    });
    return loads;
  }
  window.hederaReport = { data, state, loadsAt, pathAt }; // for tests, and for the curious

  const hostName = (host) => data.hosts[host] ?? String(host);
  const coreName = (core) => data.cores[core] ?? String(core);

  function showStages() {
    const run = state.run;
    const slider = $("stage");
    slider.max = Math.max(run.stages.length - 1, 0);
    const measured = run.links.length > 0;
    const staged = run.stages.length > 0;
    $("views").hidden = !(measured && staged);
    setView(staged ? (measured ? state.view : "rounds") : "measured");
  }
  function setView(view) {
    state.view = view;
    for (const input of document.querySelectorAll("input[name=view]")) input.checked = input.value === view;
    showStage();
  }
  function stageWords(run, stage) {
    if (!run.rounds.length) return "The whole run, without scheduling";
    if (stage === 0) return "Before the first round";
    const [t, , changed] = run.rounds[stage - 1];
    return `After round ${stage} at ${fixed(t, 1)} s: ${changed ? count(changed, "flow") + " moved" : "nothing moved"}`;
  }
  function showStage() {
    const run = state.run, stage = state.stage, between = state.view === "rounds";
    const loads = loadsAtView();
    const slider = $("stage");
    slider.value = stage;
    slider.setAttribute("aria-valuetext", stageWords(run, stage));
    $("steps").hidden = !between || run.stages.length < 2;
    $("back").disabled = stage === 0;
    $("forth").disabled = stage >= run.stages.length - 1;
    $("next-move").disabled = nextMove() < 0;
    const shade = $("stage-shade");
    const span = between && run.stages.length ? run.stages[stage] : run.window;
    shade.setAttribute("x", state.x(span[0]).toFixed(1));
    shade.setAttribute("width", Math.max(1, state.x(span[1]) - state.x(span[0])).toFixed(1));

    cables.forEach((cable, link) => {
      const share = loads[link].mbps / rateOfView();
      const level = [0.01, 0.25, 0.5, 0.75, 0.9].filter((least) => share > least).length;
      cable.setAttribute("class", `cable u${level}`);
    });
    const shared = loads.filter((load, link) => load.flows.length > 1 && !isHostLink(link)).length;
    const fullest = loads.reduce((best, load, link) => (load.mbps > loads[best].mbps ? link : best), 0);
    const words = [between ? `${stageWords(run, stage)}.` : `Measured from second ${fixed(run.window[0])} to ${fixed(run.window[1])}.`];
    if (between && run.stages.length) {
      const total = run.stages[stage][2].reduce((sum, rate) => sum + rate, 0);
      words.push(`From ${fixed(span[0])} to ${fixed(span[1])} s the flows delivered ${fixed(total)} Mb/s of payload. ${count(shared, "link")} between switches ${shared === 1 ? "carries" : "carry"} more than one flow.`);
    }
    words.push(`The fullest link is ${data.links[fullest].join(" to ")}: ${fixed(loads[fullest].mbps, 2)} Mb/s, ${percent(loads[fullest].mbps / rateOfView())} of ${between ? "the payload it can carry" : "its rate"}.`);
    $("status").textContent = words.join(" ");
    showFlows();
    showLinks(loads);
    highlight();
  }
  /** What a link can carry of what the view counts: payload between rounds, bytes on the wire when measured. */
  const rateOfView = () => (state.view === "rounds" ? data.payload_bw : data.bw);
  function loadsAtView() {
    if (state.view === "rounds" && state.run.stages.length) return loadsAt(state.run, state.stage);
    const empty = data.links.map(() => ({ mbps: 0, flows: [] }));
    return empty.map((load, link) => ({ ...load, mbps: state.run.links[link] ?? 0 }));
  }
  const isHostLink = (link) => data.links[link].some((name) => data.hosts.includes(name));
  function nextMove() {
    return state.run.rounds.findIndex((round, i) => i >= state.stage && round[2] > 0);
  }
  function showFlows() {
    const run = state.run, stage = run.stages.length ? state.stage : 0;
    const rows = run.paths.map(([src, dst, changes], i) => {
      const now = pathAt(changes, stage), before = stage ? pathAt(changes, stage - 1) : null;
      const moved = now && before && now !== before;
      const button = html("button", { type: "button", class: "flow", "aria-pressed": String(state.flow === i), "data-flow": i }, `${hostName(src)} → ${hostName(dst)}`);
      const inside = now && now[2].length <= 4; // below the cores
      const way = !now ? "none yet" : now[2].length <= 2 ? "one switch" : inside ? "inside the pod" : coreName(now[1]);
      return [button, way, moved ? `moved from ${coreName(before[1])}` : "", run.stages.length ? fixed(run.stages[stage][2][i], 2) : "–"];
    });
    const list = table(["flow", "by way of core", "in this round", "Mb/s"], rows, run.rounds.length ? stageWords(run, stage) : null);
    const focused = document.activeElement?.dataset?.flow;
    $("flows").replaceChildren(list);
    if (focused !== undefined) $("flows").querySelector(`[data-flow="${focused}"]`)?.focus();
  }
  function showLinks(loads) {
    const rows = loads.map((load, link) => ({ ...load, link })).sort((a, b) => b.mbps - a.mbps);
    const between = state.view === "rounds";
    $("links").replaceChildren(table(
      ["link", "Mb/s", between ? "of its payload" : "of its rate", ...(between ? ["flows on it"] : [])],
      rows.map(({ link, mbps, flows }) => [data.links[link].join(" → "), fixed(mbps, 2), percent(mbps / rateOfView()), ...(between ? [flows.length] : [])])));
  }
  function highlight() {
    const flow = state.flow === null ? null : state.run.paths[state.flow];
    const drawing = document.querySelector("svg.fabric");
    drawing.classList.toggle("picked", flow !== null);
    for (const cable of cables) cable.classList.remove("pick", "was");
    for (const box of boxes.values()) box.classList.remove("end");
    if (!flow) return;
    const [src, dst, changes] = flow;
    const stage = state.run.stages.length ? state.stage : 0;
    const now = pathAt(changes, stage), before = stage ? pathAt(changes, stage - 1) : null;
    for (const link of before ? before[2] : []) cables[link].classList.add("was");
    for (const link of now ? now[2] : []) { cables[link].classList.remove("was"); cables[link].classList.add("pick"); }
    for (const host of [src, dst]) boxes.get(hostName(host))?.classList.add("end");
  }

  // --- controls --------------------------------------------------------------------------------------------------

  for (const key of ["pattern", "scheme", "trial"]) $(`pick-${key}`).addEventListener("change", () => picked(key));
  $("look").querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  if ($("fabric-box")) {
    const go = (stage) => { state.stage = stage; showStage(); };
    $("stage").addEventListener("input", (event) => go(Number(event.target.value)));
    $("back").addEventListener("click", () => go(state.stage - 1));
    $("forth").addEventListener("click", () => go(state.stage + 1));
    $("next-move").addEventListener("click", () => go(nextMove() + 1));
    for (const input of document.querySelectorAll("input[name=view]")) input.addEventListener("change", () => setView(input.value));
    $("flows").addEventListener("click", (event) => {
      const button = event.target.closest("button[data-flow]");
      if (!button) return;
      const flow = Number(button.dataset.flow);
      state.flow = state.flow === flow ? null : flow;
      for (const each of $("flows").querySelectorAll("button")) each.setAttribute("aria-pressed", String(Number(each.dataset.flow) === state.flow));
      highlight();
    });
  }
  for (const button of document.querySelectorAll("button[data-run]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      choose(data.runs[Number(button.dataset.run)]);
      $("explorer").scrollIntoView();
      $("pick-pattern").focus({ preventScroll: true });
    });
  }
  $("look").hidden = false;
  const moves = (run) => run.valid && run.paths.length > 0 && run.rounds.some((round) => round[2] > 0);
  const most = (run) => Math.max(...run.rounds.map((round) => round[2])) / run.paths.length;
  const lively = data.runs.filter(moves).reduce((best, run) => (!best || most(run) > most(best) ? run : best), null);
  choose(lively || data.runs.find((run) => run.paths.length && run.scheme !== "nonblocking") || data.runs[0]);
})();
