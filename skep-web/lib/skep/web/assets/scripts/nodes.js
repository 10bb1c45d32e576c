// The table of nodes. Details of a node: what its work reports, and where its threads hung.

import { Chart } from "./charts.js"
import { find, make, mark, set } from "./dom.js"
import { definitions } from "./facts.js"
import * as format from "./format.js"
import { nodeTrouble, toneOf } from "./problems.js"
import { Sheet } from "./sheet.js"
import { current } from "./state.js"

const text = (describe) => (cell, row) => set(cell, describe(row))
const sheet = new Sheet(find("nodes"), "Nodes", [
  { title: "Node", name: "title", show: (cell, row, key) => sheet.showToggle(cell, row, key, key) },
  { title: "State", name: "state", sort: (row) => row.state, show: showState },
  { title: "Work", name: "work", sort: (row) => row.work_name, show: text((row) => row.work_name ?? format.NONE) },
  { title: "Pid", number: true, show: text((row) => row.pid ?? format.NONE) },
  { title: "Last beat", number: true, sort: (row) => row.beat_age, show: text((row) => format.beat(row.beat_age)) },
  { title: "CPU", name: "cpu", number: true, sort: (row) => row.cpu, show: text((row) => (row.cpu == null ? format.NONE : `${format.count(row.cpu * 100)} %`)) },
  { title: "Per second", number: true, sort: (row) => row.rate, show: text((row) => format.count(row.rate)) },
  { title: "Memory", name: "memory", worst: ["lowest first", "highest first"], sort: (row) => row.memory?.uss, show: showMemory },
  { title: "Restarts", number: true, sort: (row) => row.restarts, show: text((row) => format.count(row.restarts)) },
  { title: "Last exit", name: "exit", worst: ["oldest first", "newest first"], sort: (row) => row.last_exit && -row.last_exit.seconds_ago, show: showExit },
], showUnder, false, {
  name: "nodes", noun: "node", hint: "node, state, work or pid",
  words: (row) => `node ${row.id} ${row.state} ${row.work_name ?? ""} ${row.pid ?? ""} ${row.problem?.kind.replaceAll("_", " ") ?? ""} ${format.exit(row.last_exit)}`,
  trouble: nodeTrouble,
})

export function showNodes(view) {
  const nodes = view.nodes ?? {}
  const most = Math.max(1, ...Object.values(nodes).map((node) => node.memory?.rss ?? 0))
  sheet.show(Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, { ...node, id, most }])))
  find("nodes").classList.toggle("one-work", !view.works)
  find("nodes").classList.toggle("no-cpu", Object.values(nodes).every((node) => node.cpu == null))
}

function showState(cell, row) {
  const state = row.unhealthy ? "unhealthy" : row.state
  if (!cell.firstChild) cell.append(make("span"), make("span"))
  badge(cell.firstChild, state, row.unhealthy ? "bad" : format.tone(row.state))
  mark(cell.firstChild, "title", row.unhealthy)
  const kind = row.problem?.kind ?? (row.crash_loop && "crash_loop")
  cell.lastChild.hidden = !kind || kind === row.state || kind === state
  if (kind) badge(cell.lastChild, kind.replaceAll("_", " "), toneOf(row.problem?.level ?? "critical"))
}

// How its last process ended, and how long ago.
function showExit(cell, { last_exit: last }) {
  if (!cell.firstChild) cell.append(make("span"), " ", make("span", { class: "muted when" }))
  set(cell.firstChild, format.exit(last))
  set(cell.lastChild, last?.seconds_ago == null ? "" : `${format.about(Math.round(last.seconds_ago))} ago`)
}

export function badge(element, state, tone) {
  mark(element, "class", `badge ${tone}`)
  set(element, state)
}

function showMemory(cell, row) {
  if (!cell.firstChild) {
    cell.chart = new Chart([{ line: `node/${row.id}`, tone: "own" }], { height: 20, title: "private memory over time" })
    cell.bar = make("span", { class: "meter" }, make("i", { class: "own" }), make("i", { class: "shared" }))
    cell.words = make("span", { class: "words" })
    cell.append(cell.chart.svg, make("span", { class: "stack" }, cell.words, cell.bar))
  }
  const { uss, shared } = row.memory ?? {}
  set(cell.words, uss == null ? format.NONE : `${format.bytes(uss)} + ${format.bytes(shared)}`)
  mark(cell.words, "title", uss == null ? null : `${format.bytes(uss)} private, ${format.bytes(shared)} shared with others`)
  cell.bar.firstChild.style.width = `${((uss ?? 0) / row.most) * 100}%`
  cell.bar.lastChild.style.width = `${((shared ?? 0) / row.most) * 100}%`
  cell.chart.show(current().history)
}

function showUnder(cell, row) {
  const deaths = row.deaths ?? {}
  const { hang, last_exit: last } = row
  const list = definitions([
    ["Unhealthy", row.unhealthy], ["Failure", row.failure],
    ["Last hang", hang && { At: hang.line, Reason: hang.reason, Pid: hang.pid, When: before(hang.seconds_ago) }],
    ["Last exit", last && { How: format.exit(last), When: before(last.seconds_ago) }],
    ["Deaths", `${deaths.boot ?? 0} at boot, ${deaths.work ?? 0} at work`], ["Mold", row.mold], ["Done", format.count(row.done)],
    ...Object.entries(row.facts ?? {}),
  ])
  cell.list ? cell.list.replaceWith(list) : cell.append(list)
  cell.list = list
  if (!cell.ask) {
    cell.ask = make("button", { class: "quiet" }, "Show backtraces")
    cell.threads = make("div")
    cell.ask.addEventListener("click", () => showThreads(cell.threads, row.id))
    cell.append(cell.ask, cell.threads)
  }
}

const before = (seconds) => (seconds == null ? null : `${format.moment(Date.now() - seconds * 1000)} (${format.span(Math.round(seconds))} ago)`)

async function showThreads(place, node) {
  const answer = await fetch(`threads?${new URLSearchParams({ swarm: current().name, node })}`)
  if (!answer.ok) return set(place, await answer.text())
  const { hang, asked } = await answer.json()
  const found = [hang && account(`At its last hang (${hang.reason}), ${format.span(hang.seconds_ago)} ago`, hang),
                 asked && account(`Requested at ${format.time(asked.time)}`, asked)].filter(Boolean).flat()
  place.replaceChildren(...(found.length ? found :
    [make("p", { class: "muted" }, "None: the node has not hung, and nobody has requested backtraces lately.")]))
}

// Ruby's view of the threads, then the kernel's, which works for every hang.
function account(title, { threads = [], tasks = [], ...facts }) {
  const ruby = (threads ?? []).map(({ name, status, tid, backtrace }) =>
    `${name} (${status}${tid ? `, tid ${tid}` : ""})\n${[backtrace].flat().map((line) => `  ${line}`).join("\n")}`)
  const kernel = (tasks ?? []).map((task) => Object.entries(task).map(([name, value]) => `${name} ${[value].flat().join(" < ")}`).join(", "))
  const others = Object.entries(facts).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
  return [make("h3", {}, title), make("pre", { tabindex: "0" }, [others.join("\n"), ...ruby, ...kernel].filter(Boolean).join("\n\n"))]
}
