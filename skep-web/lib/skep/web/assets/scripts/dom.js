// Creates and changes elements. Text is never read as HTML, whatever nodes, topics and errors are
// called.
//
//   make("td", { class: "number" }, "12")
//   set(cell, "13")            // does nothing if the text is the same
//   keyed(parent, ["0", "1"], makeRow)   // one child for each key, in that order

const SVG = "http://www.w3.org/2000/svg"

export const find = (id) => document.getElementById(id)

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children)
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children)
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) mark(element, name, value)
  element.append(...children.filter((child) => child != null))
  return element
}

export function mark(element, name, value) {
  if (value == null || value === false) return element.removeAttribute(name)
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value)
}

export function set(element, text) {
  const wanted = text == null ? "" : String(text)
  if (element.textContent !== wanted) element.textContent = wanted
}

export function keyed(parent, keys, create) {
  const there = (parent.keyed ??= new Map())
  const wanted = new Set(keys)
  for (const [key, child] of there) {
    if (!wanted.has(key)) { child.remove(); there.delete(key) }
  }
  keys.forEach((key, index) => {
    if (!there.has(key)) there.set(key, create(key))
    const child = there.get(key)
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null)
  })
  return there
}
