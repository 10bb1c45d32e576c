// The last events and those that happen, the newest first, and what was in flight when nodes crashed.

import { find, keyed, make, set } from "./dom.js"
import * as format from "./format.js"

const MOST = 300

export function showEvents(events) {
  const lines = new Map(events.slice(-MOST).reverse().map((event) => [`${event.seq} ${event.time}`, event]))
  keyed(find("events"), [...lines.keys()], (key) => line(lines.get(key)))
  find("events").classList.toggle("none", !lines.size)
}

// gap: how many events are missing there.
function line({ time, level, event, node, text, gap }) {
  if (gap) return make("li", { class: "gap" }, gap)
  return make("li", { class: level },
              make("time", { datetime: time }, format.time(time)),
              make("b", {}, event.replaceAll("_", " ")),
              make("span", { class: "origin" }, /^\d+$/.test(node) ? `node ${node}` : node ?? ""),
              make("span", { class: "muted" }, text))
}

export function showSuspects(suspects = []) {
  const worst = [...suspects].sort((one, other) => other.alone - one.alone || other.crashes - one.crashes)
  find("suspects-part").hidden = !worst.length
  const there = keyed(find("suspects"), worst.map((one) => one.in_flight), () => make("li", {}, make("b"), " ", make("span")))
  for (const { in_flight, crashes, alone, ends = [] } of worst) {
    set(there.get(in_flight).firstChild, in_flight)
    set(there.get(in_flight).lastChild, `${crashes} crashes, ${alone} with nothing else in flight (${ends.join("; ")})`)
  }
}
