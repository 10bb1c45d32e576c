// The buttons: each asks first where it can't be undone, and says what came of it.

import { find, make, mark, set } from "./dom.js"
import { current } from "./state.js"

const meta = (name) => document.querySelector(`meta[name="skep-${name}"]`).content
const DEEDS = {
  restart: { label: "Restart", text: "All nodes are renewed, one at a time, the new one ready first.", said: "The restart has begun." },
  reload: { label: "Reload", text: "The swarm's file is loaded anew, and nodes are replaced once it works.", said: "The reload has begun." },
  backtraces: { label: "Backtraces", said: "Every node was asked: look under it." },
  quiet: { label: "Quiet", text: "Nodes finish what they have and take no more. Only a restart of the swarm makes them work again.", said: "The nodes finish what they have." },
  stop: { label: "Stop", text: "The swarm ends, with all of its nodes. It can't be started again from here.", said: "The swarm is stopping.", grave: true },
}
const stepper = { count: make("output", { "aria-live": "polite" }), wanted: null }
let asking = null // who waits for the answer to the question that is open

export function setUpDeeds() {
  if (meta("acts") !== "true") return
  const buttons = Object.entries(DEEDS).map(([command, { label, grave }]) => {
    const button = make("button", { class: grave ? "grave" : null, "data-deed": command }, label)
    button.addEventListener("click", () => act(command))
    return button
  })
  find("ask").addEventListener("close", answered)
  find("deeds").append(scale(), ...buttons)
  find("deeds").hidden = false
}

function scale() {
  const step = (by, label, name) => {
    const button = make("button", { "aria-label": name, "data-step": by }, label)
    button.addEventListener("click", () => want(by))
    return button
  }
  stepper.apply = make("button", { class: "main", hidden: true, "data-deed": "scale" }, "Scale")
  stepper.apply.addEventListener("click", () => send("scale", { nodes: stepper.wanted }, `The swarm goes to ${stepper.wanted} nodes.`))
  return make("span", { class: "stepper" }, step(-1, "−", "one node fewer"), stepper.count, step(1, "+", "one node more"), stepper.apply)
}

function want(by) {
  const nodes = current().view.sums?.nodes ?? 0
  stepper.wanted = Math.max(1, (stepper.wanted ?? nodes) + by)
  if (stepper.wanted === nodes) stepper.wanted = null
  showDeeds(current().view)
}

export function showDeeds(view) {
  if (!stepper.apply) return
  const nodes = view.sums?.nodes ?? 0
  set(stepper.count, `${stepper.wanted ?? nodes} nodes`)
  stepper.apply.hidden = stepper.wanted == null
  for (const button of find("deeds").querySelectorAll("button")) mark(button, "disabled", view.away ? "" : null)
}

export function forget() {
  stepper.wanted = null
}

async function act(command) {
  const { label, text, said, grave } = DEEDS[command]
  if (text && !(await sure(`${label} ${current().name}?`, text, label, grave))) return
  await send(command, {}, said)
}

function sure(title, text, label, grave) {
  const dialog = find("ask")
  asking?.(false)
  set(find("ask-title"), title)
  set(find("ask-text"), text)
  set(find("ask-yes"), label)
  mark(find("ask-yes"), "class", grave ? "grave" : "main")
  dialog.returnValue = "no"
  dialog.showModal()
  return new Promise((done) => { asking = done })
}

// The event comes some time after the end of a question: the next one may be open by then.
function answered() {
  const dialog = find("ask")
  if (dialog.open) return
  asking?.(dialog.returnValue === "yes")
  asking = null
}

async function send(command, facts, said) {
  const answer = await fetch("deeds", {
    method: "POST", headers: { "content-type": "application/json", "x-skep-token": meta("token") },
    body: JSON.stringify({ swarm: current().name, command, ...facts }),
  }).catch(() => null)
  if (command === "scale") forget()
  say(answer?.ok ? said : (await answer?.text()) ?? "The page's server doesn't answer.", !answer?.ok)
}

function say(text, wrong) {
  const place = find("said")
  set(place, text)
  place.classList.toggle("bad", wrong)
  place.classList.add("shown")
  clearTimeout(place.timer)
  place.timer = setTimeout(() => place.classList.remove("shown"), 6000)
}
