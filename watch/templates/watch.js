// Asks for what is so now, once a second while somebody looks, and shows it.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";
const svg = (name, attributes, ...children) => {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  node.append(...children);
  return node;
};
const element = (name, words, attributes = {}) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = words;
  return node;
};
const text = (x, y, words, kind, anchor = "start") => svg("text", { x, y, class: kind, "text-anchor": anchor }, String(words));
const path = (points, kind) => svg("path", { d: "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L"), class: kind });
const cables = [...document.querySelectorAll(".fabric .cable")];
let revision = data.now.revision, chosen = "";

function track(run) {
  const width = 900, left = 46, right = width - 8, top = 12, bottom = 168;
  const x = (t) => left + (t / run.end) * (right - left);
  const highest = 1.06 * Math.max(run.capacity, ...run.total);
  const y = (mbps) => bottom - (mbps / highest) * (bottom - top);
  const parts = [svg("rect", { x: x(run.end / 6), width: x((run.end * 5) / 6) - x(run.end / 6), y: top, height: bottom - top, class: "window" })];
  for (const value of [0, run.capacity / 2, run.capacity]) {
    parts.push(path([[left, y(value)], [right, y(value)]], value === run.capacity ? "rule" : "grid"), text(left - 6, y(value) + 4, +value.toFixed(1), "tick", "end"));
  }
  parts.push(text(left - 6, 8, "Mb/s", "tick", "end"));
  const seen = run.t.map((t, i) => [t, run.total[i]]).filter(([t]) => t <= run.end);
  if (seen.length) parts.push(path(seen.map(([t, mbps]) => [x(t), y(mbps)]), "rate live"));
  for (const [t, , moved] of run.rounds) {
    if (t > run.end) continue;
    parts.push(path([[x(t), bottom + 14], [x(t), bottom + (moved ? 4 : 9)]], moved ? "stem" : "round"));
    if (moved) parts.push(text(x(t) + 4, bottom + 13, moved, "note"));
  }
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600].find((seconds) => run.end / seconds <= 12) || 7200;
  for (let t = 0; t <= run.end; t += step) parts.push(text(x(t), bottom + 30, `${t} s`, "tick", t === 0 ? "start" : t === run.end ? "end" : "middle"));
  const last = seen.at(-1);
  const said = last ? `${last[1].toFixed(1)} of ${run.capacity} Mb/s at second ${last[0]}; ${run.rounds.length} scheduling rounds` : "No traffic yet";
  return svg("svg", { viewBox: `0 0 ${width} ${bottom + 36}`, role: "img", "aria-label": said }, ...parts);
}

function showRun(run) {
  $("run-name").textContent = run.name + (run.worker ? ` (on ${run.worker})` : "");
  const last = run.total.at(-1);
  $("stage").textContent = run.stage + (last === undefined ? "" : `; second ${run.t.at(-1)} of ${run.end}: ${last.toFixed(1)} of ${run.capacity} Mb/s`);
  $("track").replaceChildren(track(run));
  $("hosts").replaceChildren(...run.hosts.map((mbps, host) => {
    const item = document.createElement("li");
    const bar = document.createElement("i");
    bar.style.width = `${Math.min(100, (100 * (mbps ?? 0)) / run.rate)}%`;
    item.append(element("span", data.hosts[host] ?? host), element("span", mbps === null ? "–" : mbps.toFixed(1)), bar);
    return item;
  }));
  const box = $("fabric-box");
  if (!box) return;
  box.hidden = !run.links.length || run.k !== data.k;
  if (!box.hidden) cables.forEach((cable, link) => {
    const share = (run.links[link] ?? 0) / run.rate;
    cable.setAttribute("class", `cable u${[0.01, 0.25, 0.5, 0.75, 0.9].filter((least) => share > least).length}`);
  });
}

function show(now) {
  const words = now.at_work ? `${now.done} of ${now.jobs} runs done, about ${now.left} left.` : "No sweep is running in this folder now.";
  if ($("progress").textContent !== words) $("progress").textContent = words;
  $("bar").hidden = !now.at_work;
  if (now.at_work) { $("bar").max = now.jobs; $("bar").value = now.done; }
  $("over").hidden = now.at_work || !now.report;
  if (!$("over").hidden && !$("over").childNodes.length) $("over").append(element("a", "The report of the finished runs", { href: "report.html" }));
  $("under-way").hidden = !now.runs.length;
  if (now.runs.length) {
    const names = now.runs.map((run) => run.worker);
    $("which").hidden = names.length < 2;
    const pick = $("pick");
    if ([...pick.options].map((each) => each.value).join() !== names.join()) pick.replaceChildren(...names.map((name) => element("option", name, { value: name })));
    const run = now.runs.find((each) => each.worker === chosen) ?? now.runs[0];
    pick.value = run.worker;
    showRun(run);
  }
  $("workers-box").hidden = !now.workers.length;
  const table = document.createElement("table");
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(document.createElement("tr"));
  for (const word of ["machine", "what it does", "what it is"]) head.firstChild.append(element("th", word, { scope: "col", class: "l" }));
  for (const [name, doing, what, used] of now.workers) {
    const row = document.createElement("tr");
    row.append(element("th", name, { scope: "row" }), element("td", doing, { class: used ? "l" : "wrap no" }), element("td", what, { class: "l" }));
    body.append(row);
  }
  table.append(head, body);
  $("workers").replaceChildren(table);
}

async function ask() {
  try {
    const now = await (await fetch("now.json", { cache: "no-store" })).json();
    if (now.revision !== revision) {
      const open = [...document.querySelectorAll("#finished details")].map((each) => each.open);
      $("finished").innerHTML = await (await fetch("finished.html", { cache: "no-store" })).text();
      document.querySelectorAll("#finished details").forEach((each, i) => { each.open = open[i] ?? false; });
      revision = now.revision;
    }
    if (now.runs.length && data.k === null) location.reload(); // now there is a network to draw
    show(now);
  } catch {
    $("progress").textContent = "hedera watch has ended; this is what was last seen.";
  }
}
$("pick").addEventListener("change", () => { chosen = $("pick").value; ask(); });
show(data.now);
setInterval(() => { if (document.visibilityState === "visible") ask(); }, 1000);
