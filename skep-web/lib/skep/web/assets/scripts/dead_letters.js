// The dead letter topics: letters by error, single letters, and replay and purge for a visitor that
// may act. The server reads topics in the background: the page asks until the answer is there.
// Several processes may serve the page, each with its own results: the newest counts.

import { confirm, meta, notify } from "./actions.js"
import { find, make, mark, set } from "./dom.js"
import { definitions } from "./facts.js"
import * as format from "./format.js"
import { Sheet } from "./sheet.js"

const AWAY = "The page's server doesn't answer."
const LOST = "its server process has ended, or other processes answer. It may still run."
const OLD = 60_000 // ms: an older list is read again when the page is opened
const PATIENCE = 30 // times that letters older than the list are read again
const MISSES = 40 // answers of other processes, without the command that runs
const topics = new Map()

const pause = (ms) => new Promise((done) => { setTimeout(done, ms) })
const before = (ago) => Date.now() - ago * 1000
const since = (at) => format.span(Math.max(1, Math.round((Date.now() - at) / 1000)))
const text = (describe) => (cell, row) => set(cell, describe(row))
const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value != null && value !== ""))

const seenOf = ({ count, newest }) => `${count} ${newest}`
const dated = (iso) => (iso ? `${format.moment(iso)} (${format.about(format.ago(iso))})` : format.NONE)

// A filter for a group's letters; null: there is none.
const filterOf = ({ error, from, example }) => {
  const part = error === "unknown" ? example : error
  return part ? given({ error: part.replace(/…$/, ""), from }) : null
}

class Topic {
  constructor(name) {
    this.name = name
    this.head = make("p", { class: "muted" })
    this.problem = make("p", { class: "alarm", role: "alert", hidden: true })
    this.outcome = make("p", { role: "status" })
    this.place = make("div", { class: "sheet" })
    const refresh = make("button", { "aria-label": `Refresh ${name}` }, "Refresh")
    refresh.addEventListener("click", () => this.want(Date.now()))
    this.element = make("div", { class: "dead" },
                        make("div", { class: "dead-head" }, make("h3", {}, name), this.head, refresh),
                        this.problem, this.place)
    this.sheet = new Sheet(this.place, `Dead letters in ${name}`, [
      { title: "Error", name: "title", show: (cell, row, key) => this.showToggle(cell, row, key) },
      { title: "Letters", number: true, show: text((row) => row.count.toLocaleString("en-US")) },
      { title: "From", name: "from", show: text((row) => row.from ?? format.NONE) },
      { title: "Oldest", name: "whole", show: text((row) => dated(row.oldest)) },
      { title: "Newest", name: "whole", show: text((row) => dated(row.newest)) },
      { title: "Example", name: "wide", show: text((row) => row.example) },
    ], (cell, row) => this.showUnder(cell, row), true)
    if (meta("acts") === "true") this.element.append(this.makeForm())
    this.element.append(this.outcome)
  }

  // A list that was read then or later is wanted.
  want(time) {
    this.wanted = Math.max(this.wanted ?? 0, time)
    this.follow()
  }

  // Asks while the page is visible and waits for something.
  async follow() {
    if (this.following) return
    this.following = true
    try {
      for (let turn = 0; !document.hidden && (this.wanted != null || this.command?.running); turn += 1) {
        const known = await this.ask()
        this.show()
        await pause(known ? (turn < 5 ? 300 : 1000) : 5000)
      }
    } finally {
      this.following = false
    }
  }

  async ask() {
    const age = this.wanted == null ? 1e9 : (Date.now() - this.wanted) / 1000
    const response = await fetch(`dead_letters?${new URLSearchParams({ topic: this.name, max_age: age })}`).catch(() => null)
    if (response?.ok) this.receive(await response.json())
    this.away = response?.ok ? null : (await response?.text()) ?? AWAY
    return response?.ok
  }

  receive({ list, failure, failed_ago, reading, command }) {
    if (list?.groups && before(list.ago) > (this.list?.at ?? 0)) this.list = { ...list, at: before(list.ago) }
    if (failure && before(failed_ago) > (this.failure?.at ?? 0)) this.failure = { failure, at: before(failed_ago) }
    this.reading = reading
    this.receiveCommand(command)
    if (list && !list.groups && before(list.ago) > (this.list?.at ?? 0) + 1000) this.wanted ??= before(list.ago) - 1000
    const newest = Math.max(this.list?.at ?? 0, this.failure?.at ?? 0)
    if (!reading && this.wanted != null && newest >= this.wanted) this.wanted = null
  }

  receiveCommand(command) {
    const ran = this.command?.running
    const began = command && before(command.seconds)
    if (command && (command.id === this.command?.id || began > (this.command?.began ?? 0))) {
      this.command = { ...command, began, at: command.ago == null ? null : before(command.ago) }
      this.misses = 0
    } else if (ran && (this.misses = (this.misses ?? 0) + 1) > MISSES) {
      this.command = { ...this.command, running: false, at: Date.now(), failure: LOST }
    }
    if (ran && !this.command.running && !this.command.dry_run) this.want(Date.now())
  }

  show() {
    const { list, failure, command } = this
    const sentence = this.away ?? (failure && failure.at > (list?.at ?? 0) ? failure.failure : null)
    set(this.problem, sentence)
    this.problem.hidden = !sentence
    const more = list?.more ? `, ${list.more} more groups than shown` : ""
    const count = list && (list.letters ? `${list.letters.toLocaleString("en-US")} letter${list.letters === 1 ? "" : "s"}${more}` : "No letters")
    set(this.head, [count && `${count}, counted ${since(list.at)} ago`, this.reading && "reading"].filter(Boolean).join(" · "))
    this.place.hidden = !list?.letters
    if (this.form) this.form.hidden = this.place.hidden
    this.sheet.show(Object.fromEntries((list?.groups ?? []).map((group) => [JSON.stringify([group.error, group.from]), group])))
    set(this.outcome, command && describe(command))
    this.form?.querySelectorAll("button").forEach((button) => mark(button, "disabled", command?.running ? "" : null))
  }

  showToggle(cell, row, key) {
    cell.row = row
    if (cell.firstChild) return
    const button = make("button", { class: "toggle", "aria-expanded": "false" }, row.error)
    button.addEventListener("click", () => mark(button, "aria-expanded", this.sheet.toggle(key, cell.row)))
    cell.append(button)
  }

  showUnder(cell, row) {
    const { letters: open } = cell
    if (open && open.seen !== seenOf(row)) this.showLetters(open, open.filter, open.limit, row)
    if (cell.firstChild) return
    const filter = filterOf(row)
    if (!filter) return cell.append(make("p", {}, "These letters have no error: no filter finds them alone."))
    const letters = (cell.letters = make("div", { class: "letters" }))
    const more = make("button", { class: "quiet" }, "Show up to 50")
    more.addEventListener("click", () => this.showLetters(letters, filter, 50, cell.row))
    cell.row = row
    const choose = this.form && row.from && make("button", { class: "choose" }, "Replay or purge these")
    choose?.addEventListener("click", () => this.choose(filter))
    cell.append(letters, make("div", { class: "actions" }, choose, more))
    this.showLetters(letters, filter, 3, row)
  }

  // Reads them again once the list says that there are others; those that are shown stay until then.
  async showLetters(place, filter, limit, row) {
    const query = new URLSearchParams({ topic: this.name, limit, ...filter })
    if (place.limit !== limit) set(place, "Reading")
    Object.assign(place, { seen: seenOf(row), filter, limit })
    const read = () => fetch(`dead_letters/messages?${query}`).catch(() => null)
    let response = await read()
    let answer = null
    for (let turn = 0; ; turn += 1) {
      if (response && !response.ok) return set(place, await response.text())
      if (!response) return set(place, AWAY)
      answer = await response.json()
      const older = before(answer.ago ?? 0) < (this.list?.at ?? 0) - 1000 // than the list: the server had read them before
      if (response.status !== 202 && !(older && turn < PATIENCE)) break
      await pause(response.status === 202 ? 400 : 1000)
      response = await read()
    }
    const { letters, failure } = answer
    if (!letters?.length) return set(place, failure ?? "These letters are gone.")
    place.replaceChildren(...letters.map(account))
  }

  makeForm() {
    const field = (name, label, facts = {}) => make("label", {}, label, make("input", { name, autocomplete: "off", ...facts }))
    const number = { type: "number", min: 1 }
    const button = (action, label, tone) => make("button", { class: tone, value: action, "data-dead": action }, label)
    this.form = make("form", { class: "filter sheet", "aria-label": `Replay or purge letters of ${this.name}` },
                     field("error", "Error contains"), field("from", "From topic"), field("key", "Key"), field("limit", "Dead letters at most", number),
                     field("rate", "Replays per second", { type: "number", min: 0, step: "any" }),
                     field("max_replays", "Replays of a letter", { ...number, placeholder: 3 }),
                     make("label", { class: "check" }, make("input", { type: "checkbox", name: "dry_run", checked: "" }), "Dry run: only count"),
                     make("div", { class: "actions" }, button("replay", "Replay", "main"), button("purge", "Purge", "danger")))
    this.form.addEventListener("submit", (event) => {
      event.preventDefault()
      this.act(event.submitter?.value ?? "replay")
    })
    return this.form
  }

  choose(filter) {
    for (const name of ["error", "from", "key"]) this.form.elements[name].value = filter[name] ?? ""
    this.form.elements.error.focus()
  }

  async act(action) {
    const { dry_run, rate, max_replays, ...filter } = Object.fromEntries(new FormData(this.form))
    const facts = given({ topic: this.name, action, ...filter, ...(action === "replay" ? { rate, max_replays } : {}) })
    if (!dry_run && !(await confirm(...this.question(facts)))) return
    const response = await fetch("dead_letters", {
      method: "POST", headers: { "content-type": "application/json", "x-skep-token": meta("token") },
      body: JSON.stringify({ ...facts, dry_run: Boolean(dry_run) }),
    }).catch(() => null)
    if (!response?.ok) return notify((await response?.text()) ?? AWAY, true)
    this.command = { ...(await response.json()), running: true, began: Date.now() }
    this.misses = 0
    this.show()
    this.follow()
  }

  question({ action, error, from, key, limit, rate }) {
    const which = [error && `whose error contains "${error}"`, from && `that come from ${from}`, key && `with the key "${key}"`].filter(Boolean)
    const letters = `${limit ? `at most ${limit}` : which.length ? "the" : "all"} letters of ${this.name}${which.length ? ` ${which.join(", ")}` : ""}`
    if (action === "purge") return [`Purge ${this.name}?`, `Deletes ${letters}, for good.`, "Purge", true]
    return [`Replay ${this.name}?`, `Writes ${letters} back to their original partitions${rate ? `, ${rate} per second` : ""}, ` +
      "and deletes them here. Correct the handler first.", "Replay", false]
  }
}

function describe({ action, dry_run, by, error, from, key, running, began, at, counts, failure }) {
  const filter = [error && `error ${error}`, from && `from ${from}`, key && `key ${key}`].filter(Boolean).join(", ")
  const what = `${dry_run ? "Dry run of a " : ""}${action}${filter ? ` (${filter})` : ""}${by ? ` by ${by}` : ""}`
  const name = `${what[0].toUpperCase()}${what.slice(1)}`
  if (running) return `${name} is running since ${format.time(began)}.`
  if (failure) return `${name} failed at ${format.time(at)}: ${failure}`
  return `${name} ended at ${format.time(at)}: ${Object.entries(counts ?? {}).map(([word, count]) => `${count} ${word}`).join(", ")}.`
}

// A letter: facts, headers, error and payload.
function account({ letter, from, time, host, revision, attempts, crashes, replays, key, key_base64, headers, error, at, payload, payload_base64, bytes }) {
  const facts = { Letter: letter, Time: time && dated(time), Key: key, "Key, base64": key_base64, "Raised at": at, Attempts: attempts, Crashes: crashes,
                  Replays: replays || null, Host: host, Revision: revision, ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [`Header ${name}`, value])) }
  const body = payload ?? payload_base64
  return make("div", { class: "letter" }, make("h4", {}, from ?? letter),
              definitions(Object.entries(facts)),
              error ? make("pre", { tabindex: "0" }, error) : null,
              make("p", { class: "muted" }, body == null ? "No payload" : `Payload, ${bytes} bytes${payload == null ? ", base64" : ""}`),
              body == null ? null : make("pre", { tabindex: "0" }, body))
}

// What other visitors do. The server reads no topic for it.
async function look() {
  const response = await fetch("dead_letters").catch(() => null)
  if (!response?.ok) return
  for (const facts of (await response.json()).topics) {
    if (!topics.has(facts.topic)) add(facts.topic)
    const topic = topics.get(facts.topic)
    topic.receive(facts)
    topic.show()
    topic.follow()
  }
}

function add(name) {
  const topic = new Topic(name)
  topics.set(name, topic)
  find("dead-topics").append(topic.element)
  topic.want(Date.now() - OLD)
}

let due = null
async function turn() {
  clearTimeout(due)
  if (document.hidden) return
  await look().finally(() => { due = setTimeout(turn, 10_000) })
}

// The lists are read again soon after an event of a dead letter, so that no count is older than the
// events beside it.
let recount = null
addEventListener("dead-letter", () => {
  recount ??= setTimeout(() => {
    recount = null
    for (const topic of topics.values()) topic.want(Date.now())
  }, 3000)
})

addEventListener("choice", () => topics.forEach((topic) => topic.show()))
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return
  for (const topic of topics.values()) topic.want(Date.now() - OLD)
  turn()
})
turn()
