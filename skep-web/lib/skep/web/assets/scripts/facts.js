// Facts as lists of definitions: a Hash inside another is a list inside it.
//
//   place.replaceChildren(definitions([["Mold", 3], ["Partitions", { orders: [0, 4] }]]))

import { make } from "./dom.js"

const isObject = (value) => typeof value === "object" && value !== null
const known = (value) => value != null && value !== "" && !(isObject(value) && !Object.keys(value).length)

// Pairs without a value are left out.
export const definitions = (pairs) =>
  make("dl", {}, ...pairs.filter(([, value]) => known(value)).flatMap(([name, value]) => [make("dt", {}, words(name)), make("dd", {}, shown(value))]))

const words = (name) => String(name).replaceAll("_", " ")

function shown(value) {
  if (value instanceof Node) return value
  if (!Array.isArray(value)) return isObject(value) ? definitions(Object.entries(value)) : String(value)
  if (!value.some(isObject)) return value.join(", ")
  return make("ol", { class: "items" }, ...value.map((one) => make("li", {}, shown(one))))
}
