// The fat-tree between two rounds: the load of its links, its flows and their paths.
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
  const between = state.view === "rounds", acks = state.run.acks;
  $("links").replaceChildren(table(
    ["link", "Mb/s", between ? "of its payload" : "of its rate", ...(between ? ["flows on it"] : []), ...(acks.length ? ["acknowledgements of flows, in the window"] : [])],
    rows.map(({ link, mbps, flows }) => [data.links[link].join(" → "), fixed(mbps, 2), percent(mbps / rateOfView()), ...(between ? [flows.length] : []), ...(acks.length ? [acks[link]] : [])])));
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
