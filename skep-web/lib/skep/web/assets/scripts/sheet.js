// A table whose rows have keys and change in place. On a narrow screen each row is a card, and each
// cell shows the name of its column.
//
//   const sheet = new Sheet(find("nodes"), "Nodes", [{ title: "Node", show: (cell, row) => set(cell, row.id) }])
//   sheet.show({ "0": row })
//
// With `tools` rows with a problem come first, then the others in the order in which they are given.
// The visitor filters them, and sorts by columns that have `sort`; the address has the choice.
// However many rows there are, only the first ones are elements of the page.

import { choose, chosen } from "./choice.js"
import { keyed, make, mark, set } from "./dom.js"

const MOST = 100 // rows at first, and more of them each time
const MOST_NARROW = 20
const FEW = 10 // rows, which need no filter
const narrow = matchMedia("(max-width: 820px)")
const sheets = []
const number = new Intl.NumberFormat("en-US")

// For another swarm, whose rows have the same keys.
export const clear = () => sheets.forEach((sheet) => sheet.clear())

export class Sheet {
  // lasting: its rows are those of no swarm.
  // tools: { name: in the address, noun: of its rows, words: the text of a row that a filter finds,
  // hint: what that is, trouble: the tone of a row that has a problem, else undefined }
  constructor(place, title, columns, under = null, lasting = false, tools = null) {
    if (!lasting) sheets.push(this)
    this.columns = columns
    this.under = under
    this.tools = tools
    this.open = new Set()
    this.more = 0
    this.rows = {}
    this.body = make("tbody", { role: "rowgroup" })
    this.heads = columns.map((column) =>
      make("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null }, column.title))
    if (tools) this.placeSorters()
    if (tools) narrow.addEventListener("change", () => this.placeSorters())
    if (tools) place.before(this.bar(title))
    place.append(make("table", { role: "table", "aria-label": title },
                      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...this.heads)), this.body))
    if (tools) place.append(this.next = this.button("More", () => { this.more += 1; this.show(this.rows) }, { class: "next", hidden: true }))
  }

  clear() {
    this.body.replaceChildren()
    this.body.keyed?.clear()
    this.open.clear()
    this.more = 0
  }

  show(rows) {
    this.rows = rows
    const entries = this.tools ? this.chosen(Object.entries(rows)) : Object.entries(rows)
    for (const key of this.open) if (!(key in rows)) this.open.delete(key)
    const keys = entries.flatMap(([key]) => (this.under ? [key, `${key} `] : [key]))
    const focused = document.activeElement
    const there = keyed(this.body, keys, (key) => (key.endsWith(" ") ? this.second(key.slice(0, -1)) : this.first(key)))
    for (const [key, row] of entries) {
      const cells = there.get(key).children
      if (this.tools) mark(there.get(key), "class", this.tools.trouble(row) && `trouble ${this.tools.trouble(row)}`)
      this.columns.forEach((column, index) => column.show(cells[index], row, key))
      if (this.under && this.open.has(key)) this.under(there.get(`${key} `).firstChild, row, key)
    }
    if (focused !== document.activeElement && this.body.contains(focused)) focused.focus({ preventScroll: true }) // its row has moved
  }

  // Opens or closes the details of a row, which are made when they are first opened.
  toggle(key, row) {
    const closing = this.open.has(key)
    closing ? this.open.delete(key) : this.open.add(key)
    const second = this.body.keyed.get(`${key} `)
    second.hidden = closing
    if (!closing) this.under(second.firstChild, row, key)
    return !closing
  }

  // The button that does it, for the cell with the row's name.
  showToggle(cell, row, key, text) {
    cell.row = row
    if (!cell.firstChild) {
      const button = this.button("", () => mark(button, "aria-expanded", this.toggle(key, cell.row)), { class: "toggle", "aria-expanded": this.open.has(key) })
      cell.append(button)
    }
    set(cell.firstChild, text)
  }

  first() {
    const cells = this.columns.map(({ title, number: right, name }) =>
      make("td", { role: "cell", "data-title": title, class: [name, right && "number"].filter(Boolean).join(" ") }))
    return make("tr", { role: "row" }, ...cells)
  }

  second(key) {
    const row = make("tr", { role: "row", class: "under" }, make("td", { role: "cell", colspan: this.columns.length }))
    row.hidden = !this.open.has(key)
    return row
  }

  // The rows to show, of all of them: what is chosen, and says so.
  chosen(all) {
    const { name, noun, words, trouble } = this.tools
    const wanted = chosen(name).toLowerCase().split(/\s+/).filter(Boolean)
    const found = wanted.length ? all.filter(([, row]) => { const text = words(row).toLowerCase(); return wanted.every((word) => text.includes(word)) }) : all
    const { column, down } = this.order()
    const bad = found.filter(([, row]) => trouble(row))
    const worst = [...bad, ...found.filter(([, row]) => !trouble(row))]
    const ordered = column ? sorted(worst, column.sort, down) : worst
    const most = (narrow.matches ? MOST_NARROW : MOST) + this.more * MOST
    const left = Math.max(0, ordered.length - most)
    this.showBar(all.length, found.length, bad.length, left, noun, column, down)
    return left ? ordered.slice(0, most) : ordered
  }

  order() {
    const text = chosen(`${this.tools.name}-sort`)
    const column = this.columns.find((one) => one.sort && slug(one) === text.replace(/^-/, ""))
    return { column, down: text.startsWith("-") }
  }

  // A column's first order is the one that shows the worst: the highest number, or A to Z.
  sort(column) {
    const { column: now, down } = this.order()
    const first = falls(column)
    const next = now !== column ? first : down === first ? !first : null
    this.choose(next == null ? "" : `${next ? "-" : ""}${slug(column)}`)
  }

  choose(order) {
    choose(`${this.tools.name}-sort`, order)
    this.show(this.rows)
  }

  bar(title) {
    const { name, hint } = this.tools
    this.filter = make("input", { type: "search", placeholder: `Filter: ${hint}`, autocomplete: "off", spellcheck: "false", "aria-label": `Filter ${title.toLowerCase()}: ${hint}`, "data-filter": name })
    this.filter.addEventListener("input", () => { choose(name, this.filter.value.trim()); this.more = 0; this.show(this.rows) })
    this.said = make("p", { class: "muted", role: "status" })
    const orders = this.columns.filter((column) => column.sort).flatMap((column) => [falls(column), !falls(column)].map((down) =>
      make("option", { value: `${down ? "-" : ""}${slug(column)}` }, `${column.title}, ${orderOf(column, down)}`)))
    this.select = make("select", { "aria-label": `Sort ${title.toLowerCase()}` }, make("option", { value: "" }, "Problems first"), ...orders)
    this.select.addEventListener("change", () => this.choose(this.select.value))
    this.tool = make("div", { class: "tools", role: "search", "aria-label": title }, this.filter, this.select, this.said)
    return this.tool
  }

  showBar(all, found, bad, left, noun, column, down) {
    const typed = chosen(this.tools.name)
    if (this.filter.value.trim() !== typed) this.filter.value = typed
    this.select.value = column ? `${down ? "-" : ""}${slug(column)}` : ""
    const plural = `${noun}${all === 1 ? "" : "s"}`
    const count = found === all ? `${number.format(all)} ${plural}` : `${number.format(found)} of ${number.format(all)} ${plural}`
    set(this.said, [count, bad && `${number.format(bad)} with a problem`, left && `the first ${number.format(found - left)} are shown`].filter(Boolean).join(", "))
    this.heads.forEach((head, index) => {
      if (this.columns[index].sort) mark(head, "aria-sort", this.columns[index] === column ? (down ? "descending" : "ascending") : null)
    })
    this.tool.hidden = all <= FEW && !typed && !column
    this.next.hidden = !left
    set(this.next, `Show ${number.format(Math.min(left, MOST))} of ${number.format(left)} more`)
  }

  // A narrow screen has no heads: there the select sorts.
  placeSorters() {
    this.heads.forEach((head, index) => {
      const column = this.columns[index]
      if (column.sort) head.replaceChildren(narrow.matches ? column.title : this.button(column.title, () => this.sort(column), { class: "sorter" }))
    })
  }

  button(text, act, attributes) {
    const button = make("button", { type: "button", ...attributes }, text)
    button.addEventListener("click", act)
    return button
  }
}

// A number is sorted with the highest first, and what `worst` names, such as an age.
const falls = ({ number: right, worst }) => Boolean(right || worst)
const orderOf = (column, down) => (column.worst ?? (column.number ? ["lowest first", "highest first"] : ["A to Z", "Z to A"]))[Number(down)]
const slug = ({ title }) => title.toLowerCase().replace(/\W+/g, "-")

// Rows without that value are last; those with the same value keep their order.
function sorted(entries, value, down) {
  const valued = entries.map((entry) => [value(entry[1]), entry])
  const known = valued.filter(([one]) => one != null)
  const way = down ? -1 : 1
  known.sort(([one], [other]) => (one < other ? -way : one > other ? way : 0))
  return [...known, ...valued.filter(([one]) => one == null)].map(([, entry]) => entry)
}
