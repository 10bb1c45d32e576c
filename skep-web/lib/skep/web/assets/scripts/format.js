// Numbers and times as text for people.

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 })
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" })
const calendar = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" }) // as of ISO 8601

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
export const time = (iso) => clock.format(new Date(iso))
export const moment = (iso) => calendar.format(new Date(iso))

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
