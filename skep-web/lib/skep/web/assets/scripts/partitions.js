// The table of Kafka partitions: what fails in each, its lag, its rate and its node.

import { Chart } from "./charts.js"
import { definitions } from "./facts.js"
import { find, make, set } from "./dom.js"
import * as format from "./format.js"
import { toneOf } from "./problems.js"
import { Sheet } from "./sheet.js"
import { current } from "./state.js"

const text = (describe) => (cell, row) => set(cell, describe(row))
const line = (name) => (cell, row, key) => {
  const { history } = current()
  if (!cell.firstChild) cell.append(make("span"))
  if (!cell.chart && history.lines[`${name}/${key}`]) { // of thousands of partitions only some have one
    cell.chart = new Chart([{ line: `${name}/${key}`, tone: name }], { height: 20, title: `${name} over time` })
    cell.prepend(cell.chart.svg)
  }
  set(cell.lastChild, format.count(row[name]))
  cell.chart?.show(history)
}

// A value in place of the row's own: the moment at which its problem began, for sorting by age.
const since = (row) => row.failing?.since ?? row.stalled_since
const age = (row) => (since(row) == null ? null : format.age(since(row)))
const failures = (row) => row.retries + row.dead_letters + row.skipped

const sheet = new Sheet(find("partitions"), "Partitions", [
  { title: "Partition", name: "title", sort: (row) => `${row.topic} ${String(row.partition).padStart(6, "0")}`,
    show: (cell, row, key) => sheet.showToggle(cell, row, key, `${row.topic} ${row.partition}`) },
  { title: "Failing", name: "problem", worst: ["shortest first", "longest first"], sort: age, show: showProblem },
  { title: "Lag", name: "spark lag-cell", number: true, sort: (row) => row.lag, show: line("lag") },
  { title: "Per second", name: "spark extra", number: true, sort: (row) => row.rate, show: line("rate") },
  { title: "Node", name: "extra", sort: (row) => row.node && row.node.padStart(6, "0"), show: text((row) => row.node ?? format.NONE) },
  { title: "Batch, p50 … p99", name: "extra", number: true, sort: (row) => row.p99, show: text((row) => (row.p50 == null ? format.NONE : `${format.span(row.p50)} … ${format.span(row.p99)}`)) },
  { title: "Failures", name: "extra", number: true, sort: failures, show: text((row) => format.count(failures(row))) },
], showUnder, false, {
  name: "partitions", noun: "partition", hint: "topic, partition, work, node or error",
  words: (row) => `${row.topic} ${row.partition} ${row.topic}/${row.partition} ${row.group} ${row.work ?? ""} node ${row.node ?? ""} ${row.failing?.error ?? ""} ${row.failing?.at ?? ""}`,
  trouble: (row) => (since(row) == null ? undefined : toneOf(row.failing?.level)),
})

// What fails, for how long, where: never only by its colour.
function showProblem(cell, row) {
  if (!cell.firstChild) cell.append(make("span", { class: "badge" }), make("span", { class: "why" }), make("span", { class: "none" }))
  const [badge, why, none] = cell.children
  const { failing, stalled_since: stalled } = row
  badge.hidden = why.hidden = since(row) == null
  none.hidden = !badge.hidden
  set(none, format.NONE)
  if (since(row) == null) return
  badge.className = `badge ${toneOf(failing?.level)}`
  set(badge, failing ? `failing for ${format.span(age(row))}` : `stalled for ${format.span(format.age(stalled))}`)
  set(why, failing && [failing.at, failing.error ?? failing.words].filter(Boolean).join(": "))
}

function showUnder(cell, row) {
  const { failing } = row
  cell.replaceChildren(definitions([
    ["Failing", failing && `${failing.words}, since ${format.moment(format.began(failing.since))} (${format.span(age(row))})`],
    ["Offset", failing?.offset?.toLocaleString("en-US")], ["Attempt", failing?.attempt], ["Raised at", failing?.at], ["Error", failing?.error],
    ["Stalled", row.stalled_since != null && `since ${format.moment(format.began(row.stalled_since))}`],
    ["Group", row.group], ["Node", row.node ?? "none"], ["Position", row.position?.toLocaleString("en-US")], ["Lag", row.lag == null ? "not known" : row.lag.toLocaleString("en-US")],
    ["Batch", row.p50 != null && `${format.span(row.p50)} (p50), ${format.span(row.p99)} (p99)`], ["Per second", format.count(row.rate)],
    ["Messages", row.messages.toLocaleString("en-US")], ["Retries", format.count(row.retries)], ["Dead letters", format.count(row.dead_letters)],
    ["Skipped", format.count(row.skipped)], ["Rebalances", format.count(row.rebalances)],
  ].filter(([, value]) => value !== false)))
}

const before = (one, other) => (one < other ? -1 : one > other ? 1 : 0)
const order = ([, one], [, other]) => before(one.group, other.group) || before(one.topic, other.topic) || one.partition - other.partition

export function showPartitions(view) {
  const work = (row) => view.nodes?.[row.node]?.work_name
  const all = Object.entries(view.partitions ?? {}).sort(order)
  find("partitions-part").hidden = !all.length
  sheet.show(Object.fromEntries(view.works ? all.map(([key, row]) => [key, { ...row, work: work(row) }]) : all))
  set(find("groups"), Object.entries(view.totals ?? {}).map(([group, totals]) =>
    `Group ${group}: ${format.count(totals.messages)} messages, ${format.count(totals.retries)} retries, ` +
    `${format.count(totals.dead_letters)} dead letters, ${format.count(totals.rebalances)} rebalances since the swarm started.`).concat("Rows: since their node's start.").join(" "))
}
