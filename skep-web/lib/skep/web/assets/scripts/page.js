// The page: while it is visible, it receives one stream of events for all swarms, and shows one swarm.

import { forget, setUpActions, showActions } from "./actions.js"
import { showCards } from "./cards.js"
import { choose, chosen, linkTo } from "./choice.js"
import { find, keyed, make, mark, set } from "./dom.js"
import { showEvents, showSuspects } from "./events.js"
import * as format from "./format.js"
import { badge, showNodes } from "./nodes.js"
import { showPartitions } from "./partitions.js"
import { setUpProfile } from "./profile.js"
import { showProblems, toneOf, worst } from "./problems.js"
import { clear } from "./sheet.js"
import { current, receive, swarms } from "./state.js"
import { showWorks } from "./works.js"

let stream = null
let due = false
let rowsDue = false

function listen() {
  stream = new EventSource("live")
  stream.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data)
    message.swarms ? swarms.clear() : receive(message)
    showSoon(!message.event)
  })
  stream.addEventListener("open", () => live("live", "good"))
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) return refused()
    live("the page's server doesn't answer", "bad")
  })
}

// After a log-out the page shows the login form. Otherwise too many pages are open: try again later.
async function refused() {
  const { status } = await fetch("threads").catch(() => ({}))
  if (status === 401) return location.reload()
  live("too many pages are open, or the page's server doesn't answer", "bad")
  setTimeout(() => document.hidden || listen(), 5000)
}

function live(text, tone) {
  set(find("live"), text)
  mark(find("live"), "class", `live ${tone}`)
}

// Once for all messages before the next frame. An event changes no row: to sort and draw thousands
// of them at each would keep the browser busy.
function showSoon(rows = true) {
  rowsDue ||= rows
  if (due) return
  due = true
  requestAnimationFrame(() => { due = false; show(rowsDue) })
}

function show(rows = true) {
  rowsDue = false
  const known = current()
  find("nothing").hidden = Boolean(known)
  find("swarm").hidden = !known
  showZone()
  showSwarms(known)
  if (!known) return
  const { view, history, events } = known
  format.synchronise(view.clock)
  showHead(known.name, view)
  showAlarm(view)
  showProblems(view)
  if (view.nodes) showCards(view, history)
  if (rows) [showWorks, showNodes, showPartitions].forEach((showRows) => showRows(view))
  showSuspects(view.suspects)
  showEvents(events)
  showActions(view)
}

function showSwarms(known) {
  const links = keyed(find("swarms"), swarms.size > 1 ? [...swarms.keys()] : [], (name) =>
    make("a", {}, make("i"), name))
  for (const [name, link] of links) {
    mark(link, "href", linkTo(name))
    mark(link, "aria-current", known?.name === name ? "page" : null)
    const view = swarms.get(name)?.view ?? {}
    mark(link.firstChild, "class", view.away ? "bad" : worst(view) ? toneOf(worst(view)) : "good")
  }
}

const trouble = (view) => view.away || worst(view) === "critical"

function showHead(name, view) {
  const state = view.away ? "away" : view.state
  document.title = `${trouble(view) ? "⚠ " : ""}${name} · skep`
  set(find("name"), name)
  badge(find("state"), state, view.away || !worst(view) ? format.tone(state) : toneOf(worst(view)))
  set(find("about"), view.pid == null ? "" :
    `up ${format.span(view.uptime)} · pid ${view.pid} · skep ${view.skep} · ruby ${view.ruby}${view.revision ? ` · revision ${view.revision.slice(0, 12)}` : ""} · `)
  find("swarm").classList.toggle("away", Boolean(view.away))
}

// The times of the whole page have one zone.
function showZone() {
  const utc = chosen("times") === "utc"
  set(find("zone"), `times: ${format.inUtc(utc)}`)
  set(find("other-zone"), utc ? "Times of this browser's zone" : "Times in UTC")
}

// On a narrow screen what is wrong comes before the buttons.
function placeActions() {
  narrow.matches ? find("events-part").before(find("actions")) : find("head").append(find("actions"))
}

function showAlarm(view) {
  const text = view.away ? `Swarm ${current().name} is away: ${view.away}. The page shows the last known values and keeps looking.` : ""
  set(find("alarm"), text)
  find("alarm").hidden = !text
}

// A hidden page closes its stream, so that it costs the swarms nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stream?.close(); stream = null } else if (!stream) listen()
})
addEventListener("hashchange", () => { forget(); clear(); show() })
addEventListener("choice", () => showSoon())
find("other-zone").addEventListener("click", () => choose("times", chosen("times") ? "" : "utc"))
const narrow = matchMedia("(max-width: 820px)")
narrow.addEventListener("change", () => { placeActions(); show() })
placeActions()
setUpActions()
setUpProfile()
if (find("dead-letters")) import("./dead_letters.js")
if (!document.hidden) listen()
