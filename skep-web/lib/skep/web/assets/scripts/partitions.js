// The table of Kafka partitions: the node of each, its lag and its rate.

import { Chart } from "./charts.js"
import { find, set } from "./dom.js"
import * as format from "./format.js"
import { Sheet } from "./sheet.js"
import { current } from "./state.js"

const text = (describe) => (cell, row) => set(cell, describe(row))
const line = (name) => (cell, row, key) => {
  if (!cell.firstChild) {
    cell.chart = new Chart([{ line: `${name}/${key}`, tone: name }], { height: 20, title: `${name} over time` })
    cell.append(cell.chart.svg, document.createElement("span"))
  }
  set(cell.lastChild, format.count(row[name]))
  cell.chart.show(current().history)
}
const failing = ({ failing: facts }) =>
  (facts ? `${facts.words} for ${format.span(facts.seconds)}, attempt ${facts.attempt}` : format.NONE)
const sheet = new Sheet(find("partitions"), "Partitions", [
  { title: "Topic", name: "title", show: text((row) => `${row.topic} ${row.partition}`) },
  { title: "Node", number: true, show: text((row) => row.node ?? format.NONE) },
  { title: "Lag", name: "spark", number: true, show: line("lag") },
  { title: "Per second", name: "spark", number: true, show: line("rate") },
  { title: "Position", number: true, show: text((row) => (row.position == null ? format.NONE : row.position.toLocaleString("en-US"))) },
  { title: "Batch, p50 … p99", number: true, show: text((row) => (row.p50 == null ? format.NONE : `${format.span(row.p50)} … ${format.span(row.p99)}`)) },
  { title: "Retries", number: true, show: text((row) => format.count(row.retries)) },
  { title: "Dead letters", number: true, show: text((row) => format.count(row.dead_letters)) },
  { title: "Skipped", number: true, show: text((row) => format.count(row.skipped)) },
  { title: "Failing", show: text(failing) },
])

const order = (one, other) => one.group.localeCompare(other.group) || one.topic.localeCompare(other.topic) || one.partition - other.partition

export function showPartitions(view) {
  const partitions = Object.fromEntries(Object.entries(view.partitions ?? {}).sort(([, one], [, other]) => order(one, other)))
  find("partitions-part").hidden = !Object.keys(partitions).length
  sheet.show(partitions)
  set(find("groups"), Object.entries(view.totals ?? {}).map(([group, totals]) =>
    `Group ${group}: ${format.count(totals.messages)} messages, ${format.count(totals.retries)} retries, ` +
    `${format.count(totals.dead_letters)} dead letters, ${format.count(totals.rebalances)} rebalances since the swarm started.`).concat("Rows: since their node's start.").join(" "))
}
