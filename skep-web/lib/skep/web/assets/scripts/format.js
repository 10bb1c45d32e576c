// Numbers and times as text for people.

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 })
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 })
const clock = { timeStyle: "medium", hourCycle: "h23" }
const calendar = { dateStyle: "short", timeStyle: "medium" } // of Sweden: as of ISO 8601
let zone = null // of the times: null for the browser's, or "UTC"
let clocks = null
let seen = null
let ahead = { mono: 0, time: 0 } // what to add to Date.now() for the swarm's own clocks, in seconds

export const NONE = "–"

export function count(value) {
  if (value == null) return NONE
  return Math.abs(value) < 100_000 ? plain.format(value < 100 ? value : Math.round(value)) : short.format(value)
}

export function bytes(value) {
  if (value == null) return NONE
  const unit = value < 1 << 30 ? [1 << 20, "MiB"] : [1 << 30, "GiB"]
  const size = value / unit[0]
  return `${size.toFixed(size < 100 ? 1 : 0)} ${unit[1]}`
}

export function span(seconds) {
  if (seconds == null) return NONE
  if (!seconds) return "0 s"
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`
  if (seconds < 60) return `${plain.format(seconds)} s`
  const parts = [[86400, "d"], [3600, "h"], [60, "min"]]
    .map(([size, unit], index, all) => [Math.floor((index ? seconds % all[index - 1][0] : seconds) / size), unit])
  const first = parts.findIndex(([value]) => value > 0)
  return parts.slice(first, first + 2).filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`).join(" ")
}

export const beat = (seconds) => (seconds == null ? NONE : `${seconds.toFixed(1)} s`)
export const time = (at) => formats().clock.format(new Date(at))
export const moment = (at) => formats().calendar.format(new Date(at))
export const utc = (at) => `${new Date(at).toISOString().slice(0, 19)}Z`

function formats() {
  const options = zone ? { timeZone: zone } : {}
  return (clocks ??= { clock: new Intl.DateTimeFormat("en-GB", { ...clock, ...options }), calendar: new Intl.DateTimeFormat("sv-SE", { ...calendar, ...options }) })
}

// Shows times in UTC, or in the browser's zone. Returns the name of the zone.
export function inUtc(wanted) {
  if (wanted !== Boolean(zone)) clocks = null
  zone = wanted ? "UTC" : null
  if (zone) return zone
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const offset = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" }).formatToParts().find(({ type }) => type === "timeZoneName").value.replace("GMT", "UTC").replace(/\+0$/, "")
  return timeZone && timeZone !== "UTC" ? `${timeZone} (${offset})` : offset
}

// The swarm's clocks, of its last status: the browser's may be wrong.
export function synchronise(clock) {
  if (!clock || clock === seen) return
  seen = clock
  ahead = { mono: clock.mono - Date.now() / 1000, time: clock.time - Date.now() / 1000 }
}

// How many seconds ago that was: of monotonic seconds, or of a Date's text.
export const age = (mono) => Math.max(0, Math.round(Date.now() / 1000 + ahead.mono - mono))
export const ago = (iso) => Math.max(0, Math.round(Date.now() / 1000 + ahead.time - Date.parse(iso) / 1000))
// When that was, as milliseconds for a Date.
export const began = (mono) => (mono - ahead.mono + ahead.time) * 1000

// An age in one unit, for a narrow column: "4 min".
export function about(seconds) {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([least]) => seconds >= least) ?? [1, "s"]
  return `${Math.floor(seconds / size)} ${unit}`
}

export function exit(last) {
  if (!last) return NONE
  const status = last.exit_status == null ? null : `exit ${last.exit_status}`
  const how = last.signal ? `SIG${last.signal}` : status
  return [how, last.reason?.replaceAll("_", " ")].filter(Boolean).join(", ") || "unknown"
}

// The tone of a state, a class of the style sheet.
const TONES = { ready: "good", running: "good", booting: "busy", spare: "calm", quiet: "warn", stopping: "warn",
                waiting: "warn", dead: "bad", stopped: "bad", away: "bad" }
export const tone = (state) => TONES[state] ?? "calm"
