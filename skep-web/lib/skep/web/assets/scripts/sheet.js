// A table whose rows have keys and change in place. On a narrow screen each row is a card, and each
// cell shows the name of its column.
//
//   const sheet = new Sheet(find("nodes"), "Nodes", [{ title: "Node", show: (cell, row) => set(cell, row.id) }])
//   sheet.show({ "0": row })

import { keyed, make } from "./dom.js"

const sheets = []

// For another swarm, whose rows have the same keys.
export const clear = () => sheets.forEach((sheet) => sheet.clear())

export class Sheet {
  // lasting: its rows are those of no swarm.
  constructor(place, title, columns, under = null, lasting = false) {
    if (!lasting) sheets.push(this)
    this.columns = columns
    this.under = under
    this.open = new Set()
    this.body = make("tbody", { role: "rowgroup" })
    const heads = columns.map(({ title: head, number }) =>
      make("th", { scope: "col", role: "columnheader", class: number ? "number" : null }, head))
    place.append(make("table", { role: "table", "aria-label": title },
                      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), this.body))
  }

  clear() {
    this.body.replaceChildren()
    this.body.keyed?.clear()
    this.open.clear()
  }

  show(rows) {
    for (const key of this.open) if (!(key in rows)) this.open.delete(key)
    const keys = Object.keys(rows).flatMap((key) => (this.under ? [key, `${key} `] : [key]))
    const there = keyed(this.body, keys, (key) => (key.endsWith(" ") ? this.second(key.trimEnd()) : this.first(key)))
    for (const [key, row] of Object.entries(rows)) {
      const cells = there.get(key).children
      this.columns.forEach((column, index) => column.show(cells[index], row, key))
      if (this.under && this.open.has(key)) this.under(there.get(`${key} `).firstChild, row, key)
    }
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

  first() {
    const cells = this.columns.map(({ title, number, name }) =>
      make("td", { role: "cell", "data-title": title, class: [name, number && "number"].filter(Boolean).join(" ") }))
    return make("tr", { role: "row" }, ...cells)
  }

  second() {
    const row = make("tr", { role: "row", class: "under" }, make("td", { role: "cell", colspan: this.columns.length }))
    row.hidden = true
    return row
  }
}
