// What is wrong with a swarm: a strip above everything else, the most urgent first.

import { find, keyed, make, mark, set } from "./dom.js"
import * as format from "./format.js"

const MOST = 20 // that the server sends
const TONES = { critical: "bad", warning: "warn", info: "busy" }

// The level of the most urgent problem; undefined if nothing is wrong but what an operator has asked for.
export const worst = (view) => (view.problems ?? []).map(({ level }) => level).find((level) => level !== "info")
export const toneOf = (level) => TONES[level] ?? "warn"

export function showProblems(view) {
  const problems = view.away ? [] : view.problems ?? []
  find("problems-part").hidden = !problems.length
  set(find("problems-count"), count(problems, view.problem_count))
  const seen = new Map()
  const keys = problems.map(({ kind, subject }) => {
    const key = `${kind} ${subject}`
    seen.set(key, (seen.get(key) ?? 0) + 1)
    return `${key} ${seen.get(key)}`
  })
  const there = keyed(find("problems"), keys, () => make("li", {},
    make("p", {}, make("span", { class: "badge" }), " ", make("b"), " ", make("span"), " ", make("span", { class: "muted" }),
         " ", make("code")), make("p", { class: "muted" })))
  problems.forEach((problem, index) => show(there.get(keys[index]), problem))
}

function show(row, { kind, level, subject, text, since, at, doing, advice }) {
  const [head, remedy] = row.children
  const [badge, who, what, how, where] = head.children
  mark(row, "class", toneOf(level))
  mark(badge, "class", `badge ${toneOf(level)}`)
  set(badge, kind.replaceAll("_", " "))
  set(who, subject)
  set(what, text)
  set(how, since == null ? "" : `for ${format.span(Math.round(since))}`)
  set(where, at ?? "")
  set(remedy, `${doing}. ${advice}`)
}

function count(problems, all = problems.length) {
  const urgent = ["critical", "warning"].map((level) => [level, problems.filter((one) => one.level === level).length])
    .filter(([, number]) => number).map(([level, number]) => `${number} ${level}`).join(", ")
  return [urgent, all > MOST && `the first ${MOST} of ${all}`].filter(Boolean).join("; ")
}
