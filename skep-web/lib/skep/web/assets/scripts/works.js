// The works of a swarm that has several: how many of their nodes are ready, and what is wrong.

import { find, make, mark, set } from "./dom.js"
import * as format from "./format.js"
import { toneOf } from "./problems.js"
import { Sheet } from "./sheet.js"

const text = (describe) => (cell, row) => set(cell, describe(row))
const sheet = new Sheet(find("works"), "Works", [
  { title: "Work", name: "title", sort: (row) => row.name, show: text((row) => row.name) },
  { title: "Problem", name: "problem", show: showProblem },
  { title: "Nodes ready", number: true, sort: (row) => row.ready, show: text((row) => `${row.ready} of ${row.nodes}`) },
  { title: "Per second", number: true, sort: (row) => row.rate, show: text((row) => format.count(row.rate)) },
  { title: "Restarts", number: true, sort: (row) => row.restarts, show: text((row) => format.count(row.restarts)) },
], null, false, { name: "works", noun: "work", hint: "name", words: (row) => row.name, trouble: (row) => row.problem && toneOf(row.problem.level) })

export function showWorks(view) {
  const names = Object.keys(view.works ?? {}).sort()
  find("works-part").hidden = !names.length
  sheet.show(Object.fromEntries(names.map((name) => [name, row(name, view)])))
}

function row(name, view) {
  const nodes = Object.values(view.nodes ?? {}).filter((node) => node.work_name === name)
  const sum = (fact) => nodes.reduce((all, node) => all + (node[fact] ?? 0), 0)
  return { name, nodes: view.works[name], ready: nodes.filter(({ state }) => state === "ready").length, rate: sum("rate"), restarts: sum("restarts"),
           problem: (view.problems ?? []).find(({ work, level }) => work === name && level !== "info") }
}

export function showProblem(cell, { problem }) {
  if (!cell.firstChild) cell.append(make("span"))
  mark(cell.firstChild, "class", problem ? `badge ${toneOf(problem.level)}` : null)
  set(cell.firstChild, problem ? problem.kind.replaceAll("_", " ") : format.NONE)
}
