// What the server has sent about each swarm, and which swarm is shown.

import { History } from "./charts.js"
import { chosenSwarm } from "./choice.js"

export const swarms = new Map()

export function current() {
  return swarms.get(chosenSwarm()) ?? swarms.values().next().value
}

// One message of the stream.
export function receive({ swarm, is, series, events, changes, point, event, mark }) {
  if (series) swarms.set(swarm, { name: swarm, view: is ?? swarms.get(swarm)?.view ?? {}, history: new History(series), events })
  const known = swarms.get(swarm)
  if (!known) return
  if (changes) known.view = merge(known.view, changes)
  if (point) known.history.add(point)
  if (mark) known.history.marks.push(mark)
  if (event?.event === "dead_lettered") dispatchEvent(new Event("dead-letter"))
  if (event) known.events = [...known.events, event].slice(-300)
}

// JSON Merge Patch, RFC 7396.
function merge(before, patch) {
  const after = { ...before }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key]
    else after[key] = isObject(value) && isObject(before?.[key]) ? merge(before[key], value) : value
  }
  return after
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
