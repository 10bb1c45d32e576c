// The last events and those that happen, the newest first, and what was in flight when nodes crashed.

import { find, keyed, make, mark, set } from "./dom.js"
import { definitions } from "./facts.js"
import * as format from "./format.js"
import { current } from "./state.js"

const MOST = 300

export function showEvents(events) {
  const lines = new Map(events.slice(-MOST).reverse().map((event) => [`${event.seq} ${event.time}`, event]))
  const there = keyed(find("events"), [...lines.keys()], (key) => line(lines.get(key)))
  for (const [key, { time, gap }] of lines) if (!gap) showTime(there.get(key), time)
  find("events").classList.toggle("none", !lines.size)
}

// gap: how many events are missing there.
function line({ seq, time, level, event, node, text, gap }) {
  if (gap) return make("li", { class: "gap" }, gap)
  const item = make("li", { class: level },
                    make("time", { datetime: time, title: format.utc(time) }), make("span", { class: "age" }),
                    make("button", { type: "button", class: "toggle", "aria-expanded": "false" }, make("b", {}, event.replaceAll("_", " "))),
                    make("span", { class: "origin" }, /^\d+$/.test(node) ? `node ${node}` : node ?? ""),
                    make("span", { class: "text" }, text))
  item.querySelector("button").addEventListener("click", () => toggle(item, { seq, time }))
  return item
}

function showTime({ children: [clock, age] }, time) {
  set(clock, format.time(time))
  set(age, format.about(format.ago(time)))
}

async function toggle(item, { seq, time }) {
  const button = item.querySelector("button")
  mark(button, "aria-expanded", button.getAttribute("aria-expanded") !== "true")
  if (item.facts) return item.facts.remove(), (item.facts = null)
  const place = (item.facts = item.appendChild(make("div", { class: "facts" }, "Reading")))
  const answer = await fetch(`event?${new URLSearchParams({ swarm: current().name, seq, time })}`).catch(() => null)
  if (!answer?.ok) return set(place, (await answer?.text()) ?? "The page's server doesn't answer.")
  const { time: at, ...facts } = await answer.json()
  place.replaceChildren(definitions([["time", `${format.moment(at)} (${at})`], ...Object.entries(facts)]))
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
