// What is wrong with a swarm: a strip above everything else, the most urgent first.

import { find, keyed, make, mark, set } from "./dom.js"
import * as format from "./format.js"

const MOST = 20 // that the server sends
const LATE = 5000 // ms by which the beginning of a problem has to differ to be another one
const TONES = { critical: "bad", warning: "warn", info: "busy" }

// The level of the most urgent problem; undefined if nothing is wrong but what an operator has asked for.
export const worst = (view) => (view.problems ?? []).map(({ level }) => level).find((level) => level !== "info")
export const toneOf = (level) => TONES[level] ?? "warn"

// undefined: it has none.
export const nodeTrouble = ({ unhealthy, crash_loop: loops, problem }) => (unhealthy || loops ? "bad" : problem && toneOf(problem.level))

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
    make("p", {}, make("span", { class: "badge" }), " ", make("b"), " ", make("code"), " ", make("span"), " ", make("time", { class: "muted" })),
    make("p", { class: "muted" })))
  problems.forEach((problem, index) => show(there.get(keys[index]), problem))
}

function show(row, { kind, level, subject, text, since, at, doing, advice }) {
  const [head, remedy] = row.children
  const [badge, who, where, what, how] = head.children
  mark(row, "class", toneOf(level))
  mark(badge, "class", `badge ${toneOf(level)}`)
  set(badge, kind.replaceAll("_", " "))
  set(who, subject)
  set(what, text)
  showSince(how, since)
  where.hidden = !at
  set(where, at)
  set(remedy, `${doing}. ${advice}`)
}

// Each status has an age of its own: its beginning must not waver by it.
function showSince(place, since) {
  place.hidden = since == null
  if (since == null) return
  const began = Date.now() - since * 1000
  if (!(Math.abs(place.began - began) < LATE)) place.began = began
  mark(place, "datetime", new Date(place.began).toISOString())
  mark(place, "title", format.utc(place.began))
  set(place, `for ${format.span(Math.round(since))}, since ${format.time(place.began)}`)
}

function count(problems, all = problems.length) {
  if (all > MOST) return `${all}, the first ${MOST} of them here`
  return ["critical", "warning"].map((level) => [level, problems.filter((one) => one.level === level).length])
    .filter(([, number]) => number).map(([level, number]) => `${number} ${level}${level === "warning" && number > 1 ? "s" : ""}`).join(", ")
}
