// The data of the page, which run is looked at, and small builders for what is shown of it.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";
const cssOf = new Map(JSON.parse($("look").dataset.css));
const state = { run: null, stage: 0, view: "rounds", flow: null };
const distinct = (values) => [...new Set(values)];
const order = [...cssOf.keys()];
const patterns = JSON.parse($("look").dataset.patterns);

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
