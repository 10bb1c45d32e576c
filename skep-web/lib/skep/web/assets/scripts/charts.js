// Lines and areas over the last half hour, as an SVG that is as wide as its parent.
//
//   const chart = new Chart([{ line: "own", tone: "own" }, { line: "shared", tone: "shared" }], { stacked: true })
//   chart.show(history)        // History: lines by name
//
// There is a gap in the line where no value is known for longer than BRIDGE steps, and a band behind
// it. A busy swarm is polled less often, which makes no gap. Vertical lines are the history's marks:
// where a restart, a reload or another revision began.

import { draw, keyed, make, mark, set } from "./dom.js"
import * as format from "./format.js"

const LEAST = 20 // points, so that the first values don't fill the whole width
const BRIDGE = 5
const APART = 24 // percent of the width: the room of a label

export class History {
  constructor(series) {
    Object.assign(this, { marks: [] }, series)
  }

  add(point) {
    const steps = point.at - this.at
    this.at = point.at
    for (const name of new Set([...Object.keys(this.lines), ...Object.keys(point.numbers)])) {
      const line = (this.lines[name] ??= Array(this.steps).fill(null))
      for (let step = 1; step < Math.min(steps, this.steps); step += 1) line.push(null)
      line.push(point.numbers[name] ?? null)
      line.splice(0, line.length - this.steps)
    }
  }

  // The marks in the last steps, with their place among these steps. Marks of one step are one.
  marked(steps) {
    const texts = new Map()
    for (const { at, text } of this.marks) texts.set(at, texts.has(at) ? `${texts.get(at)}, ${text}` : text)
    return [...texts].map(([at, text]) => ({ index: at - this.at + steps, text, ago: (this.at - at) * this.step })).filter(({ index }) => index >= 0 && index < steps)
  }

  // The lines with these names, from the first value that is known of any of them.
  of(names) {
    const lines = names.map((name) => this.lines[name] ?? Array(this.steps).fill(null))
    const first = Math.min(...lines.map((line) => line.findIndex((value) => value != null)).filter((at) => at >= 0))
    const from = Math.max(0, Math.min(first, this.steps - LEAST))
    return lines.map((line) => line.slice(from))
  }
}

export class Chart {
  constructor(parts, { height = 56, stacked = false, title = "" } = {}) {
    this.parts = parts
    this.stacked = stacked
    this.height = height
    this.title = title
    this.drawn = parts.map(({ tone }) => ({ area: draw("path", { class: `area ${tone}` }),
                                            line: draw("path", { class: `line ${tone}` }) }))
    this.gaps = draw("path", { class: "gap" })
    this.marks = draw("path", { class: "mark" })
    this.svg = draw("svg", { class: "chart", preserveAspectRatio: "none", role: "img", "aria-label": title }, this.gaps, this.marks,
                    ...this.drawn.flatMap(({ area, line }) => [area, line]))
    mark(this.svg, "viewBox", `0 0 100 ${height}`)
  }

  show(history) {
    const lines = history.of(this.parts.map(({ line }) => line))
    const sums = this.stacked ? stack(lines) : lines
    const top = Math.max(1e-9, ...sums.flat().filter((value) => value != null)) * 1.12
    sums.forEach((line, index) => this.path(this.drawn[index], line, index ? sums[index - 1] : null, top))
    this.lines = lines
    this.step = history.step
    this.seconds = lines[0].length * history.step
    const place = (index) => ((index / Math.max(1, lines[0].length - 1)) * 100).toFixed(2)
    this.marked = history.marked(lines[0].length).map((one) => ({ ...one, left: place(one.index) }))
    mark(this.marks, "d", this.marked.map(({ left }) => `M${left},0V${this.height}`).join(""))
    const runs = stretches(lines[0])
    const unknown = runs.slice(1).map((run, index) => [runs[index].at(-1), run[0]])
    mark(this.gaps, "d", unknown.map(([from, to]) => `M${place(from)},0H${place(to)}V${this.height}H${place(from)}Z`).join(""))
    mark(this.svg, "aria-label", [this.title, ...this.marked.map(({ text, ago }) => `${text} ${format.span(ago)} ago`),
                                  unknown.length && `${unknown.length} gap${unknown.length > 1 ? "s" : ""} where nothing is known`].filter(Boolean).join("; "))
    this.svg.classList.toggle("nothing", !runs.length)
  }

  // The values under the pointer, how many seconds ago they were measured, and the marks there.
  at(event) {
    const { left, width } = this.svg.getBoundingClientRect()
    const last = this.lines[0].length - 1
    const index = Math.min(last, Math.max(0, Math.round(((event.clientX - left) / width) * last)))
    const near = this.marked.filter((one) => Math.abs(one.index - index) * width < 4 * last).map(({ text }) => text)
    return [this.lines.map((line) => line[index]), (last - index) * this.step, near]
  }

  path({ area, line }, values, below, top) {
    const x = (index) => ((index / Math.max(1, values.length - 1)) * 100).toFixed(2)
    const y = (value) => (this.height - 1.5 - (value / top) * (this.height - 3)).toFixed(2)
    const runs = stretches(values)
    const point = (index, from) => `${x(index)},${y(from ? from[index] ?? 0 : 0)}`
    mark(line, "d", runs.map((run) => `M${run.map((at) => point(at, values)).join("L")}`).join(""))
    mark(area, "d", runs.map((run) =>
      `M${run.map((at) => point(at, values)).join("L")}L${[...run].reverse().map((at) => point(at, below)).join("L")}Z`).join(""))
  }
}

function stack(lines) {
  return lines.map((line, index) => line.map((value, at) =>
    value == null ? null : lines.slice(0, index + 1).reduce((sum, other) => sum + (other[at] ?? 0), 0)))
}

// Runs of the indices of known values.
function stretches(values) {
  const runs = []
  values.forEach((value, at) => {
    if (value == null) return
    if (at - runs.at(-1)?.at(-1) <= BRIDGE) runs.at(-1).push(at)
    else runs.push([at])
  })
  return runs
}

// A card: a number with its chart.
export class Card {
  // describe: returns the text for values and their age, while the pointer is over the chart.
  constructor(title, chart, { legend = [], describe } = {}) {
    this.chart = chart
    this.value = make("p", { class: "big" })
    this.note = make("p", { class: "muted" })
    this.foot = make("span")
    this.labels = make("div", { class: "labels", "aria-hidden": "true" })
    this.element = make("article", { class: "card" }, make("h2", {}, title), this.value, this.note,
                        chart.svg ? make("div", { class: "plot" }, chart.svg, this.labels) : chart, make("p", { class: "foot" }, this.foot, make("span", { class: "legends" }, ...legend)))
    if (describe) this.follow(chart, describe)
  }

  show(value, unit, note) {
    if (this.value.dataset.shown !== `${value} ${unit}`) {
      this.value.replaceChildren(value, unit ? make("small", {}, ` ${unit}`) : "")
      this.value.dataset.shown = `${value} ${unit}`
    }
    this.usual = note
    if (!this.pointed) set(this.note, note)
  }

  // Names the marks where there is room, the newest first: a reload shows its new revision. A name
  // stands left of its mark, or right of it at the chart's beginning.
  showMarks() {
    const shown = []
    let room = Infinity // up to there
    for (const one of [...this.chart.marked].reverse()) {
      const from = one.left < APART ? one.left : one.left - APART
      if (from + APART > room) continue
      shown.push(one)
      room = from
    }
    const there = keyed(this.labels, shown.map(({ left, text }) => `${left} ${text}`), () => make("span"))
    for (const { left, text } of shown) {
      const label = there.get(`${left} ${text}`)
      set(label, text)
      label.style.left = `${left}%`
      label.classList.toggle("end", left >= APART)
    }
  }

  follow(chart, describe) {
    chart.svg.addEventListener("pointermove", (event) => {
      const [values, ago, marks] = chart.at(event)
      this.pointed = true
      set(this.note, [...marks, values[0] == null ? `not known ${format.span(ago)} ago` : describe(values, ago)].join(" · "))
    })
    chart.svg.addEventListener("pointerleave", () => {
      this.pointed = false
      set(this.note, this.usual)
    })
  }
}
