// Choosing a run, and showing it.
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

function showRun() {
  const run = state.run;
  const control = data.runs[run.control];
  const words = [];
  if (run.mbps !== null) words.push(`${fixed(run.mbps)} of ${data.capacity} Mb/s on the wire${run.payload === null ? "" : `, ${fixed(run.payload)} of payload`}`);
  if (run.valid && control && control.valid && control !== run && run.mbps !== null) words.push(`${percent(run.mbps / control.mbps)} of the control`);
  if (run.maxmin) words.push(`${percent(run.mbps / run.maxmin)} of what max-min fair sharing gives on its paths`);
  const verdict = html("span", { class: `verdict ${run.valid ? "yes" : "no"}` }, run.valid ? "valid" : run.verdict.toUpperCase());
  $("run-head").replaceChildren(
    html("p", {}, verdict, ` ${words.join("; ")}`),
    ...(run.ways ? [html("p", { class: "small" }, run.ways)] : []),
    ...run.reasons.map((reason) => html("p", { class: "small no" }, reason)),
    ...run.remarks.map((remark) => html("p", { class: "small" }, remark)),
    html("p", { class: "small muted" }, `Stored in ${run.file}${run.worker ? `, made by ${run.worker}` : ""}`));
  drawTracks();
  $("rules-box").hidden = !run.rules.length;
  $("rules").replaceChildren(table(
    ["rule", "kept", "found", "limit", "why not applied"],
    run.rules.map(([rule, kept, found, limit, why]) => [rule, kept === null ? "not applied" : kept ? "yes" : "NO", found === null ? "" : fixed(found, 3), limit, why])));
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

for (const key of ["pattern", "scheme", "trial"]) $(`pick-${key}`).addEventListener("change", () => picked(key));
$("look").querySelector("form").addEventListener("submit", (event) => event.preventDefault());
if ($("fabric-box")) {
  const go = (stage) => { state.stage = Math.max(0, Math.min(stage, state.run.stages.length - 1)); showStage(); };
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
