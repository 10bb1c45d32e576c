// The cards at the top: nodes that are ready, throughput, lag and memory.

import { Card, Chart } from "./charts.js"
import { find, keyed, make, mark, set } from "./dom.js"
import * as format from "./format.js"
import { nodeTrouble } from "./problems.js"

const strip = make("div", { class: "strip", role: "img", "aria-label": "state of each node" })
const legend = (tone, text) => make("span", { class: `legend ${tone}` }, text)
const before = (seconds) => (seconds ? `${format.span(seconds)} ago` : "just now")
const cards = {
  nodes: new Card("Nodes ready", strip),
  rate: new Card("Throughput", new Chart([{ line: "rate", tone: "rate" }], { title: "throughput over time" }),
                 { describe: ([rate], ago) => `${format.count(rate)} per second ${before(ago)}` }),
  lag: new Card("Lag", new Chart([{ line: "lag", tone: "lag" }], { title: "lag over time" }),
                { describe: ([lag], ago) => `${format.count(lag)} ${before(ago)}` }),
  memory: new Card("Memory", new Chart([{ line: "own", tone: "own" }, { line: "shared", tone: "shared" }],
                                       { stacked: true, title: "memory over time, private and shared" }),
                   { legend: [legend("own", "private"), legend("shared", "shared")],
                     describe: ([own, shared], ago) => `${format.bytes(own)} + ${format.bytes(shared)} ${before(ago)}` }),
}
find("cards").append(...Object.values(cards).map((card) => card.element))

export function showCards(view, history) {
  const sums = view.sums ?? {}
  const nodes = Object.entries(view.nodes ?? {}).filter(([id]) => /^\d+$/.test(id)) // no spares
  const restarts = nodes.reduce((sum, [, node]) => sum + node.restarts, 0)
  cards.nodes.show(format.count(sums.ready), `of ${sums.nodes ?? 0}`,
                   [sums.spares && `${sums.spares} spare`, `${format.count(restarts)} restarts`].filter(Boolean).join(", "))
  cards.rate.show(format.count(sums.rate), "per second", top(history, "rate", sums.rate, (value) => `peak ${format.count(value)}`))
  cards.lag.show(format.count(sums.lag), sums.lag_unknown ?? "", top(history, "lag", sums.lag, (value) => `peak ${format.count(value)}`))
  cards.lag.element.hidden = sums.lag == null
  cards.memory.show(format.bytes(sums.own + sums.shared), "", `${format.bytes(sums.own)} private`)
  showStrip(view.nodes ?? {})
  for (const card of [cards.rate, cards.lag, cards.memory]) {
    card.chart.show(history)
    card.showMarks()
    set(card.foot, `last ${format.span(card.chart.seconds)}`)
  }
}

function top(history, line, now, describe) {
  const known = [...(history.lines[line] ?? []), now].filter((value) => value != null)
  return known.length ? describe(Math.max(...known)) : ""
}

function showStrip(nodes) {
  const there = keyed(strip, Object.keys(nodes), () => make("i"))
  for (const [id, node] of Object.entries(nodes)) {
    mark(there.get(id), "class", nodeTrouble(node) ?? format.tone(node.state))
    mark(there.get(id), "title", [`${id}: ${node.state}`, node.problem?.kind.replaceAll("_", " ")].filter(Boolean).join(", "))
  }
}
