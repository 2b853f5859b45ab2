// Rate, rounds and idle time of a run, on one axis.
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
