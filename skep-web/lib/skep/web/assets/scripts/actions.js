// The buttons: an action that can't be undone asks first, and a notice shows the result.

import { find, make, mark, set } from "./dom.js"
import { current } from "./state.js"

export const meta = (name) => document.querySelector(`meta[name="skep-${name}"]`).content
const ACTIONS = {
  restart: { label: "Restart", text: "Replaces all nodes, one at a time, with the same code. Each new node is ready before the old one stops.", done: "Restart started." },
  reload: { label: "Reload", text: "Loads the swarm's file again, and replaces all nodes once the new code works.", done: "Reload started." },
  backtraces: { label: "Backtraces", done: "Backtraces requested: open a node to see its own." },
  quiet: { label: "Quiet", text: "Nodes finish the work in progress and take no more until Resume. A restart and a reload don't end this.", done: "The nodes take no more work.", hidden: (view) => view.state === "quiet" },
  resume: { label: "Resume", done: "The nodes take new work.", hidden: (view) => view.state !== "quiet" },
  stop: { label: "Stop", text: "Stops the swarm and all of its nodes. It can't be started again from this page.", done: "The swarm is stopping.", danger: true },
}
const stepper = { count: make("output", { "aria-live": "polite" }), work: make("select", { "aria-label": "work to scale", hidden: true }), wanted: null }
let confirmed = null // resolves the question that is open

export function setUpActions() {
  if (meta("acts") !== "true") return
  const buttons = Object.entries(ACTIONS).map(([command, { label, danger, hidden }]) => {
    const button = make("button", { class: danger ? "danger" : null, "data-action": command, hidden: Boolean(hidden) }, label)
    button.addEventListener("click", () => act(command))
    return button
  })
  find("ask").addEventListener("close", answered)
  find("actions").append(scale(), ...buttons)
  find("actions").hidden = false
}

function scale() {
  const step = (by, label, name) => {
    const button = make("button", { "aria-label": name, "data-step": by }, label)
    button.addEventListener("click", () => want(by))
    return button
  }
  stepper.apply = make("button", { class: "main", hidden: true, "data-action": "scale" }, "Scale")
  stepper.apply.addEventListener("click", () => {
    const work = stepper.work.value || undefined
    send("scale", { nodes: stepper.wanted, work }, `Scaling ${work ? `${work} ` : ""}to ${stepper.wanted} nodes.`)
  })
  stepper.work.addEventListener("change", () => { forget(); showActions(current().view) })
  return make("span", { class: "stepper" }, stepper.work, step(-1, "−", "one node fewer"), stepper.count, step(1, "+", "one node more"), stepper.apply)
}

// The number that a scale sets: nodes of the chosen work, where there are several.
function scaled(view) {
  return view.works?.[stepper.work.value] ?? view.scale?.nodes ?? view.sums?.nodes ?? 0
}

function showWorks(names) {
  stepper.work.hidden = names.length === 0
  const shown = [...stepper.work.options].map((option) => option.value)
  if (names.join("\n") === shown.join("\n")) return
  const chosen = stepper.work.value
  stepper.work.replaceChildren(...names.map((name) => make("option", { value: name }, name)))
  if (names.includes(chosen)) stepper.work.value = chosen
}

function want(by) {
  const nodes = scaled(current().view)
  stepper.wanted = Math.max(1, (stepper.wanted ?? nodes) + by)
  if (stepper.wanted === nodes) stepper.wanted = null
  showActions(current().view)
}

export function showActions(view) {
  if (!stepper.apply) return
  showWorks(Object.keys(view.works ?? {}))
  set(stepper.count, `${stepper.wanted ?? scaled(view)} nodes`)
  stepper.apply.hidden = stepper.wanted == null
  for (const button of find("actions").querySelectorAll("button")) {
    mark(button, "disabled", view.away ? "" : null)
    const hidden = ACTIONS[button.dataset.action]?.hidden
    if (hidden) button.hidden = hidden(view)
  }
}

export function forget() {
  stepper.wanted = null
}

async function act(command) {
  const { label, text, done, danger } = ACTIONS[command]
  if (text && !(await confirm(`${label} ${current().name}?`, text, label, danger))) return
  await send(command, {}, done)
}

// Returns a promise: true once the visitor has confirmed.
export function confirm(title, text, label, danger) {
  const dialog = find("ask")
  confirmed?.(false)
  set(find("ask-title"), title)
  set(find("ask-text"), text)
  set(find("ask-yes"), label)
  mark(find("ask-yes"), "class", danger ? "danger" : "main")
  dialog.returnValue = "no"
  dialog.showModal()
  return new Promise((resolve) => { confirmed = resolve })
}

// The event comes some time after the dialog has closed: it may be open again by then.
function answered() {
  const dialog = find("ask")
  if (dialog.open) return
  confirmed?.(dialog.returnValue === "yes")
  confirmed = null
}

async function send(command, facts, done) {
  const response = await fetch("actions", {
    method: "POST", headers: { "content-type": "application/json", "x-skep-token": meta("token") },
    body: JSON.stringify({ swarm: current().name, command, ...facts }),
  }).catch(() => null)
  if (command === "scale") forget()
  const answer = response?.ok ? await response.json().catch(() => ({})) : {}
  const quiet = answer.quiet ? " The swarm stays quiet until Resume." : ""
  notify(response?.ok ? done + quiet : (await response?.text()) ?? "The page's server doesn't answer.", !response?.ok)
}

export function notify(text, failed) {
  const place = find("notice")
  set(place, text)
  place.classList.toggle("bad", failed)
  place.classList.add("shown")
  clearTimeout(place.timer)
  place.timer = setTimeout(() => place.classList.remove("shown"), 6000)
}
