// The button that profiles a swarm for some seconds, and the methods that took the most CPU time.

import { meta, notify } from "./actions.js"
import { find, mark, set } from "./dom.js"
import { Sheet } from "./sheet.js"
import { current } from "./state.js"

const SECONDS = 5
const text = (describe) => (cell, row) => set(cell, describe(row))
const name = (path) => path.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "")
const sheet = new Sheet(find("profile"), "Hottest methods", [
  { title: "Work", show: text((row) => row.work) },
  { title: "CPU time", number: true, show: text((row) => `${row.percent}%`) },
  { title: "Method", show: text((row) => row.name) },
  { title: "At", show: (cell, row) => {
    set(cell, row.file ? `${name(row.file)}:${row.line}` : "")
    mark(cell, "title", row.file ? `${row.file}:${row.line}` : null)
  } },
  { title: "In", show: text((row) => (row.in && row.in.name !== row.name ? row.in.name : "")) },
])

export function setUpProfile() {
  find("profile-part").hidden = meta("acts") !== "true"
  find("profile-start").addEventListener("click", profile)
  addEventListener("hashchange", forget)
}

function forget() {
  sheet.show({})
  find("profile").hidden = true
  set(find("profile-note"), "")
}

async function profile() {
  const { name: swarm } = current()
  find("profile-start").disabled = true
  set(find("profile-note"), `Samples all nodes of ${swarm} for ${SECONDS} seconds …`)
  const response = await fetch("actions", {
    method: "POST", headers: { "content-type": "application/json", "x-skep-token": meta("token") },
    body: JSON.stringify({ swarm, command: "profile" }),
  }).catch(() => null)
  find("profile-start").disabled = false
  if (current()?.name !== swarm) return
  if (response?.ok) return show(await response.json())
  forget()
  notify((await response?.text()) ?? "The page's server doesn't answer.", true)
}

function show({ seconds, cpu, works, missing }) {
  const rows = Object.entries(works).flatMap(([work, methods]) => methods.map((method) => ({ work, ...method })))
  sheet.show(Object.fromEntries(rows.map((row, index) => [index, row])))
  find("profile").hidden = !rows.length
  const left = missing.map(({ node, why }) => ` Node ${node} isn't in it: ${why}.`).join("")
  set(find("profile-note"), `${seconds} seconds, ${cpu.toFixed(1)} s of CPU time.${left} In a terminal: skep profile ${current().name}`)
}
